"""What a file is by its first bytes, for messages about files that are something else than expected."""

HDF5 = "an HDF5 file"
_BEGINNINGS = {
    b"PK\x03\x04": "an Excel workbook or a ZIP archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (.xls)",
    b"\x89HDF": HDF5,
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"Rar!\x1a\x07": "a RAR archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"MSCF": "a CAB archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a photograph",
    b"\xff\xd8\xff": "a photograph",
    b"{": "JSON",
    b"SQLite": "an SQLite database",
    b"version https:": "a Git LFS pointer (`git lfs pull` fetches the file)",
    b"<!DOCTYPE": "a web page",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}


def file_kind(beginning: bytes) -> str:
    """The kind of a file, from its first bytes, with an article; empty if unknown."""
    return next((kind for begin, kind in _BEGINNINGS.items() if beginning.startswith(begin)), "")

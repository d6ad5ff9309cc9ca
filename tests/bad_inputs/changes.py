"""Changes of the finished project that a row of cases/ names: what a line of text cannot describe."""

import csv
import gzip
import hashlib
import io
import json
import os
import pickle
import shutil
import socket
import sqlite3
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import yaml
from PIL import Image

EXPERIMENT = Path("work/demo/shapes/experiments/parallel-embn/seed0")
BUNDLE, INDEX = EXPERIMENT / "bundle", EXPERIMENT / "index"
Change = Callable[[Path], None]

TAKEN = socket.create_server(("127.0.0.1", 0))  # a port at which another program listens


def flip(path: Path, bit: int | None = None) -> None:
    """Flip one bit, by default in the middle, as a disk does, which leaves the modification time."""
    status, content = path.stat(), bytearray(path.read_bytes())
    place = 4 * len(content) if bit is None else bit
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _captions(folder: Path, change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> None:
    path = folder / "mine/captions.csv"
    with open(path, encoding="utf-8", newline="") as file:
        rows = change(list(csv.DictReader(file)))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def second_row(folder: Path) -> None:
    path = folder / "small.yaml"
    config = yaml.safe_load(path.read_text())
    config["tables"]["own"]["rows"] *= 2
    path.write_text(yaml.safe_dump(config))


def workbook(folder: Path) -> None:
    with zipfile.ZipFile(folder / "c.csv", "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")


def utf16(folder: Path) -> None:
    (folder / "c.csv").write_text("image,language,caption\na,en,b\n", encoding="utf-16")


def windows(folder: Path) -> None:
    path = folder / "mine/captions.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))


def folders_with_braces(folder: Path) -> None:
    """Folders of the project, whose entries are links to those of the finished one."""
    for name in ("a{b}", "a{", "a}/b"):
        (folder / name).mkdir(parents=True)
        for entry in (
            "Snakefile",
            "config",
            "mine",
            "pipeline",
            "profiles",
            "search",
            "small.yaml",
            "workflow",
        ):
            (folder / name / entry).symlink_to(folder / entry)


def many_digits(folder: Path) -> None:
    with (folder / "other.yaml").open("a") as file:
        file.write("1" * 5000)


def no_test(folder: Path) -> None:
    _captions(folder, lambda rows: [row for row in rows if row["split"] != "test"])


def no_split(folder: Path) -> None:
    _captions(folder, lambda rows: [{k: v for k, v in row.items() if k != "split"} for row in rows])


def many_mistakes(folder: Path) -> None:
    _captions(folder, lambda rows: [{**row, "split": f"part{number}"} for number, row in enumerate(rows)])


def list_with_endings(folder: Path) -> None:
    names = [f"image{number:02d}.png\n" for number in range(30)]
    (folder / "l.csv").write_text("image\n" + "".join(names))


def second_photograph(folder: Path) -> None:
    shutil.copy(folder / "mine/images/image03.png", folder / "mine/images/image03.jpg")


def other_case(folder: Path) -> None:
    (folder / "mine/images/image03.png").rename(folder / "mine/images/Image03.PNG")


def renaming(**names: str) -> Change:
    """Photographs of the user's with other names."""

    def apply(folder: Path) -> None:
        for image, name in names.items():
            (folder / f"mine/images/{image}.png").rename(folder / "mine/images" / name)

    return apply


def _transparent(colour: tuple[int, int, int, int], kind: str) -> bytes:
    image = Image.new("RGBA", (90, 80), colour)
    image.paste((255, 0, 0, 255), (40, 0, 90, 80))
    content = io.BytesIO()
    image.save(content, kind)
    return content.getvalue()


def _with_chunk(kind: bytes, content: bytes, crc: int | None = None) -> bytes:
    """A PNG with another chunk after its header."""
    file = io.BytesIO()
    Image.new("RGB", (90, 80), "red").save(file, "PNG")
    png, found = file.getvalue(), zlib.crc32(kind + content) if crc is None else crc
    return png[:33] + struct.pack(">I", len(content)) + kind + content + struct.pack(">I", found) + png[33:]


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def _palette() -> Image.Image:
    image = Image.new("P", (90, 80), 3)
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 9, 9, 9])
    return image


def saved_as(**kinds: str) -> Change:
    """Photographs of the user's saved in other kinds of file."""

    def change(folder: Path) -> None:
        for image, ending in kinds.items():
            path = folder / f"mine/images/{image}.png"
            Image.open(path).save(path.with_suffix(f".{ending}"))
            path.unlink()

    return change


def spelled_image(name: str, renamed_to: str | None = None) -> Change:
    """Rows of captions and of the split, and a photograph, of one more image."""

    def apply(folder: Path) -> None:
        with (folder / "s.csv").open("a", encoding="utf-8") as file:
            file.write(f"{'' if file.tell() else 'image,split' + chr(10)}{name},train\n")
        shutil.copy(folder / "mine/images/image03.png", folder / "mine/images" / f"{renamed_to or name}.png")

    return apply


def folder_not_utf8(folder: Path) -> None:
    (folder / "mine/images").rename(folder / os.fsdecode(b"mine/im\xffages"))


def no_photographs(folder: Path) -> None:
    (folder / "empty").mkdir()


def circle(folder: Path) -> None:
    (folder / "circle.csv").symlink_to("circle.csv")


def gone(folder: Path) -> None:
    (folder / "gone.csv").symlink_to("moved.csv")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")


def linked(folder: Path) -> None:
    (folder / "linked").mkdir()
    (folder / "linked/inner").symlink_to(folder / "mine/images")
    (folder / "linked/back").symlink_to(folder / "linked")


def decomposed(folder: Path) -> None:
    (folder / "accents").mkdir()
    shutil.copy(
        folder / "mine/images/image03.png",
        folder / "accents" / unicodedata.normalize("NFD", "café.png"),
    )
    (folder / "s.csv").write_text("image,split\ncafé,train\n", encoding="utf-8")


def listed_path(folder: Path, name: str) -> Path:
    """The path at which the list of photographs says that a photograph is."""
    if not (table := folder / "photo.csv").exists():
        table.write_text("image,path\n")
    with table.open("a") as file:
        file.write(f"{name},{name}.jpg\n")
    return folder / f"{name}.jpg"


def photograph(name: str, content: bytes) -> Change:
    """Add a photograph with these bytes."""

    def apply(folder: Path) -> None:
        listed_path(folder, name).write_bytes(content)

    return apply


def _jpeg(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, "JPEG")
    return file.getvalue()


def _declared(width: int, height: int) -> bytes:
    """A PNG whose header declares a size; its pixels are a few bytes."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(bytes(1 << 16))
    chunks = [
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, data, b"IEND")
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def gone_photograph(folder: Path) -> None:
    listed_path(folder, "gone")


def store(change: Callable[[list[str], np.ndarray], dict[str, object]], **attributes: object) -> Change:
    """A changed copy f.h5 of the user's feature store."""

    def apply(folder: Path) -> None:
        with h5py.File(folder / "mine/features.h5") as file:
            images, features = list(file["image"].asstr()[...]), file["features"][...]
        with h5py.File(folder / "f.h5", "w") as file:
            for name, value in change(images, features).items():
                if name == "image" and isinstance(value, list):
                    file.create_dataset(name, data=value, dtype=h5py.string_dtype())
                else:
                    file[name] = value
            file.attrs.update({"backbone": "ours", **attributes})

    return apply


def _with_nan(images: list[str], features: np.ndarray) -> dict[str, object]:
    features[3, 4] = np.nan
    return {"features": features, "image": images}


def _with_zeros(images: list[str], features: np.ndarray) -> dict[str, object]:
    features[3] = 0
    return {"features": features, "image": images}


def with_another_id(another: str) -> Callable[[list[str], np.ndarray], dict[str, object]]:
    """The rows of a store and one more."""
    return lambda images, features: {"features": features[[*range(30), 7]], "image": [*images, another]}


def group(folder: Path) -> None:
    with h5py.File(folder / "f.h5", "w") as file:
        file.create_group("features")
        file.create_group("image")


def cut_features(folder: Path) -> None:
    content = (folder / "mine/features.h5").read_bytes()
    (folder / "f.h5").write_bytes(content[: len(content) // 2])


def cut_mirror(folder: Path) -> None:
    (folder / "mirror/a").mkdir(parents=True)
    (folder / "mirror/a/b.gz").write_bytes(gzip.compress(os.urandom(5000))[:3000])


def _zip(folder: Path, *members: tuple[str, bytes]) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)


def cut_zip(folder: Path) -> None:
    _zip(folder, ("a.jpg", os.urandom(3000)))
    (folder / "a.zip").write_bytes((folder / "a.zip").read_bytes()[:2000])


def tar_link(folder: Path) -> None:
    with tarfile.open(folder / "a.tar", "w") as file:
        link = tarfile.TarInfo("a.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)


def cut_tar(folder: Path) -> None:
    with tarfile.open(folder / "a.tar.gz", "w:gz") as file:
        file.add(folder / "mine/images/image03.png", "a.png")
        file.add(folder / "mine/images/image04.png", "b.png")
    (folder / "a.tar.gz").write_bytes((folder / "a.tar.gz").read_bytes()[:-3000])


def cut_vectors(folder: Path) -> None:
    rows = "".join(f"w{number} {' '.join(['0.5'] * 16)}\n" for number in range(999))
    (folder / "a.vec.gz").write_bytes(gzip.compress(f"999 16\n{rows}".encode())[:-20])


class _Code:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch harmed",)


def pickled_code(folder: Path) -> None:
    import torch

    torch.save({"weights": _Code()}, folder / "m.pt", pickle_module=pickle)


def flipped_model(folder: Path) -> None:
    shutil.copyfile(folder / EXPERIMENT / "model.pt", folder / "m.pt")  # the copy has no digest
    flip(folder / "m.pt")


def _vectors(folder: Path) -> Path:
    return next((folder / INDEX).glob("images-*.npy"))


def index_elsewhere(folder: Path) -> None:
    path = folder / INDEX / "index.json"
    text = path.read_text("utf-8")
    path.unlink()  # and its digest
    path.write_text(text.replace('"images-', '"../../images-'), "utf-8")


def cut_weights(folder: Path) -> None:
    path = folder / BUNDLE / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def another_evaluation(folder: Path) -> None:
    evaluation = json.loads((folder / EXPERIMENT / "test-original.json").read_text("utf-8"))
    (folder / "e.json").write_text(json.dumps({**evaluation, "seed": 5}))


def aliases(name: str) -> Change:
    """A YAML file whose ten lines expand to 9^10 values."""
    lines = ["scale: demo", "a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{key}: &{key} [{', '.join([f'*{before}'] * 9)}]" for before, key in pairwise("abcdefghij")]
    return lambda folder: write(folder / name, "\n".join(lines))


def brackets(name: str) -> Change:
    """A YAML file of a million brackets, at which libyaml crashes."""
    return lambda folder: write(folder / name, "a: " + "[" * 10**6)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def pipe_in_place_of(name: str) -> Change:
    """A named pipe into which nothing is ever written."""

    def apply(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return apply


def long_caption(folder: Path) -> None:
    (folder / "c.csv").write_text(f"image,language,caption\na,en,{'b ' * 100_000}\nc,en,d\n")


def old_mac(folder: Path) -> None:
    path = folder / "mine/captions.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))


def folder_photograph(folder: Path) -> None:
    listed_path(folder, "folder").mkdir()


def pipe_photograph(folder: Path) -> None:
    os.mkfifo(listed_path(folder, "pipe"))


def _square_ids(images: list[str], features: np.ndarray) -> dict[str, object]:
    return {"features": features, "image": np.array(images, dtype=h5py.string_dtype()).reshape(5, 6)}


def declared_ids(folder: Path) -> None:
    shutil.copy(folder / "mine/features.h5", folder / "f.h5")
    with h5py.File(folder / "f.h5", "r+") as file:
        del file["image"]
        file.create_dataset("image", (1 << 36,), h5py.string_dtype(), chunks=(1024,))


def store_with(place: Callable[[h5py.File, Path], None]) -> Change:
    """A store f.h5 of the user's ids, whose features are stored in some layout."""

    def apply(folder: Path) -> None:
        with h5py.File(folder / "mine/features.h5") as file:
            images = list(file["image"].asstr()[...])
        with h5py.File(folder / "f.h5", "w") as file:
            file.create_dataset("image", data=images, dtype=h5py.string_dtype())
            file.attrs["backbone"] = "ours"
            place(file, folder)

    return apply


def _declared_features(file: h5py.File, folder: Path) -> None:
    file.create_dataset("features", (1 << 36, 8), "f4", chunks=(1024, 8))


def _external_features(file: h5py.File, folder: Path) -> None:
    file.create_dataset("features", (30, 8), "f4", external=[(str(folder / "mine/captions.csv"), 0, 960)])


def _linked_features(file: h5py.File, folder: Path) -> None:
    file["features"] = h5py.ExternalLink(str(folder / "mine/features.h5"), "features")


def _virtual_features(file: h5py.File, folder: Path) -> None:
    layout = h5py.VirtualLayout((30, 8), "f4")
    layout[:] = h5py.VirtualSource(folder / "mine/features.h5", "features", (30, 8))
    file.create_virtual_dataset("features", layout)


def _features_through_a_group(file: h5py.File, folder: Path) -> None:
    file["other"] = h5py.ExternalLink(str(folder / "mine/features.h5"), "/")
    file["features"] = h5py.SoftLink("/other/features")


def _features_without_a_shape(file: h5py.File, folder: Path) -> None:
    file["features"] = h5py.Empty("f4")


def _features_of_files_that_are_gone(file: h5py.File, folder: Path) -> None:
    layout = h5py.VirtualLayout((30, 8), "f4")
    for begin in (0, 10, 20):
        layout[begin : begin + 10] = h5py.VirtualSource(f"gone{begin}.h5", "features", (10, 8))
    file.create_virtual_dataset("features", layout)


def ids_as_bytes(folder: Path) -> None:
    """Ids as lists of numbers, as MATLAB's cells become."""
    shutil.copyfile(folder / "mine/features.h5", folder / "f.h5")
    with h5py.File(folder / "f.h5", "r+") as file:
        ids = list(file["image"].asstr())
        del file["image"]
        cells = file.create_dataset("image", (len(ids),), h5py.vlen_dtype(np.uint8))
        for row, image in enumerate(ids):
            cells[row] = np.frombuffer(image.encode(), np.uint8)


def _features_of_no_file(file: h5py.File, folder: Path) -> None:
    file["features"] = h5py.ExternalLink("gone.h5", "features")


def _unwritten(written: int, **options: object) -> Callable[[h5py.File, Path], None]:
    """Features with only some rows written; HDF5 returns a fill value for the others."""

    def place(file: h5py.File, folder: Path) -> None:
        features = file.create_dataset("features", (30, 8), "f4", fillvalue=0.5, **options)
        if written:
            features[:written] = np.random.default_rng(0).normal(size=(written, 8))

    return place


def _of_rows(change: Callable[[np.ndarray], None]) -> Callable[[h5py.File, Path], None]:
    def place(file: h5py.File, folder: Path) -> None:
        rows = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
        change(rows)
        file["features"] = rows

    return place


def _alike(rows: np.ndarray) -> None:
    rows[7] = 0.25


def _of_a_filter_that_is_lacking(file: h5py.File, folder: Path) -> None:
    pipeline = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    pipeline.set_chunk((30, 8))
    pipeline.set_filter(32001, h5py.h5z.FLAG_OPTIONAL)  # blosc
    space = h5py.h5s.create_simple((30, 8))
    h5py.h5d.create(file.id, b"features", h5py.h5t.IEEE_F32LE, space, pipeline)


def features_changed(change: Callable[[h5py.File], None]) -> Change:
    """Changed features, as f.h5, of the images in an index of the finished project."""

    def apply(folder: Path) -> None:
        shutil.copyfile(folder / "work/demo/shapes/features.h5", folder / "f.h5")
        with h5py.File(folder / "f.h5", "r+") as file:
            change(file)

    return apply


def _zero_row(file: h5py.File) -> None:
    file["features"][4] = 0.0


def _ids_of_others(file: h5py.File) -> None:
    images = file["image"][...][:-3]
    del file["image"]
    file["image"] = images


def captions_of(caption: str, language: str) -> Change:
    """A caption table t.csv with one caption."""

    def apply(folder: Path) -> None:
        rows = [["image", "split", "language", "caption", "origin", "source_language"]]
        rows.append(["image00", "train", language, caption, "human", ""])
        with open(folder / "t.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)

    return apply


def weights(of: Callable[[dict[str, object]], object]) -> Change:
    """A file w.pth with changed weights of a small network of torchvision."""

    def apply(folder: Path) -> None:
        import torch
        from torchvision.models import mobilenet_v3_small

        torch.manual_seed(0)
        torch.save(of(mobilenet_v3_small(weights=None).state_dict()), folder / "w.pth")

    return apply


def hand_made_index(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Change the vectors of the index, and the names in it, as a user's program would."""

    def apply(folder: Path) -> None:
        path, names = _vectors(folder), folder / INDEX / "index.json"
        content = io.BytesIO()
        np.save(content, change(np.load(path)))
        name = f"images-{hashlib.sha256(content.getvalue()).hexdigest()[:16]}.npy"
        (path.parent / name).write_bytes(content.getvalue())
        text = names.read_text("utf-8").replace(path.name, name)
        names.unlink()  # and its digest
        names.write_text(text, "utf-8")

    return apply


def _nan_vectors(vectors: np.ndarray) -> np.ndarray:
    vectors[2, 1] = np.nan
    return vectors


def _zero_vectors(vectors: np.ndarray) -> np.ndarray:
    vectors[2] = 0
    return vectors


def _gzip_bomb(name: str) -> Change:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(gzip.compress(bytes(64 << 20), 1))

    return apply


def named_weights(folder: Path) -> None:
    gone_photograph(folder)
    (folder / "resnet152-394f9c45.pth").write_bytes(b"weights")


def other_database(folder: Path) -> None:
    with sqlite3.connect(folder / "mine/bookmarks.sqlite") as connection:
        connection.execute("CREATE TABLE bookmarks (address)")
    connection.close()


def other_columns(folder: Path) -> None:
    with sqlite3.connect(folder / "mine/other.sqlite") as connection:
        connection.execute("CREATE TABLE translations (word)")
    connection.close()


def encrypted_zip(folder: Path) -> None:
    """A zip archive whose only member is marked as encrypted, in both headers."""
    _zip(folder, ("a.jpg", b"1"))
    content = bytearray((folder / "a.zip").read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    (folder / "a.zip").write_bytes(content)


def tar_out(folder: Path) -> None:
    with tarfile.open(folder / "a.tar", "w") as file:
        for name in ("../harmed.jpg", "/tmp/harmed2.jpg"):
            member = tarfile.TarInfo(name)
            member.size = 1
            file.addfile(member, io.BytesIO(b"1"))


def bit_flip(path: Path) -> Change:
    """Flip one bit of a file of the project."""
    return lambda folder: flip(folder / path)


CHANGES: dict[str, Change] = {
    "second_row": second_row,
    "workbook": workbook,
    "utf16": utf16,
    "windows": windows,
    "folders_with_braces": folders_with_braces,
    "many_digits": many_digits,
    "transparent_png": photograph("clear1", _transparent((0, 0, 0, 0), "PNG")),
    "transparent_webp": photograph("clear2", _transparent((255, 255, 255, 0), "WEBP")),
    "half_transparent": photograph("clear3", _transparent((9, 200, 77, 100), "PNG")),
    "large_profile": photograph("icc", _with_chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2 << 20)))),
    "large_text": photograph("text", _with_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * (2 << 20)))),
    "wrong_text": photograph("crc", _with_chunk(b"tEXt", b"Comment\0a", 1)),
    "transparent_palette": photograph("clear4", _saved(_palette(), "PNG", transparency=b"\xff\xff\xff\x00")),
    "transparent_gif": photograph("clear5", _saved(_palette(), "GIF", transparency=3)),
    "transparent_grey": photograph("clear6", _saved(Image.new("L", (90, 80), 9), "PNG", transparency=9)),
    "international_text": photograph("itxt", _with_chunk(b"iTXt", b"a\0\0\0\0\0" + b"x" * (2 << 20))),
    "wrong_exif": photograph("exif", _with_chunk(b"eXIf", b"no Exif")),
    "wrong_profile": photograph("profile", _with_chunk(b"iCCP", b"a\0\0no profile")),
    "old_endings": saved_as(image00="tif", image01="gif", image02="bmp"),
    "camera_kinds": renaming(image03="image03.cr2", image04="image04.psd"),
    "other_endings": renaming(image00="image00.jfif", image01="image01.jpe", image02="image02.TIF"),
    "newer_ending": renaming(image03="image03.avif", image04="image04.PPM"),
    "unread_kind": renaming(image03="image03.heic", image04="image04.svg"),
    "two_blanks": spelled_image("a  b"),
    "one_blank": spelled_image("a b"),
    "narrow_blank": spelled_image("at 10.30\u202fAM"),
    "narrow_blank_in_file": spelled_image("at 10.30 AM", "at 10.30\u202fAM"),
    "mark_in_file": spelled_image("dog", "\ufeffdog"),
    "folder_not_utf8": folder_not_utf8,
    "no_test": no_test,
    "no_split": no_split,
    "many_mistakes": many_mistakes,
    "list_with_endings": list_with_endings,
    "second_photograph": second_photograph,
    "other_case": other_case,
    "no_photographs": no_photographs,
    "linked": linked,
    "circle": circle,
    "gone": gone,
    "pipe": pipe,
    "decomposed": decomposed,
    "postscript": photograph("postscript", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n"),
    "bomb": photograph("bomb", _declared(60_000, 60_000)),
    "cut_photograph": photograph("cut", _jpeg(300, 200)[:900]),
    "empty_photograph": photograph("empty", b""),
    "text_photograph": photograph("text", b"a photograph"),
    "line_photograph": photograph("line", _jpeg(3000, 1)),
    "gone_photograph": gone_photograph,
    "features_without_ids": store(lambda images, features: {"features": features}),
    "integer_ids": store(lambda images, features: {"features": features, "image": np.arange(30)}),
    "integer_features": store(lambda images, features: {"features": features.astype(int), "image": images}),
    "deep_features": store(lambda images, features: {"features": features[..., None], "image": images}),
    "few_rows": store(lambda images, features: {"features": features[:29], "image": images}),
    "nan_features": store(_with_nan),
    "zero_features": store(_with_zeros),
    "ids_with_endings": store(
        lambda images, features: {"features": features, "image": [f"{image}.png" for image in images]}
    ),
    "backbone_of_numbers": store(
        lambda images, features: {"features": features, "image": images}, backbone=np.array([1, 2])
    ),
    "backbone_in_bytes": store(
        lambda images, features: {"features": features, "image": images}, backbone=np.bytes_("ours")
    ),
    "missing_image": store(lambda images, features: {"features": features[:29], "image": images[:29]}),
    "id_with_a_blank_too": store(with_another_id("image07 ")),
    "id_with_an_ending_too": store(with_another_id("photos/image07.JPG")),
    "id_of_another_image_too": store(with_another_id("image77.jpg")),
    "half_precision": store(lambda images, features: {"features": features.astype("f2"), "image": images}),
    "big_endian": store(lambda images, features: {"features": features.astype(">f8"), "image": images}),
    "backbone_in_a_list": store(
        lambda images, features: {"features": features, "image": images},
        backbone=np.array(["ours"], h5py.string_dtype()),
    ),
    "backbone_of_nothing": store(
        lambda images, features: {"features": features, "image": images}, backbone=h5py.Empty("S1")
    ),
    "image_twice": store(lambda images, features: {"features": features, "image": [*images[:29], images[0]]}),
    "group": group,
    "cut_features": cut_features,
    "other_backbone": store(
        lambda images, features: {"features": features, "image": images}, backbone="theirs"
    ),
    "other_dimension": store(lambda images, features: {"features": features[:, :4], "image": images}),
    "cut_mirror": cut_mirror,
    "cut_zip": cut_zip,
    "zip_of_text": lambda folder: _zip(folder, ("a.txt", b"text")),
    "zip_twice": lambda folder: _zip(folder, ("x/a.jpg", b"1"), ("y/a.jpg", b"2")),
    "zip_bomb": lambda folder: _zip(folder, ("a.jpg", bytes(40 << 20))),
    "tar_link": tar_link,
    "cut_tar": cut_tar,
    "cut_vectors": cut_vectors,
    "pickled_code": pickled_code,
    "flipped_model": flipped_model,
    "aliases": aliases("other.yaml"),
    "aliases_of_experiments": aliases("config/experiments.yaml"),
    "aliases_of_config": aliases("config/config.yaml"),
    "pipe_of_index": lambda folder: pipe_in_place_of(_vectors(folder).name)(folder / INDEX),
    "pipe_of_mirror": pipe_in_place_of("mirror/a/b.txt"),
    "pipe_of_origin": pipe_in_place_of(".out.txt.part.json"),
    "pipe_of_part": pipe_in_place_of(".out.txt.part"),
    "pipe_of_bert": pipe_in_place_of("bert/config.json"),
    "pipe_of_words": pipe_in_place_of(str(BUNDLE / "words/en.txt")),
    "brackets": brackets("other.yaml"),
    "brackets_in_table": brackets("config/tables/table2.yaml"),
    "pipe_of_scale": pipe_in_place_of("config/scales/demo.yaml"),
    "pipe_of_config": pipe_in_place_of("config/config.yaml"),
    "long_caption": long_caption,
    "old_mac": old_mac,
    "folder_photograph": folder_photograph,
    "pipe_photograph": pipe_photograph,
    "svg": photograph("svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="80"><rect/></svg>'),
    "declared_features": store_with(_declared_features),
    "external_features": store_with(_external_features),
    "linked_features": store_with(_linked_features),
    "virtual_features": store_with(_virtual_features),
    "features_through_a_group": store_with(_features_through_a_group),
    "features_of_no_file": store_with(_features_of_no_file),
    "features_without_a_shape": store_with(_features_without_a_shape),
    "features_of_files_that_are_gone": store_with(_features_of_files_that_are_gone),
    "ids_as_bytes": ids_as_bytes,
    "large_features": store(
        lambda images, features: {"features": features.astype(float) * 1e300, "image": images}
    ),
    "unwritten_rows": store_with(_unwritten(20, chunks=(10, 8))),
    "unwritten_packed_rows": store_with(_unwritten(15, chunks=(5, 4), compression="gzip")),
    "unwritten_features": store_with(_unwritten(0)),
    "alike_row": store_with(_of_rows(_alike)),
    "lacking_filter": store_with(_of_a_filter_that_is_lacking),
    "zero_row_of_index": features_changed(_zero_row),
    "fewer_ids": features_changed(_ids_of_others),
    "long_japanese": captions_of("犬が走る。" * 3600, "ja"),
    "long_japanese_word": captions_of("犬" * 18_000, "ja"),
    "long_english_for_japanese": captions_of("dog " * 13_600, "ja"),
    "long_chinese": captions_of("狗" * 30_000, "zh"),
    "captions_of_dots": captions_of("…!?", "en"),
    "torchvision_weights": weights(lambda state: {"model": state, "epoch": 3}),
    "two_sets_of_weights": weights(lambda state: {"student": state, "teacher": state}),
    "wrapped_weights": weights(lambda state: {f"module.{name}": value for name, value in state.items()}),
    "no_weights": weights(lambda state: {"epoch": 3, "names": list(state)}),
    "other_weights": weights(lambda state: dict(list(state.items())[:-4])),
    "nan_in_index": hand_made_index(_nan_vectors),
    "zero_in_index": hand_made_index(_zero_vectors),
    "short_in_index": hand_made_index(lambda vectors: vectors[:, 0]),
    "one_less_in_index": hand_made_index(lambda vectors: vectors[1:]),
    "numbers_in_index": hand_made_index(lambda vectors: (vectors * 100).astype(np.int8)),
    "square_ids": store(_square_ids),
    "byte_ids": store(
        lambda images, features: {"features": features, "image": np.array([b"\xff%d" % n for n in range(30)])}
    ),
    "declared_ids": declared_ids,
    "vectors_bomb": _gzip_bomb("a.vec.gz"),
    "translations_bomb": _gzip_bomb("t.csv.gz"),
    "named_weights": named_weights,
    "index_elsewhere": index_elsewhere,
    "lost_vectors": lambda folder: _vectors(folder).unlink(),
    "flipped_vectors": lambda folder: flip(_vectors(folder)),
    "cut_weights": cut_weights,
    "other_database": other_database,
    "other_columns": other_columns,
    "encrypted_zip": encrypted_zip,
    "tar_out": tar_out,
    "another_evaluation": another_evaluation,
    "flipped_own_model": bit_flip(EXPERIMENT / "model.pt"),
    "flipped_features": bit_flip(Path("work/demo/shapes/features.h5")),
    "flipped_words": bit_flip(Path("work/demo/shapes/words/human/en.h5")),
    "flipped_tokens": bit_flip(Path("work/demo/shapes/tokens/en.csv")),
}

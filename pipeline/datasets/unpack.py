"""Unpack archives of photographs into one flat folder, under their published file names."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pipeline.common.errors import InputError
from pipeline.common.files import reading, replace_folder, require_file
from pipeline.common.photographs import ENDINGS, is_of_a_program, is_photograph
from pipeline.datasets.published import files_in

log = logging.getLogger("pipeline")


def unpack(archive: Sequence[Path], output: Path) -> int:
    """Unpack the photographs of ZIP and tar archives into a folder, under their names; return how many.

    Folders of the archives are ignored, so no member can leave `output`. The folder appears whole or not
    at all.

    Args:
        archive: .zip, .tar, .tar.gz, .tar.bz2, .tar.xz.
        output: folder to create.

    Raises:
        InputError: an archive is damaged, has no photographs or two of one name; `output` exists and holds
            more than photographs.
    """
    if output.exists() and (output.is_file() or any(not _is_own(path.name) for path in output.glob("[!.]*"))):
        raise InputError(f"{output}: holds more than photographs, and would be replaced. Give a new folder.")
    folder = output.with_name(f".{output.name}.part")
    shutil.rmtree(folder, ignore_errors=True)  # of a killed call
    folder.mkdir(parents=True)
    names: dict[str, str] = {}
    for path in archive:
        require_file(path, "the archive of photographs", "Download it, or give another path.")
        with reading(path, "a whole archive", "Download it again, or unpack it and give the folder."):
            for member, content in files_in(path, _is_own):
                name = PurePosixPath(member).name
                if name in names:
                    raise InputError(f"{path}: {member} has the name of {names[name]}. Rename one.")
                names[name] = member
                (folder / name).write_bytes(content)
                if len(names) % 5000 == 0:
                    log.info("%s: %s photographs so far", output, f"{len(names):,}")
    if not names:
        raise InputError(
            f"{', '.join(map(str, archive))}: no {', '.join(ENDINGS)} file. Give another archive."
        )
    replace_folder(folder, output)
    log.info("%s: %s photographs", output, f"{len(names):,}")
    return len(names)


def _is_own(path: str) -> bool:
    return is_photograph(path) and not is_of_a_program(path)

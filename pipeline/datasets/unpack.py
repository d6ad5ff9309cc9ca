"""Unpack archives of photographs into one flat folder, under their published file names."""

import logging
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_folder, reading, require_file
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
        InputError: an archive is damaged, has no photographs or two of one name; `output` has files already.
    """
    names: dict[str, str] = {}
    with atomic_folder(output) as folder:
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
    log.info("%s: %s photographs", output, f"{len(names):,}")
    return len(names)


def _is_own(path: str) -> bool:
    return is_photograph(path) and not is_of_a_program(path)

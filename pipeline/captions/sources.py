"""Read published text files line by line, and say all that is wrong with them at once."""

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.captions.table import COLUMNS
from pipeline.errors import InputError, raise_together
from pipeline.files import existing


class Sources:
    """A folder of published files, laid out as HOST/PATH of their URLs.

    Readers note mistakes and go on; `check` raises them together.
    """

    def __init__(self, folder: Path):
        self.folder = existing(folder, "the folder of sources", "Download the sources first.")
        self.mistakes: list[str] = []

    def lines(self, name: str) -> list[str]:
        """Lines of a text file (UTF-8, gzip if its name ends so) without outer white space or empty end."""
        path = self.folder / name
        try:
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            text = content.decode("utf-8-sig")
        except FileNotFoundError:
            self.mistakes.append(f"{path}: not there; download it (workflow/sources.csv has its URL)")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self.mistakes.append(f"{path}: cannot be read: {error}; download it again")
        else:
            # Not splitlines(), which also ends a line at rarer separators that stand inside captions.
            return [line.strip() for line in text.removesuffix("\n").split("\n")]
        return []

    def check(self) -> None:
        """Raise an `InputError` that lists every mistake noted so far."""
        raise_together(self.mistakes, f"{self.folder}: the sources cannot be used:")


def restricted(captions: pd.DataFrame, image_list: Path) -> pd.DataFrame:
    """Rows of a caption table whose image stands in the column `image` of a CSV file.

    Raises:
        InputError: no such column, or images that have no captions.
    """
    existing(image_list, "the list of images", "Give a CSV file with a column `image`.")
    with open(image_list, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "image" not in (reader.fieldnames or []):
            raise InputError(f"{image_list}: found columns {reader.fieldnames}; expected one named 'image'.")
        images = {row["image"] for row in reader}
    missing = sorted(images - set(captions["image"]))
    raise_together(missing, f"{image_list}: {len(missing)} of its {len(images)} images have no captions:")
    return captions[captions["image"].isin(images)]


def caption_table(rows: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    """A caption table from tuples in the order of its columns."""
    return pd.DataFrame(rows, columns=COLUMNS, dtype="str")

"""Text that was damaged on its way: escaped for pages, or read in a wrong character set.

HTML's references in captions are read as the characters that they stand for: `&apos;` would be the word
"apos". Lost characters cannot be restored: such captions are left unchanged, and counted with an example.
"""

import logging
import re
import unicodedata
from collections import defaultdict

import pandas as pd

from pipeline.common.characters import impossible, is_visible
from pipeline.common.escapes import escape_in, unescape
from pipeline.datasets.languages import language

log = logging.getLogger("pipeline")

_TIMES = 3  # how often a text may have been escaped

_BYTE_OF = {bytes([byte]).decode("cp1252", "ignore") or chr(byte): byte for byte in range(0x80, 0x100)}
_LEAD = "".join(letter for letter, byte in _BYTE_OF.items() if 0xC2 <= byte <= 0xF4)
_REST = re.escape("".join(letter for letter, byte in _BYTE_OF.items() if byte < 0xC0))
_MISREAD = re.compile(f"[{_LEAD}][{_REST}]{{1,3}}")


def mended_captions(captions: pd.DataFrame) -> pd.DataFrame:
    """Captions with HTML's references replaced; the log counts these and captions with other damage."""
    clean = captions.assign(caption=captions["caption"].map(mended_text))
    with_references = list(captions["caption"][captions["caption"] != clean["caption"]])
    if with_references:
        log.warning(
            "%d of %d captions have HTML references, which are read as their characters, such as %.100r",
            len(with_references), len(captions), with_references[0],
        )  # fmt: skip
    visible = clean[clean["caption"].map(is_visible).astype(bool)]
    if len(visible) < len(clean):
        log.warning(
            "%d of %d captions have no visible character and are left out",
            len(clean) - len(visible),
            len(clean),
        )
    by_damage: dict[str, list[str]] = defaultdict(list)
    for caption, code in zip(visible["caption"], visible["language"], strict=True):
        if kind_of_damage := damage(caption, code):
            by_damage[kind_of_damage].append(caption)
    for kind, texts in by_damage.items():
        log.warning(
            "%d of %d captions have %s, such as %.100r: they are kept; correct them at their source",
            len(texts), len(captions), kind, texts[0],
        )  # fmt: skip
    return visible


def mended_text(text: str) -> str:
    """A text without HTML's references, also where it was escaped more than once."""
    for _ in range(_TIMES):
        if (once := " ".join(unescape(text).split())) == text:
            break
        text = once
    return text


def damage(text: str, code: str) -> str:
    """The kind of damage in a text in a language; empty if none is visible."""
    if wrong := impossible(text):
        return f"the character U+{ord(wrong[0]):04X}"
    if misread_letters(text, code):
        return "letters that were read in another character set"
    return escape_in(text).partition(" (")[0]


def misread_letters(text: str, code: str) -> list[tuple[str, str]]:
    """Pieces of a text that are a letter's bytes in UTF-8, read as Latin-1, each with the letter."""
    letters = []
    for match in _MISREAD.finditer(text):
        content = bytes(_BYTE_OF[letter] for letter in match[0])
        letter = content.decode("utf-8", "ignore")[:1]
        size = len(letter.encode())
        if letter and content[:size] == letter.encode() and _is_likely(letter, code):
            letters.append((match[0][:size], letter))
    return letters


def _is_likely(letter: str, code: str) -> bool:
    """Whether a letter is likely in a language: of its script, or a mark of all scripts."""
    if unicodedata.category(letter)[0] in "PSZ":
        return True
    scripts = language(code).scripts or ("LATIN",)
    if "LATIN" in scripts and letter >= "\u0180":  # rare letters, whose bytes look like an accent and a mark
        return False
    return unicodedata.name(letter, "").startswith(scripts)

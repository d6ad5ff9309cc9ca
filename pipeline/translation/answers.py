"""Recognition of answers that cannot be translations, although a service sent them as such.

Services send notices of their own with status 200, escape text for pages, or name a wrong character set.
An answer is compared with its caption: characters that the caption contains, such as a percent sign, are
allowed.
"""

import re

from pipeline.common.characters import impossible
from pipeline.common.escapes import escape_in, unescape
from pipeline.datasets.damaged_text import misread_letters
from pipeline.translation.notices import notice

# An answer has at most so many characters, plus so many for each character of the caption.
_LENGTH, _GROWTH = 200, 10
_NUMBER = re.compile(r"\W?\d+\s*[.)\]．）、:](?!\d)|#\d+\b|\(?\d+\s+[-–—]\s|[\u2460-\u249b]|[-*•·‣▪]\s")
_LOST_LETTER = re.compile(r"\w\?\w|\?\?")


def unescape_answer(line: str, answer: str) -> str:
    """The answer to a caption without the HTML references of a service that escapes its answers, once."""
    return answer if escape_in(line) else " ".join(unescape(answer).split())


def fault(line: str, answer: str, target: str) -> str:
    """The reason why an answer cannot be the caption's translation into a language; empty if it may be."""
    return (
        _too_long(line, answer)
        or _characters(line, answer)
        or _wrong_charset(line, answer, target)
        or _reference(line, answer)
        or _added_number(line, answer)
        or _notice(line, answer, target)
    )


def _too_long(line: str, answer: str) -> str:
    if len(answer) <= _LENGTH + _GROWTH * len(line):
        return ""
    return f"{len(answer):,} characters for {len(line):,}"


def _characters(line: str, answer: str) -> str:
    """Control characters, U+FFFD and noncharacters; blanks are left to `split`."""
    wrong = [character for character in impossible(answer) if character not in line]
    if not wrong:
        return ""
    return f"the character U+{ord(wrong[0]):04X}; its character set is wrong, or it is damaged"


def _wrong_charset(line: str, answer: str, target: str) -> str:
    """UTF-8 that was read as Latin-1, and letters that became question marks."""
    for piece, letter in misread_letters(answer, target):
        if piece not in line:
            return f"{piece!r} for {letter!r}: its character set is wrong"
    if (match := _LOST_LETTER.search(answer)) and "?" not in line:
        return f"{match[0]!r}: its character set has lost letters"
    return ""


def _reference(line: str, answer: str) -> str:
    reference = escape_in(answer)
    if not reference or escape_in(line):
        return ""
    return f"{reference}; the service escapes its answers in a way that is not undone"


def _added_number(line: str, answer: str) -> str:
    match = _NUMBER.match(answer)
    if not match or line[:1].isdecimal() or _NUMBER.match(line):
        return ""
    return f"it begins with {match[0]!r}, as an item of a list"


def _notice(line: str, answer: str, target: str) -> str:
    reason = notice(line, answer, target)
    return f"{answer[:120]!r}: {reason}" if reason else ""

"""What a service answered that cannot be a translation, although it came as one.

Services send notices of their own with status 200, escape text for pages, or name a wrong character set.
An answer is compared with its caption: what the caption has itself, such as a percent sign, may come back.
"""

import re

from pipeline.common.characters import impossible
from pipeline.common.escapes import escape_in, unescape
from pipeline.datasets.damaged_text import misread_letters

_LENGTH, _GROWTH = 200, 10  # an answer has at most so many characters, and so many for each of the caption
_MIN_CAPITALS = 12  # capital letters from which an answer in capitals is a notice

# Sentences of services that no caption says: the user must act. What a caption says too is no notice.
_STOPPING = (
    r"mymemory warning",
    r"\bquota\b|kontingent|配额|额度",
    r"rate[ -]?limit|\blimit (?:has been |was )?(?:exceeded|reached)",
    r"exceeded (?:your|the|its)\b.{0,30}\blimit",
    r"too many requests|请求频率",
    r"\b(?:api|auth)[ _-]?key",
    r"(?:free|available) translations|next available in",
    r"upgrade your (?:plan|account)|please (?:upgrade|subscribe)",
    r"(?:invalid|unsupported) (?:\w+ ){0,3}(?:language|pair|key|e-?mail|request|parameter|token|credentials)",
    r"is an invalid|\blangpair\b|select two distinct|no query specified|query length",
    r"unauthori[sz]ed",
)
# Sentences of services that a caption might say: the caption is left without a translation.
_NOTICES = (
    r"access denied|\bcaptcha\b|unusual traffic",
    r"please (?:try again|contact support|log ?in|sign ?in)",
    r"(?:unknown|missing) (?:\w+ ){0,3}(?:language|pair|key|request|parameter|token|provider)",
    r"internal (?:server )?error|\bserver error|bad gateway|gateway time-?out",
    r"(?:service|temporarily) (?:is )?(?:temporarily )?unavailable",
    r"language.{0,20} not supported",
    r"translation (?:failed|error|not found|unavailable|not available)",
    r"(?:error|status)(?: code)?\s*[:=]?\s*[45]\d\d\b|\berror\s*:|\btraceback\b",
    r"request (?:timed out|failed)|something went wrong|an error occurred|クォータ",
)
_STOP = re.compile("|".join(_STOPPING), re.IGNORECASE)
_NOTICE = re.compile("|".join((*_STOPPING, *_NOTICES)), re.IGNORECASE)
_NUMBER = re.compile(r"\W?\d+\s*[.)\]．）、:](?!\d)|#\d+\b|\(?\d+\s+[-–—]\s|[\u2460-\u249b]|[-*•·‣▪]\s")
_LOST_LETTER = re.compile(r"\w\?\w|\?\?")


def unescape_answer(line: str, answer: str) -> str:
    """The answer to a caption without the HTML references of a service that escapes its answers, once."""
    return answer if escape_in(line) else " ".join(unescape(answer).split())


def stopping_notice(text: str, answer: str) -> str:
    """What in the answer to a text says that the service translates nothing now; empty if nothing does."""
    match = _STOP.search(answer)
    return "" if match is None or _STOP.search(text) else match[0]


def fault(line: str, answer: str, target: str) -> str:
    """Why the answer to a caption cannot be its translation into a language; empty if it may be."""
    return (
        _too_long(line, answer)
        or _characters(line, answer)
        or _wrong_charset(line, answer, target)
        or _reference(line, answer)
        or _added_number(line, answer)
        or _notice(line, answer)
    )


def _too_long(line: str, answer: str) -> str:
    if len(answer) <= _LENGTH + _GROWTH * len(line):
        return ""
    return f"{len(answer):,} characters for {len(line):,}"


def _characters(line: str, answer: str) -> str:
    """Control characters, U+FFFD and characters that are none; blanks are left to `split`."""
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


def _notice(line: str, answer: str) -> str:
    if (match := _NOTICE.search(answer)) and not _NOTICE.search(line):
        return f"{answer[:120]!r}: a notice of the service ({match[0]!r})"
    capitals = [letter for letter in answer if letter.isupper()]
    if (
        len(capitals) >= _MIN_CAPITALS
        and answer.isupper()
        and not line.isupper()
        and line.lower() != line.upper()
    ):
        return f"{answer[:120]!r}: all in capitals, as notices are"
    return ""

"""Escapes that programs leave in text: HTML's character references, percent signs of URLs, backslashes."""

import html
import re

# With a semicolon only: `R&D` and `fish &chips` are text.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# Damaged references, left by translators and copies: the original character is lost.
_BROKEN_CHARACTER = re.compile(
    r"&\s*#\s*[xX]?\s*[0-9a-fA-F]{1,7}\b"
    r"|&\s*(?:amp|quot|apos|lt|gt|nbsp)\b"
    r"|&[a-zA-Z](?:acute|grave|circ|uml|tilde|cedil|ring|slash|caron|lig)"
)
_PERCENT = re.compile(r"%[0-9A-F]{2}|%[0-9a-f][0-9a-f](?:%[0-9a-f]{2})+")
_BACKSLASH = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrt\"'/])")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*/?>|<!--|<!\[|<\?")

KINDS = {
    "a broken HTML reference": _BROKEN_CHARACTER,
    "a percent escape of URLs": _PERCENT,
    "a backslash escape": _BACKSLASH,
    "an HTML tag": _TAG,
}


def unescape(text: str) -> str:
    """The text with each of HTML's character references replaced, once: `l&#39;homme` is `l'homme`."""
    return _REFERENCE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    character = html.unescape(match[0])
    # Unknown names and references to no character are left unchanged.
    return match[0] if character in (match[0], "", "\ufffd") else character


def escape_in(text: str) -> str:
    """The kind of an escape in a text, and the escape; empty if there is none."""
    if (match := _REFERENCE.search(text)) and unescape(match[0]) != match[0]:
        return f"an HTML reference ({match[0]})"
    for kind, pattern in KINDS.items():
        if match := pattern.search(text):
            return f"{kind} ({match[0][:20]})"
    return ""

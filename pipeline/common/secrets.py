"""Keys and passwords, kept out of messages in whatever form a server repeats them.

Servers repeat a key in parts, in other capitals, between tags, escaped for URLs, pages or JSON, and in Base64
or hexadecimal digits. So letters and digits are compared, whatever stands between them.
"""

import base64
import html
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_plus

import requests

_PIECE = 8  # so many letters and digits of a key in a row are hidden, or a whole shorter key
_TAG = re.compile(r"<[^<>]*>")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_DECODINGS = 3  # how often a text may have been escaped


def hide(text: str, secrets: Mapping[str, str]) -> str:
    """A text with each of some secrets replaced by `$` and its name.

    If a secret only shows when the text's escapes are undone, they are undone in the result.
    """
    for _ in range(_DECODINGS):
        hidden = _replace(text, secrets)
        decoded = _decode(hidden)
        if decoded == hidden or _replace(decoded, secrets) == decoded:
            return hidden
        text = decoded
    return _replace(text, secrets)


def password_of(url: str) -> dict[str, str]:
    """The password for a URL's host in ~/.netrc, which `requests` sends."""
    credentials = requests.utils.get_netrc_auth(url) if url.startswith(("http://", "https://")) else None
    return {"password": credentials[1]} if credentials else {}


def _decode(text: str) -> str:
    """A text without escapes; undoing ends where nothing changes."""
    for _ in range(_DECODINGS):
        undone = _TAG.sub("", html.unescape(unquote_plus(text)))
        undone = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), undone)
        if undone == text:
            break
        text = undone
    return text


def _replace(text: str, secrets: Mapping[str, str]) -> str:
    for name, secret in secrets.items():
        for form in sorted({secret, html.escape(secret)}, key=len, reverse=True) if secret else ():
            text = re.sub(re.escape(form), f"${name}", text, flags=re.IGNORECASE)
        for form in _forms(secret):
            text = _replace_pieces(text, form, f"${name}")
    return text


def _forms(secret: str) -> Iterator[str]:
    """The letters and digits of a secret, and of its encodings at any place within an encoded text."""
    content = secret.encode()
    yield _bare(secret)
    yield content.hex()
    for before in range(3):
        # The first and the last letters depend on the bytes around the secret.
        encoded = base64.b64encode(bytes(before) + content).decode().rstrip("=")
        inner = encoded[(before * 8 + 5) // 6 : (before + len(content)) * 8 // 6]
        yield _bare(inner)


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _replace_pieces(text: str, form: str, name: str) -> str:
    """The text, with the pieces of a form replaced by `name`, together with what separates the pieces."""
    places = [place for place, letter in enumerate(text) if letter.isalnum()]
    bare = "".join(text[place].lower()[:1] for place in places)
    size = min(_PIECE, len(form))
    if size < min(_PIECE, 4):
        return text
    spans: list[tuple[int, int]] = []
    pieces = {form[begin : begin + size] for begin in range(len(form) - size + 1)}
    for begin in range(len(bare) - size + 1):
        if bare[begin : begin + size] in pieces:
            first, last = places[begin], places[begin + size - 1] + 1
            if spans and first <= spans[-1][1]:
                first = spans.pop()[0]
            spans.append((first, last))
    for first, last in reversed(spans):
        text = f"{text[:first]}{name}{text[last:]}"
    return text

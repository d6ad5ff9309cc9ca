"""Uploaded pictures, whose bytes are bounded and whose declared size is checked before decoding."""

import io
import struct
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from PIL import Image
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pipeline.common.errors import InputError
from pipeline.common.file_kinds import file_kind

MAX_BYTES = 20 * 10**6
MAX_TOGETHER = 10 * MAX_BYTES  # bytes of all pictures at a time
MAX_PIXELS = 40 * 10**6  # 120 MB of memory when decoded
MAX_ASPECT = 20  # longer to shorter side: a strip would grow when its shorter side is resized for the network
FORMATS = ("JPEG", "PNG", "WEBP")
WEBP_HEAD = 30  # bytes

# What people send in place of such a picture, by its first bytes.
_OTHERS = {
    b"GIF8": "a GIF",
    b"BM": "a BMP",
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF",
    b"\0\0\1\0": "an icon",
    b"<svg": "an SVG",
    b"<?xml": "an SVG or another XML file",
    b"--": "a form; send the file itself as the body (curl --data-binary @FILE)",
    b"data:": "a picture as text; send its bytes",
    b"/9j/": "a picture as text (Base64); send its bytes",
    b"iVBOR": "a picture as text (Base64); send its bytes",
    b"UklGR": "a picture as text (Base64); send its bytes",
    b"\x89PNG": "a PNG whose beginning is damaged or missing",
    b"\xff\xd8\xff": "a JPEG whose beginning is damaged or missing",
    b"RIFF": "a WebP that is damaged, or a sound or film",
}

TOO_MANY = "Too many pictures are being sent. Try again in a minute."
EXPECTED = (
    f"expected a JPEG, PNG or WebP of at most {MAX_BYTES // 10**6} MB and {MAX_PIXELS // 10**6} million "
    "pixels"
)


class Uploads:
    """Pictures that are being received and searched for."""

    def __init__(self) -> None:
        self.size = 0

    @asynccontextmanager
    async def content(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request.

        Raises:
            HTTPException: it has more than `MAX_BYTES`, or all together have more than `MAX_TOGETHER`.
        """
        content, close = bytearray(), {"Connection": "close"}
        too_large = HTTPException(413, f"The picture has more than {MAX_BYTES // 10**6} MB.", close)
        try:
            declared_length = request.headers.get("content-length", "0")
            if (
                not declared_length.isdecimal()
                or len(declared_length) > 18
                or int(declared_length) > MAX_BYTES
            ):
                raise too_large
            async for chunk in request.stream():
                content += chunk
                self.size += len(chunk)
                if len(content) > MAX_BYTES:
                    raise too_large
                if self.size > MAX_TOGETHER:
                    raise HTTPException(503, TOO_MANY, close)
            yield bytes(content)
        finally:
            self.size -= len(content)


def check_picture(content: bytes) -> None:
    """Raise a one-line `InputError` unless the bytes declare a picture of bounded size; decode nothing."""
    if len(content) > MAX_BYTES:
        raise InputError(f"The picture has more than {MAX_BYTES // 10**6} MB; {EXPECTED}.")
    width, height = _declared_size(content)
    if min(width, height) < 1 or width * height > MAX_PIXELS:
        raise InputError(f"The picture declares {width} x {height} pixels; {EXPECTED}.")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise InputError(
            f"The picture is {width} x {height} pixels, a strip; expected sides of 1:{MAX_ASPECT} at most."
        )


def _declared_size(content: bytes) -> tuple[int, int]:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _webp_size(content[:WEBP_HEAD])  # Pillow would allocate the whole canvas to say its size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                return image.size
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InputError(f"The picture declares too many pixels; {EXPECTED}.") from None
    except Exception:  # decoders raise errors of many kinds for broken files
        raise InputError(f"{_what_was_sent(content)}; {EXPECTED}.") from None


def _what_was_sent(content: bytes) -> str:
    if not content:
        return "Nothing was sent as the body of the request"
    kind = next((kind for begin, kind in _OTHERS.items() if content.startswith(begin)), "")
    if content[4:8] == b"ftyp":
        kind = "a HEIC, an AVIF or a film"
    kind = kind or file_kind(content)
    return f"The file is {kind}" if kind else "The file is not a picture that can be read"


def _webp_size(head: bytes) -> tuple[int, int]:
    """Width and height that a WebP file declares (RFC 9649)."""
    kind = head[12:16]
    if len(head) == WEBP_HEAD and kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if len(head) == WEBP_HEAD and kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if len(head) >= 25 and kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    raise InputError(f"The file is {_OTHERS[b'RIFF']}; {EXPECTED}.")

"""Pictures that are refused before they are decoded."""

import base64
import io
import struct
import tracemalloc
import zlib

import pytest
from PIL import Image

from pipeline.common.errors import InputError
from search.uploads import MAX_ASPECT, MAX_BYTES, check_picture


def picture(form: str, size: tuple[int, int] = (30, 20)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, "red").save(content, form)
    return content.getvalue()


def png_that_declares(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000))


def webp_that_declares(width: int, height: int) -> bytes:
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + canvas


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_pictures_are_accepted(form: str) -> None:
    check_picture(picture(form))


def test_a_lossless_webp_is_accepted_and_its_size_read() -> None:
    content = io.BytesIO()
    Image.new("RGB", (300, 10), "red").save(content, "WEBP", lossless=True)
    with pytest.raises(InputError, match="300 x 10 pixels, a strip"):
        check_picture(content.getvalue())


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("GIF", "is a GIF"),
        ("BMP", "is a BMP"),
        ("TIFF", "is a TIFF"),
        ("AVIF", "is a HEIC, an AVIF or a film"),
        ("ICO", "is an icon"),
        ("PDF", "is a PDF"),
        ("PPM", "is not a picture that can be read"),
    ],
)
def test_other_formats_are_refused_and_named(form: str, message: str) -> None:
    with pytest.raises(
        InputError, match=f"^The file {message}; expected a JPEG, PNG or WebP of at most 20 MB"
    ):
        check_picture(picture(form))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Nothing was sent as the body of the request"),
        (b"GIF89a", "The file is a GIF"),
        (b"<svg/>", "The file is an SVG"),
        (b"RIFF\0\0\0\0WEBP", "The file is a WebP that is damaged"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "The file is a WebP that is damaged, or a sound or film"),
        (b"\xff\xd8\xff", "The file is a JPEG whose beginning is damaged"),
        (b"\x89PNG\r\n", "The file is a PNG whose beginning is damaged"),
        (b"--x\r\nContent-Disposition: form-data", "The file is a form; send the file itself as the body"),
        (base64.b64encode(picture("JPEG")), "The file is a picture as text .Base64.; send its bytes"),
        (b'{"picture": ""}', "The file is JSON"),
        (b"<!DOCTYPE html>", "The file is a web page"),
        (b"\0" * 99, "The file is not a picture that can be read"),
    ],
)
def test_files_that_are_not_pictures_are_refused_and_named(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}.*; expected a JPEG, PNG or WebP of at most"):
        check_picture(content)


@pytest.mark.parametrize("size", [(100_000, 100_000), (2**31 - 1, 1), (8000, 5001)])
def test_a_decompression_bomb_is_refused_without_using_memory(size: tuple[int, int]) -> None:
    tracemalloc.start()
    with pytest.raises(InputError, match=r"pixels") as caught:
        check_picture(png_that_declares(*size))
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [(16_000, 16_000), (2**24, 200)])
def test_a_webp_bomb_is_refused_by_its_header(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*arguments: object, **options: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr(Image, "open", opened)
    with pytest.raises(InputError, match=f"declares {size[0]} x {size[1]} pixels"):
        check_picture(webp_that_declares(*size))


def test_a_strip_is_refused() -> None:
    check_picture(picture("PNG", (20, 20 * MAX_ASPECT)))
    with pytest.raises(InputError, match="a strip"):
        check_picture(picture("PNG", (20, 20 * MAX_ASPECT + 1)))


def test_more_bytes_are_refused() -> None:
    check_picture(picture("PNG").ljust(MAX_BYTES, b"\0"))
    with pytest.raises(InputError, match="more than 20 MB"):
        check_picture(picture("PNG").ljust(MAX_BYTES + 1, b"\0"))

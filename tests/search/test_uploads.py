"""Pictures that are refused before they are decoded."""

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


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF", "PPM", "ICO", "PDF"])
def test_other_formats_are_refused(form: str) -> None:
    with pytest.raises(InputError, match="not a picture that can be read; expected a JPEG, PNG or WebP"):
        check_picture(picture(form))


@pytest.mark.parametrize(
    "content", [b"", b"GIF89a", b"<svg/>", b"RIFF\0\0\0\0WEBP", b"\xff\xd8\xff", b"\0" * 99]
)
def test_files_that_are_not_pictures_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="not a picture that can be read"):
        check_picture(content)


@pytest.mark.parametrize("size", [(100_000, 100_000), (2**31 - 1, 1), (8000, 5001)])
def test_a_decompression_bomb_is_refused_without_using_memory(size: tuple[int, int]) -> None:
    tracemalloc.start()
    with pytest.raises(InputError, match=r"pixels") as said:
        check_picture(png_that_declares(*size))
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert "\n" not in str(said.value)


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

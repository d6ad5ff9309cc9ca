"""Text in UTF-8; an error names the line at which a file stops being UTF-8."""

from pathlib import Path

from pipeline.common.errors import InputError


def decode_utf8(content: bytes, path: Path | str, advice: str = "Save it in UTF-8.") -> str:
    """The text of a file's bytes, without a byte-order mark; an error's message ends with the `advice`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {utf8_mistake(error)}. {advice}") from None


def utf8_mistake(error: UnicodeDecodeError) -> str:
    """The line at which a text stops being UTF-8, and the byte there."""
    line = error.object[: error.start].count(b"\n") + 1
    return f"line {line}: the byte 0x{error.object[error.start]:02x} is not UTF-8 (Latin-1, or damaged?)"

"""Keys in the forms in which servers repeat them."""

import base64
from urllib.parse import quote

import pytest

from pipeline.common.secrets import hide

KEYS = ["s3cret/KEY+1", "0123456789abcdef-0123:fx", "a1b2c3d4", "s3cret", "pass word é"]


def forms(key: str) -> list[str]:
    content = key.encode()
    return [
        key,
        key.upper(),
        quote(key, safe=""),
        quote(quote(key, safe=""), safe=""),
        *(base64.b64encode(before.encode() + content + b"!").decode() for before in ("", "a", "me", "me:")),
        base64.urlsafe_b64encode(content).decode(),
        content.hex(),
        content.hex(" "),
        "".join(f"&#{ord(letter)};" for letter in key),
        "".join(f"\\u{ord(letter):04x}" for letter in key),
        " ".join(key),
        f"{key[:4]}\n{key[4:]}",
        f"{key[:4]}<b>{key[4:]}</b>",
        repr(content),
    ]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_hidden_in_every_form(key: str) -> None:
    lines = [hide(f"the key {form} is blocked", {"KEY": key}) for form in forms(key)]
    assert [text for text in lines if "$KEY" not in text or "blocked" not in text] == []


def test_a_long_part_of_a_key_is_hidden() -> None:
    key = "0123456789abcdef-0123:fx"
    assert hide("key 456789ab... is blocked", {"KEY": key}) == "key $KEY... is blocked"
    assert hide("key 0123...", {"KEY": key}) == "key 0123..."


@pytest.mark.parametrize("text", ["", "100%25 &amp; more", "Ein Hund läuft.", "a<b>c", "\\u0041 %zz &x;"])
def test_a_text_without_a_key_is_as_it_was(text: str) -> None:
    for key in [*KEYS, "", "x", "+"]:
        assert hide(text, {"KEY": key}) == text or key in ("x", "+")

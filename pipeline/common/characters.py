"""Characters that cannot be seen, and characters that no text has."""

import unicodedata

# Combining marks are invisible without a letter.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Mn", "Me"}
_JOINERS = "\u200c\u200d"
# Letters and symbols of other categories that are also invisible.
BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"


def is_visible(text: str) -> bool:
    """Whether a text has a visible character; zero-width spaces and byte-order marks are invisible."""
    return any(unicodedata.category(one) not in _INVISIBLE and one not in BLANK_LETTERS for one in text)


def unseen_in(name: str) -> str:
    """An invisible character that makes a name differ from a name that looks equal, as U+XXXX; or empty.

    Joiners and tags belong to names in Persian or Hindi and to emoji.
    """
    for one in name:
        if (
            unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")
            and one not in _JOINERS
            and one < "\U000e0000"
        ):
            return f"U+{ord(one):04X}"
    return ""


def printable_name(name: str) -> str:
    """A name for messages, in quotation marks if it has invisible characters."""
    return name if name.isprintable() and name == name.strip() else repr(name)


def impossible(text: str) -> list[str]:
    """Characters that a text never has: control characters, U+FFFD, private and unassigned places."""
    return [character for character in dict.fromkeys(text) if _is_impossible(character)]


def _is_impossible(character: str) -> bool:
    control = unicodedata.category(character) in ("Cc", "Cs", "Co") and not character.isspace()
    return control or character == "\ufffd" or ord(character) & 0xFFFE == 0xFFFE

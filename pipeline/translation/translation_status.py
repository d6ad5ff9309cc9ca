"""Whether an answer is a translation at all, as far as the answer itself shows."""

import functools
import re
import unicodedata

from pipeline.datasets.languages import language

OK, EMPTY, SAME, SCRIPT = "ok", "empty", "same", "script"

# Chinese and Japanese characters count one by one, letters of other scripts by the word.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")


def translation_status(text: str, answer: str, target: str) -> str:
    """Say whether the answer to `text` is a translation into the language `target`.

    Returns:
        `empty`: no letter or digit came. `same`: the caption itself came back, except for case, spaces and
        punctuation; captions of only numbers and capitalised words (`23`, `Michael Jordan`) may. `script`:
        more than half of the answer's words (Chinese and Japanese: characters) are in a script that the
        language is not written in. `ok`: none of these.
    """
    if not (letters := _letters(answer)):
        return EMPTY
    if letters == _letters(text):
        return OK if _may_be_unchanged(text) else SAME
    return SCRIPT if _is_foreign(answer, target) else OK


def _letters(text: str) -> str:
    """The letters and digits of a text, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _may_be_unchanged(text: str) -> bool:
    """Whether all words are numbers or begin with a capital; scripts without capitals have no such words."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text))
    return all(word.isdecimal() or word[0].isupper() for word in words)


def _is_foreign(answer: str, target: str) -> bool:
    own_scripts = language(target).scripts
    scripts = [_script(unit[0]) for unit in _UNIT.findall(unicodedata.normalize("NFKC", answer))]
    return bool(own_scripts) and 2 * sum(script in own_scripts for script in scripts) < len(scripts)


@functools.cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").replace("-", " ").split(" ")[0]

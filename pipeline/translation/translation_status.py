"""Whether the answer of a service is a translation at all, as far as the answer itself shows."""

import functools
import re
import unicodedata

from pipeline.datasets.languages import UNSPACED_SCRIPTS, language
from pipeline.translation.answers import fault

OK, EMPTY, SAME, SCRIPT, FAULT = "ok", "empty", "same", "script", "fault"
STATUSES = (OK, EMPTY, SAME, SCRIPT, FAULT)


def translation_status(text: str, answer: str, target: str) -> str:
    """Say whether the answer to `text` is a translation into the language `target`.

    Returns:
        `empty`: no letter or digit came. `same`: the caption itself came back, but for case, spaces and
        punctuation; captions of only numbers and capitalised words (`23`, `Michael Jordan`) may. `script`:
        more than half of the answer's words (Chinese and Japanese: characters) are in a script that the
        language is not written in. `fault`: the answer is escaped, damaged or a notice of the service
        (answers.py). `ok`: none of these.
    """
    if not (letters_of_answer := letters(answer)):
        return EMPTY
    if letters_of_answer == letters(text):
        return OK if _may_be_unchanged(text) else SAME
    if fault(text, answer, target):
        return FAULT
    return SCRIPT if _is_foreign(answer, target) else OK


def letters(text: str) -> str:
    """The letters and digits of a text, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _may_be_unchanged(text: str) -> bool:
    """Whether all words are numbers or begin with a capital; scripts without capitals have no such words."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text))
    return all(word.isdecimal() or word[0].isupper() for word in words)


def _is_foreign(answer: str, target: str) -> bool:
    own_scripts = language(target).scripts
    if not own_scripts:
        return False
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", answer))
    of_target = of_others = 0
    for word in words:
        scripts = [_script(letter) for letter in word]
        with_spaces = [script for script in scripts if script not in UNSPACED_SCRIPTS]
        # Letters of spaced scripts are one word together, however many they are.
        for script in [script for script in scripts if script in UNSPACED_SCRIPTS] + with_spaces[:1]:
            of_target += script in own_scripts
            of_others += script not in own_scripts
    return of_others > of_target


@functools.cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").replace("-", " ").split(" ")[0]

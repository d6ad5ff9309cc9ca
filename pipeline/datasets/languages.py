"""The table of languages: everything that the project knows about each.

A language that is written with spaces needs no row: Moses splits it, and unknown properties are not
checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

PACKAGES = {  # of the tokenisers
    "moses": ("sacremoses",),
    "jieba": ("jieba",),
    "sudachi": ("sudachipy", "sudachidict-small"),
    "icu": ("icu4py",),
}
UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA")  # a character counts as much as a word of other scripts


@dataclass(frozen=True)
class Language:
    """A row of the table.

    Attributes:
        code: ISO 639-1.
        name: in English; empty: the code.
        tokenizer: a key of `tokenize.TOKENIZERS`; empty: it has no tokeniser.
        spaced: whether it is written with spaces between words.
        general_rules: whether Moses' general rules serve it well, because Moses has no rules for it.
        dotted_i: whether its lower case of I is ı, and of İ is i.
        scripts: its scripts, as the names of Unicode's characters begin; empty: unknown.
        colour: of its lines in charts; empty: grey.
        services: its code at translation services that do not use the ISO 639-1 code.
        bleu: sacrebleu's tokeniser of translations into it.
    """

    code: str
    name: str = ""
    tokenizer: str = "moses"
    spaced: bool = True
    general_rules: bool = False
    dotted_i: bool = False
    scripts: tuple[str, ...] = ()
    colour: str = ""
    services: Mapping[str, str] = field(default_factory=dict)
    bleu: str = "13a"


_LATIN = ("LATIN",)

# The papers' languages in their order, then others.
_ROWS = (
    Language("en", "English", scripts=_LATIN, colour="#0b5cad"),
    Language("de", "German", scripts=_LATIN, colour="#b34700"),
    Language("fr", "French", scripts=_LATIN, colour="#6a3fa0"),
    Language("cs", "Czech", scripts=_LATIN, colour="#00796b"),
    Language(
        "zh", "Chinese", tokenizer="jieba", spaced=False, scripts=("CJK",), colour="#b3261e",
        services={"google": "zh-CN"}, bleu="zh",
    ),
    Language(
        "ja", "Japanese", tokenizer="sudachi", spaced=False, scripts=UNSPACED_SCRIPTS,
        colour="#5f6b00", bleu="char",
    ),
    Language("ar", "Arabic", tokenizer="icu", scripts=("ARABIC",), colour="#a0307e"),
    Language("af", "Afrikaans", general_rules=True, scripts=_LATIN, colour="#2f6f9f"),
    Language("ko", "Korean", tokenizer="icu", scripts=("HANGUL", "CJK"), colour="#7a4b1e"),
    Language("ru", "Russian", scripts=("CYRILLIC",), colour="#4a5560"),
    Language("az", dotted_i=True),
    Language("tr", dotted_i=True),
    Language("he", services={"google": "iw"}),
    Language("jv", services={"google": "jw"}),
    Language("nb", services={"google": "no"}),
    Language("no", services={"deepl": "nb"}),
    Language("fa", "Persian", tokenizer="icu", scripts=("ARABIC",)),
    Language("ur", "Urdu", tokenizer="icu", scripts=("ARABIC",)),
    *(
        Language(code, tokenizer="icu")
        for code in (
            "am", "as", "bn", "dv", "gu", "hi", "hy", "ka", "kn", "ml", "mr", "ne", "or", "pa", "ps", "sa",
            "sd", "si", "ta", "te", "ti", "ug",
        )
    ),
    *(Language(code, tokenizer="", spaced=False) for code in ("bo", "dz", "km", "lo", "my", "th")),
)  # fmt: skip

LANGUAGES = {row.code: row for row in _ROWS}


@cache
def language(code: str) -> Language:
    """The row of a language, or the defaults for a language without a row."""
    return LANGUAGES.get(code, Language(code))


def name_of(code: str) -> str:
    """A language's name in English, or its code where no name is known."""
    return language(code).name or code


_ISO639 = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie
ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv
mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm
rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
CODES = frozenset(_ISO639.split())


def unknown_code(code: str) -> str:
    """The message for a code that is not in ISO 639-1; empty for a valid code."""
    return "" if code in CODES else f"{code!r} is not in ISO 639-1"


def without_tokenizer(code: str) -> str:
    """The message for a language that no tokeniser splits; empty for others."""
    return "" if language(code).tokenizer else f"{code!r} is written without spaces and has no tokeniser here"


def tokenizer_versions(code: str) -> dict[str, str]:
    """Versions of the packages that split a language's captions into words."""
    return {package: version(package) for package in PACKAGES.get(language(code).tokenizer, ())}

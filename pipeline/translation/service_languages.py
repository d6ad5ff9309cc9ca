"""The languages that each service translates, and its codes for them.

Taken from the services' documentation in 2025. Services add languages: `codes` of a provider names more.
"""

from collections.abc import Iterable, Mapping

from pipeline.datasets.languages import language

Codes = Mapping[str, str]

_GOOGLE = """
af ak am ar as ay az be bg bm bn bs ca co cs cy da de dv ee el en eo es et eu fa fi fr fy ga gd gl gn gu ha
he hi hr ht hu hy id ig is it ja jv ka kk km kn ko ku ky la lb lg ln lo lt lv mg mi mk ml mn mr ms mt my ne
nl no nb ny om or pa pl ps pt qu ro ru rw sa sd si sk sl sm sn so sq sr st su sv sw ta te tg th ti tk tl tr
ts tt ug uk ur uz vi xh yi yo zh zu
"""
_DEEPL = """
ar bg cs da de el en es et fi fr he hu id it ja ko lt lv nb nl no pl pt ro ru sk sl sv th tr uk vi zh
"""
_MICROSOFT = """
af am ar as az ba be bg bn bo bs ca cs cy da de dv el en es et eu fa fi fj fo fr ga gl gu ha he hi hr ht hu
hy id ig is it iu ja ka kk km kn ko ku ky ln lo lt lv mg mi mk ml mn mr ms mt my nb ne nl no ny or pa pl ps
pt rn ro ru rw sd si sk sl sm sn so sq sr st sv sw ta te th ti tk tn to tr tt ty ug uk ur uz vi xh yo zh zu
"""
_BAIDU = "ar bg cs da de el en es et fi fr hu it ja ko nl pl pt ro ru sl sv th vi zh"

# A LibreTranslate server has the languages that its owner gave it, and MyMemory takes any pair.
CODES_OF_SERVICES = {
    "google": frozenset(_GOOGLE.split()),
    "deepl": frozenset(_DEEPL.split()),
    "microsoft": frozenset(_MICROSOFT.split()),
    "baidu": frozenset(_BAIDU.split()),
}


def code_at(service: str, code: str, codes: Codes) -> str:
    """A service's code for a language; `codes` of the provider come first."""
    return codes.get(code) or language(code).services.get(service, code)


def unlisted_message(service: str, languages: Iterable[str], codes: Codes) -> str:
    """The message for languages that a service does not translate, as far as is known; empty if it does."""
    listing = CODES_OF_SERVICES.get(service)
    lacking = [code for code in languages if listing and code not in listing and code not in codes]
    if not lacking:
        return ""
    examples = ", ".join(f"{code}: CODE" for code in lacking)
    return (
        f"{service} is not known to translate {' or '.join(map(repr, lacking))}. Choose another provider for "
        f"the pair (translation.pairs), or, if it does, name its code (codes: {{{examples}}})"
    )

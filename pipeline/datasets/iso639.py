"""The two-letter codes of ISO 639-1, and the message for any other code."""

_LISTED = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie
ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv
mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm
rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
CODES = frozenset(_LISTED.split())

# Codes of countries, and withdrawn ones of languages, that are taken for codes of languages.
_MEANT = {
    "at": "de", "cn": "zh", "cz": "cs", "dk": "da", "eg": "ar", "gb": "en", "gr": "el", "il": "he",
    "in": "id", "ir": "fa", "iw": "he", "ji": "yi", "jp": "ja", "ke": "sw", "kp": "ko", "md": "ro",
    "mx": "es", "ph": "tl", "pk": "ur", "rs": "sr", "sp": "es", "tz": "sw", "ua": "uk", "us": "en",
    "vn": "vi",
}  # fmt: skip


def unknown_code(code: str) -> str:
    """The message for a code that ISO 639-1 does not have; empty for one that it has."""
    if code in CODES:
        return ""
    meant = f", did you mean {_MEANT[code]!r}?" if code in _MEANT else ""
    return f"{code!r} is no language of ISO 639-1{meant}"

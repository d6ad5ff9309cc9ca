"""Notices of services: sentences about a service itself, in place of a translation.

A notice is recognised in three ways, each independent of the others: by phrases that no caption says, by the
share of its words that are about services, and because it is in English, or in Latin letters, where the
target is another language. Words that the caption itself has do not count. Of 641,899 pairs of Flickr30k and
Flickr8k in English, German, French, Czech, Chinese and Japanese, none is mistaken for a notice.
"""

import re
import unicodedata

from pipeline.datasets.languages import language

# The user must act: no caption is translated now.
_STOPPING = (
    r"mymemory warning",
    r"quota|kontingent|配额|额度|cuota|квот|クォータ(?!ー)|할당량",
    r"rate[ _-]?limit|\b(?:usage|request|character|daily|monthly)s? limits?\b"
    r"|\blimits? (?:has been |was )?(?:exceeded|reached)",
    r"exceeded (?:your|the|its)\b.{0,30}\blimit",
    r"too many requests|requests too (?:quickly|often|fast)|zu viele anfragen|trop de requêtes",
    r"demasiadas solicitudes|příliš mnoho požadavků|слишком много запросов",
    r"请求过于频繁|请求频率|频率受限|リクエストが多|요청이 너무",
    r"\b(?:api|auth)[ _-]?(?:key|schlüssel)|clé (?:d.)?api|\bkey is (?:invalid|missing|not valid)|wrong key",
    r"ungültiger (?:\S+ )?schlüssel|clave no válida|neplatný klíč|неверный ключ",
    r"无效的?密钥|密钥无效|签名错误|無効なキー",
    r"(?:free|available) translations|next available in",
    r"upgrade your (?:plan|account)|please (?:upgrade|subscribe)|upgrade to (?:pro|premium)",
    r"(?:invalid|unsupported) (?:\w+ ){0,3}(?:language|pair|key|e-?mail|request|parameter|token|credentials)",
    r"is an invalid|\blangpair\b|select two distinct|no query specified|query length",
    r"unauthori[sz]ed|not authori[sz]ed|未授权|authenti[ck]ation (?:failed|required)|payment required",
    r"(?:insufficient|low|not enough) (?:\w+ ){0,2}(?:balance|credits?|funds)|out of credits",
    r"余额不足|guthaben ist",
    r"(?:trial|subscription|licen[cs]e|token|key) (?:has |is )?expired|billing is not",
    r"limit überschritten|anfragelimit|překročen limit|превышен лимит|利用制限を|访问限制|تجاوز",
)
# A caption might say it: the caption is left without a translation.
_NOTICES = (
    r"access denied|\bcaptcha\b|unusual traffic|cloudflare",
    r"please (?:try|wait (?:a|and|un)|slow|retry|verify|enable|contact|log ?in|sign ?(?:in|up)|complete the)",
    r"(?:cannot|could not|can't|unable to) translate|bad request|page not found|\bthrottled\b",
    r"(?:trial|evaluation|demo) (?:version|copy)|(?:under|scheduled) maintenance|server (?:is )?busy",
    r"model is (?:\w+ )?(?:not|loading|overloaded|busy|unavailable)|not verified|verify (?:that )?you",
    r"(?:method|operation|access) not allowed|^\W*(?:\d+ )?not found\W*$|no longer available|you have used",
    r"no (?:translation|result)s? (?:found|available)|try again later|are you a (?:robot|human)",
    r"(?:log|sign) ?in to\b|something (?:is|went) wrong|exception in|our website",
    r"(?:unknown|missing) (?:\w+ ){0,3}(?:language|pair|key|request|parameter|token|provider)",
    r"internal (?:server )?error|\bserver error|bad gateway|gateway time-?out",
    r"(?:service|temporarily) (?:is )?(?:temporarily )?unavailable",
    r"language.{0,20} not supported",
    r"translation (?:failed|error|not found|unavailable|not available)",
    r"(?:error|status|http)(?: code)?\s*[:=/]?\s*[45]\d\d\b|\berror\s*:|\btraceback\b",
    r"request (?:timed out|failed)|an error occurred|just a moment\.\.\.",
    r"\b\w+(?:Error|Exception)\b|\bSQLSTATE\b|segmentation fault|\bstack trace\b",
    r"\bAI (?:language )?model\b|\blanguage model\b|can't help with that|^(?:sure|certainly)[!,]",
    r"^(?:the |here(?: i|')s the |\w+ )?translation\s*[:：]",
    r"^(?:übersetzung|traduction|traducción|překlad)\s*:|^(?:翻译|译文|翻訳|訳)\s*[:：]",
    r"zugriff verweigert|dienst (?:ist )?nicht (?:verfügbar|erreichbar)|später (?:erneut|noch ?einmal)",
    r"serverfehler|sprache wird nicht|anmeldung erforderlich",
    r"accès refusé|service indisponible|réessayer plus tard|erreur interne|non prise en charge",
    r"acceso denegado|servicio no disponible|inténtelo|error interno|přístup odepřen|služba není|zkuste to",
    r"不支持的?(?:语言|语种)|服务(?:器)?(?:不可用|错误|繁忙)|系统错误|稍后(?:再试|重试)|请(?:先)?登录|访问被拒绝",
    r"アクセスが拒否|サービスは?(?:現在)?(?:利用|使用)|もう一度お試し|サポートされていません|サーバーエラー",
    r"доступ запрещ|сервис недоступ|попробуйте|접근이 거부|서비스를 사용할|다시 시도",
    r"غير متوفرة|غير صالح|حاول مرة أخرى",
)
_STOP = re.compile("|".join(_STOPPING), re.IGNORECASE)
_NOTICE = re.compile("|".join((*_STOPPING, *_NOTICES)), re.IGNORECASE)

# What programs write for nothing, and what only their messages hold.
_PROGRAM = re.compile(
    r"^\W*(?:null|undefined|none|nan|n/a|nil|true|false|no content|\[object \w+\])\W*$"
    r"|[{}]|\bhttps?:|\bwww\.|[\w.+-]+@[\w-]+\.\w|[A-Za-z]_(?!in(?:nen)?\b)[A-Za-z]",
    re.IGNORECASE,
)

# Words of sentences about services; half of a notice's words, apart from the small ones, are such words.
_SERVICE = """
accept accepted access accessing account accounts administrator api attention auth authentication
authorization authorized balance banned billing blocked browser captcha characters codes connect
connection contact content continue cookies could credentials credits demo denied deprecated disabled
discontinued disconnect enable enabled endpoint error errors evaluation exceeded exception exhausted
expired failed failure fatal forbidden format found gateway header headers http https humans id input
insufficient internal invalid ip javascript json key language languages later licence license limit
limited loaded login maintenance malformed max maximum method missing model module moment month monthly
moved null overloaded pair parameter parse payment peer permanently permission plan plans premium pricing
proceed q query rate reach reached refused register rejected renew request requested requests required
reset resource restricted retry robot security server service session source ssl status
subscribe subscription support supported suspended system target temporarily temporary terminated
throttled timed timeout token translate translated translation translations translator trial
unavailable unable unauthorized unexpected unknown unsupported upgrade upstream url usage valid
verified verify version warning website worker
"""
# Words of this kind that make an answer a notice even if there is only one of them.
_CERTAIN = """
authenticate blocked captcha denied disabled error exception expired failed failure fatal forbidden invalid
maintenance malformed overloaded throttled timeout unauthorized unavailable unexpected unknown unsupported
"""
_SMALL = """
a about above again all allowed already also am an and any are as at available be because been before but
by can cannot click do does down else en for from has have here how i if in instead into is it its just
longer more must need needs no not now of on one only or our out please right so sorry soon than that the
then there this to today tomorrow too try under until up use used using was we were what when which while
will with without would you your you're you've
"""
# Words of English that are not words of other languages in Latin letters.
_ENGLISH_ONLY = """
again and are available before cannot could does from here its longer our please should than that the
their there these they this those using were what when which with without would you your you're you've
"""
_SERVICE_WORDS, _CERTAIN_WORDS, _SMALL_WORDS, _ENGLISH = (
    frozenset(words.split()) for words in (_SERVICE, _CERTAIN, _SMALL, _ENGLISH_ONLY)
)
_MIN_ENGLISH, _ENGLISH_SHARE = 2, 0.25
_MIN_CAPITALS = 12  # capital letters from which an answer in capitals is a notice
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def stopping_notice(text: str, answer: str) -> str:
    """What in the answer to a text says that the service translates nothing now; empty if nothing does."""
    match = _STOP.search(answer)
    return "" if match is None or _STOP.search(text) else match[0]


def notice(line: str, answer: str, target: str) -> str:
    """Why the answer to a caption is a notice of the service; empty if it is not."""
    for pattern in (_NOTICE, _PROGRAM):
        if (match := pattern.search(answer)) and not pattern.search(line):
            return f"a notice of the service ({match[0]!r})"
    own = _words(line)
    new = _words(answer) - own
    if own and not _words(answer) and answer not in line:
        return "it has no words"
    if _are_about_services(new):
        return "a notice of the service: its words are about services"
    if _are_in_another_language(new, answer, target):
        return f"it is not in {target!r}, as notices are"
    if _is_in_capitals(line, answer, target):
        return "all in capitals, as notices are"
    return ""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("\u2019", "'")))


def _are_about_services(words: set[str]) -> bool:
    content = words - _SMALL_WORDS
    service_words = content & (_SERVICE_WORDS if len(content) > 1 else _CERTAIN_WORDS)
    return 2 * len(service_words) > len(content)


def _are_in_another_language(new: set[str], answer: str, target: str) -> bool:
    """Whether an answer has words that are not the caption's, and is in English or in another script."""
    scripts = language(target).scripts
    if scripts and "LATIN" not in scripts:
        letters = filter(str.isalpha, answer)
        return bool(new) and not any(unicodedata.name(one, "").startswith(scripts) for one in letters)
    english = 0 if target == "en" else len(new & _ENGLISH)
    return english >= max(_MIN_ENGLISH, _ENGLISH_SHARE * len(new))


def _is_in_capitals(line: str, answer: str, target: str) -> bool:
    """Whether only the answer is in capitals; in English a caption sometimes is, too."""
    if target == "en" or line.isupper() or line.lower() == line.upper():
        return False
    letters = [letter for letter in answer if letter.isalpha()]
    return len(letters) >= _MIN_CAPITALS and all(map(str.isupper, letters))

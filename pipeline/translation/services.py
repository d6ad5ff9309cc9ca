"""The web services that deep-translator knows, each as a function from a text to its translation.

deep-translator gives its requests no time limit, opens a connection for each, and reports neither the status
of a refusal nor its Retry-After. A session does what it omits: it takes the place of `requests` in the
modules of deep-translator's classes.
"""

import html
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import deep_translator
from deep_translator.exceptions import NotValidLength, TranslationNotFound

from pipeline.common.errors import InputError, raise_together
from pipeline.common.secrets import hide
from pipeline.translation.cached_translator import EngineStopped
from pipeline.translation.service_languages import code_at, unlisted_message
from pipeline.translation.session import ServiceSession, ServiceUnavailable, TextRefused
from pipeline.translation.settings import Limits


class Service(NamedTuple):
    """What is specific to one service.

    `keys`: environment variables of its keys, by deep-translator's argument. It reads them by itself, but
    only when it is imported.
    `characters`: the longest text of a request. `url_bytes`: the longest text where it is part of the
    URL, percent-encoded.
    """

    translator: str
    keys: Mapping[str, str]
    characters: int
    url_bytes: int


# Google refuses URLs above 16 KiB (1,800 Chinese characters passed, 1,900 did not: deep-translator's
# issue 224). All other services except Microsoft's also have the text in the URL; common servers accept
# 8,000.
SERVICES = {
    "google": Service("GoogleTranslator", {}, 4_999, 16_000),
    "deepl": Service("DeeplTranslator", {"api_key": "DEEPL_API_KEY"}, 50_000, 8_000),
    "libre": Service("LibreTranslator", {"api_key": "LIBRE_API_KEY"}, 5_000, 8_000),
    "microsoft": Service("MicrosoftTranslator", {"api_key": "MICROSOFT_API_KEY"}, 50_000, 150_000),
    "baidu": Service("BaiduTranslator", {"appid": "BAIDU_APPID", "appkey": "BAIDU_APPKEY"}, 6_000, 8_000),
    "mymemory": Service("MyMemoryTranslator", {}, 499, 8_000),
}

_HTTPS = {"mymemory": "https://api.mymemory.translated.net/get"}  # deep-translator asks it over http
_WHOLE = 5.0  # limit on the time of a whole answer, in multiples of the limit between two bytes
_MIN_SECONDS = 1.0  # seconds that an answer may take, however short `max_wait` is
_SECRET = 8  # a key of at least this length does not occur in an answer by coincidence
# What deep-translator raises when it finds no translation in an answer.
_NO_TRANSLATION = (KeyError, IndexError, TypeError, AttributeError, StopIteration)
_RESULT = re.compile(r"<div[^>]*class=[\"'](?:t0|result-container)[\"'][^>]*>(.*?)</div>", re.DOTALL)


class ServiceClient:
    """Requests translations from one service; thread-safe.

    Args:
        url: another address of the service, such as your own server; empty: the service's.
        codes: the service's codes of languages, if they differ from the known codes.

    Raises:
        InputError: the service does not know a language, or a key is not in the environment.
    """

    def __init__(
        self,
        service: str,
        source: str,
        target: str,
        url: str = "",
        limits: Limits | None = None,
        codes: Mapping[str, str] | None = None,
    ):
        self.service = SERVICES[service]
        # To the addresses of DeepL and LibreTranslate, deep-translator adds the name of a page.
        self.url = (
            f"{url.rstrip('/')}/" if url and service in ("deepl", "libre") else url or _HTTPS.get(service, "")
        )
        self._name = service
        raise_together(self._mistakes(source, target, codes or {}), f"provider {service}: cannot start:")
        self._keys = {name: os.environ[name] for name in self.service.keys.values()}
        self._codes = [code_at(service, code, codes or {}) for code in (source, target)]
        self._threads = threading.local()
        # deep-translator would ask Microsoft for its languages, in a request that nobody counts.
        without_request: dict[str, Any] = {"_get_supported_languages": lambda translator: {}}
        library = getattr(deep_translator, self.service.translator)
        self._class = type("Translator", (library,), without_request)
        # urllib3 logs URLs, and some contain keys.
        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        limits_of_service = limits or Limits()
        seconds = max(_MIN_SECONDS, min(_WHOLE * limits_of_service.timeout, limits_of_service.max_wait))
        self._session = ServiceSession(
            limits_of_service.timeout, seconds, in_json=service != "google", secrets=self._keys
        )
        setattr(sys.modules[library.__module__], "requests", self._session)  # noqa: B010
        self._translator()

    def __call__(self, text: str) -> str:
        """The translation of a text.

        Raises:
            ServiceUnavailable: try again later. TextRefused: not this text. EngineStopped: the user must act.
        """
        try:
            answer = self._answer(text)
        except ServiceUnavailable as error:
            raise ServiceUnavailable(hide(str(error), self._keys), error.retry_after) from None
        except (TextRefused, EngineStopped) as error:
            raise type(error)(hide(str(error), self._keys)) from None
        long_keys = {name: key for name, key in self._keys.items() if len(key) >= _SECRET}
        if hide(answer, long_keys) != answer:
            raise EngineStopped(
                "The service's answer repeats the key that was sent: check its address (`url`)."
            )
        return answer

    def _answer(self, text: str) -> str:
        try:
            answer = self._translator().translate(text)
        except (TranslationNotFound, *_NO_TRANSLATION):
            raise TextRefused(self._no_translation_message()) from None
        except NotValidLength:
            raise TextRefused("too long for the service") from None
        except (ServiceUnavailable, TextRefused, EngineStopped, InputError):
            raise
        except Exception as error:  # deep-translator's own exceptions have no common base
            raise EngineStopped(f"{type(error).__name__}: {error}.") from None
        if self._name == "google":
            match = _RESULT.search(self._session.last_answer)
            if match and "<" in match[1]:  # deep-translator would join the words around a tag
                raise TextRefused(f"an answer with HTML tags: {hide(match[1], self._keys)[:80]!r}")
            if answer is None:  # raised by deep-translator if a text came back unchanged
                return text
        if not isinstance(answer, str):
            raise TextRefused(self._no_translation_message())
        return answer

    def _no_translation_message(self) -> str:
        """The message about an answer without a translation, with the service's own words."""
        text = " ".join(re.sub(r"<(script|style).*?</\1>|<[^<>]*>", " ", self._session.last_answer).split())
        words = hide(html.unescape(text), self._keys)[:80]
        return f"an answer without a translation{f': {words!r}' if words else ''}"

    def _mistakes(self, source: str, target: str, codes: Mapping[str, str]) -> Iterator[str]:
        yield from (
            f"{key} is not set; keys are read from environment variables"
            for key in self.service.keys.values()
            if not os.environ.get(key)
        )
        if lacking := unlisted_message(self._name, (source, target), codes):
            yield lacking

    def _translator(self) -> Any:
        """This thread's translator: deep-translator's objects store the text of a request."""
        if not hasattr(self._threads, "translator"):
            # deep-translator's lists of languages date from 2023, so they are not used.
            keys = {argument: self._keys[name] for argument, name in self.service.keys.items()}
            translator = self._class(source="auto", target="auto", **keys)
            translator._source, translator._target = self._codes
            if self.url:
                # Only LibreTranslator has an argument for it; the attribute is there in all.
                translator._base_url = self.url
            self._threads.translator = translator
        return self._threads.translator

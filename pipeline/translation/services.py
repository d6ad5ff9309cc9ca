"""The web services that deep-translator knows, each as a function from a text to its translation.

deep-translator gives its requests no time limit, opens a connection for each, and tells neither the
status of a refusal nor its Retry-After. All its classes call `requests` by that name in their module; a
session stands there instead, which does all of this.
"""

import logging
import os
import sys
import threading
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

import deep_translator
import requests
from deep_translator.exceptions import LanguageNotSupportedException, NotValidLength, TranslationNotFound

from pipeline.common.errors import InputError, raise_together
from pipeline.common.retry_after import retry_after_seconds
from pipeline.datasets.languages import language
from pipeline.translation.cached_translator import EngineStopped


class Service(NamedTuple):
    """What is specific to one service.

    `keys`: environment variables that deep-translator reads its keys from.
    `characters`: the longest text of a request. `url_bytes`: the longest text where it is part of the
    URL, percent-encoded.
    """

    translator: str
    keys: tuple[str, ...]
    characters: int
    url_bytes: int


# Google refuses URLs above 16 KiB (1,800 Chinese characters passed, 1,900 did not: deep-translator's
# issue 224). The others' texts go into the URL too, but for Microsoft's; 8,000 is what common servers take.
SERVICES = {
    "google": Service("GoogleTranslator", (), 4_999, 16_000),
    "deepl": Service("DeeplTranslator", ("DEEPL_API_KEY",), 50_000, 8_000),
    "libre": Service("LibreTranslator", ("LIBRE_API_KEY",), 5_000, 8_000),
    "microsoft": Service("MicrosoftTranslator", ("MICROSOFT_API_KEY",), 50_000, 150_000),
    "baidu": Service("BaiduTranslator", ("BAIDU_APPID", "BAIDU_APPKEY"), 6_000, 8_000),
    "mymemory": Service("MyMemoryTranslator", (), 499, 8_000),
}

_HTTPS = {"mymemory": "https://api.mymemory.translated.net/get"}  # deep-translator asks it over http
_MAX_ANSWER = 16 << 20  # bytes; a request has at most 50,000 characters
_WAIT = {408, 425, 429}  # and 5xx
_NOTICES = ("MYMEMORY WARNING",)  # come with status 200
_TOO_LONG = {400, 413, 414, 431}  # 400 is Google's answer to a URL that is too long


class ServiceUnavailable(Exception):
    """The service is unavailable; `retry_after` is the delay that it requested, in seconds."""

    def __init__(self, reason: str, retry_after: float = 0.0):
        super().__init__(reason)
        self.retry_after = retry_after


class TextRefused(Exception):
    """The service rejects this text, because it is too long or for reasons of its own."""


class ServiceClient:
    """Requests translations from one service; thread-safe.

    Args:
        url: another address of the service, such as a server of one's own; empty: the service's.
        timeout: seconds without a byte.

    Raises:
        InputError: the service does not know a language, or a key is not in the environment.
    """

    def __init__(self, service: str, source: str, target: str, url: str, timeout: float):
        self.service = SERVICES[service]
        # To these deep-translator adds the name of a page.
        self.url = (
            f"{url.rstrip('/')}/" if url and service in ("deepl", "libre") else url or _HTTPS.get(service, "")
        )
        self._name = service
        self._languages = [language(code).services.get(service, code) for code in (source, target)]
        self._threads = threading.local()
        missing = [f"{key} is not set" for key in self.service.keys if not os.environ.get(key)]
        raise_together(missing, f"provider {service}: its keys are read from environment variables:")
        self._class = getattr(deep_translator, self.service.translator)
        # urllib3 logs URLs, and keys stand in some.
        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        setattr(sys.modules[self._class.__module__], "requests", _Session(timeout, bool(self.service.keys)))  # noqa: B010
        self._translator()

    def __call__(self, text: str) -> str:
        """The translation of a text.

        Raises:
            ServiceUnavailable: try again later. TextRefused: not this text. EngineStopped: the user must act.
        """
        try:
            answer = self._translator().translate(text)
        except TranslationNotFound:
            raise TextRefused("an answer without a translation") from None
        except NotValidLength:
            raise TextRefused("too long for the service") from None
        except (ServiceUnavailable, TextRefused, EngineStopped, InputError):
            raise
        except Exception as error:  # deep-translator's own exceptions have no common base
            raise EngineStopped(f"{self._without_keys(error)}.") from None
        if answer is None and self._name == "google":  # deep-translator's, of a text that came back as it was
            return text
        if not isinstance(answer, str):
            raise TextRefused("an answer without a translation")
        if answer.upper().startswith(_NOTICES):
            raise EngineStopped(f"The service answered with a notice instead of a translation: {answer}")
        return answer

    def _translator(self) -> Any:
        """This thread's translator: deep-translator's keep the text of a request in themselves."""
        if not hasattr(self._threads, "translator"):
            source, target = self._languages
            try:
                translator = self._class(source=source, target=target)
            except LanguageNotSupportedException as error:
                raise InputError(
                    f"provider {self._name}: it does not translate {source!r} to {target!r} "
                    f"(unknown: {error.val!r}). Choose another provider for this pair (translation.pairs)."
                ) from None
            if self.url:
                # Only LibreTranslator has an argument for it; the attribute is there in all.
                translator._base_url = self.url
            self._threads.translator = translator
        return self._threads.translator

    def _without_keys(self, error: Exception) -> str:
        """An error's text without the keys, which stand in URLs."""
        text = f"{type(error).__name__}: {error}"
        for key in self.service.keys:
            for form in (os.environ[key], quote(os.environ[key], safe="")):
                text = text.replace(form, f"${key}")
        return text


class _Session(requests.Session):
    """Replaces `requests` in deep-translator's modules."""

    exceptions = requests.exceptions

    def __init__(self, timeout: float, keyed: bool):
        super().__init__()
        self.timeout, self.keyed = timeout, keyed

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The target of a redirect; requests with a key never go to another host or to plain HTTP."""
        target = super().get_redirect_target(resp)
        if target is None or not self.keyed:
            return target
        here, there = urlsplit(resp.url), urlsplit(urljoin(resp.url, target))
        if here.hostname != there.hostname or (here.scheme, there.scheme) == ("https", "http"):
            raise EngineStopped(
                f"{here.hostname} redirects to {there.scheme}://{there.hostname}, and the key is not sent "
                "there. If that is the service's new address, set `url` of the provider to it."
            )
        return target

    def request(self, method: Any, url: Any, *arguments: Any, **options: Any) -> requests.Response:
        options = {"timeout": self.timeout, **options, "stream": True}
        try:
            response = super().request(method, url, *arguments, **options)
            _read_body(response)
        except requests.RequestException as error:
            # Without the error's text: it holds the URL, and that may hold a key.
            raise ServiceUnavailable(type(error).__name__) from None
        status = _status(response)
        if status in _WAIT or status >= 500:
            delay = retry_after_seconds(response.headers.get("Retry-After", ""))
            raise ServiceUnavailable(f"status {status}", delay)
        if status in _TOO_LONG:
            raise TextRefused(f"status {status}")
        if status >= 400:
            raise EngineStopped(f"The service answered {status} {response.reason}: check its key and quota.")
        return response


def _read_body(response: requests.Response) -> None:
    """Read a response's body, as `requests` itself would but for its bound.

    Raises:
        EngineStopped: it is longer than any answer, perhaps endless.
    """
    body = bytearray()
    for part in response.iter_content(1 << 16):
        body += part
        if len(body) > _MAX_ANSWER:
            response.close()
            raise EngineStopped(
                f"The service answered with more than {_MAX_ANSWER:,} bytes: check its address."
            )
    response._content = bytes(body)


def _status(response: requests.Response) -> int:
    """The status of a response; MyMemory always sends 200 and puts the status into the body."""
    try:
        status = int(response.json()["responseStatus"])
    except (ValueError, KeyError, TypeError):
        return response.status_code
    return max(status, response.status_code)

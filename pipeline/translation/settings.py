"""Settings of translation: a provider for each pair of languages, and limits on requests to services."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, field_validator

from pipeline.common.addresses import address_mistake
from pipeline.common.block import Block, Count, Expected, PathText, Rate, Text, refuse_null, text_check
from pipeline.datasets.languages import unknown_code
from pipeline.datasets.settings import LanguageCode


def _pair_problem(pair: str) -> str:
    source, target = pair.split("-")
    return unknown_code(source) or unknown_code(target)


# Keys of providers, except `provider` itself, which names the kind.
_KEYS = ("origin", "model", "revision", "prefix", "beams", "batch_size", "device", "url", "version", "codes")

Service = Literal["google", "deepl", "libre", "microsoft", "baidu", "mymemory"]

_ADDRESS = "http://localhost:5000"

PairText = Annotated[
    str,
    Field(pattern="^[a-z]{2}-[a-z]{2}$"),
    text_check(_pair_problem),
    Expected("two language codes, such as en-de"),
]


class ProviderBlock(Block):
    """A provider; its keys may be left out, but not be null."""

    @field_validator(*_KEYS, mode="before", check_fields=False)
    @classmethod
    def _not_null(cls, value: object) -> object:
        return refuse_null(value)


class DictionaryProvider(ProviderBlock):
    """MUSE's dictionaries: one language is English; translates word by word."""

    provider: Literal["dictionary"]


class FilesProvider(ProviderBlock):
    """Translations that came with the data."""

    provider: Literal["files"]
    origin: Text = Field(description="the origin of the translations that came with the data, such as google")


class MarianKeys(ProviderBlock):
    """How a Marian model translates."""

    revision: Text | None = Field(default=None, description="commit or tag of a model on the hub")
    prefix: str = Field(
        default="", description="what a multilingual model expects before each caption, such as >>fra<<"
    )
    beams: Count = Field(default=4, description="beams of the search")
    batch_size: Count = Field(default=32, description="captions in a batch")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="cpu, cuda, or auto: cuda where there is one"
    )


class MarianProvider(MarianKeys):
    """Models on this machine."""

    provider: Literal["marian"]
    model: Text = Field(
        description="a folder or a name on the hub; {source} and {target} stand for the languages"
    )

    def contradictions(self) -> Iterator[str]:
        if unknown := set(re.findall(r"\{[^}]*\}", self.model)) - {"{source}", "{target}"}:
            yield f".model: found {', '.join(sorted(unknown))}, expected {{source}} and {{target}} alone"

    def of_all_pairs(self) -> Iterator[str]:
        """Mistakes of a default: a value for one language would translate every pair into that language."""
        if "{target}" not in self.model:
            yield (
                f".model: found {self.model}, which serves one target language only; write {{target}} where "
                "its code stands, or put the model under translation.pairs"
            )
        if self.prefix:
            yield (
                f".prefix: found {self.prefix!r}, which serves one language only; put it under "
                "translation.pairs"
            )


class ServiceKeys(ProviderBlock):
    """How a web service is used."""

    url: Annotated[str, Field(pattern="^https?://[^@?]+$")] | None = Field(
        default=None, description="another address of the service, without user, password or key"
    )
    version: Text | None = Field(
        default=None, description="an arbitrary label; a new one translates all captions again"
    )
    codes: dict[LanguageCode, Text] | None = Field(
        default=None, description="the service's codes for languages, if they differ from the known codes"
    )


class ServiceProvider(ServiceKeys):
    """A web service. Its keys are read only from environment variables (docs/translation.md)."""

    provider: Service

    def contradictions(self) -> Iterator[str]:
        if self.url and (mistake := address_mistake(self.url)):
            found = self.url.partition("#")[0]
            yield f".url: found {found!r}, expected an address such as {_ADDRESS}: {mistake}"
        if self.provider == "libre" and self.url is None:
            yield f": provider libre needs `url`, the address of your server, such as {_ADDRESS}"


class TranslatorSettings(MarianKeys, ServiceKeys):
    """Settings of a machine translator on a command line: keys of its provider, which is named elsewhere."""

    model: Text | None = None


Provider = Annotated[
    DictionaryProvider | FilesProvider | MarianProvider | ServiceProvider,
    Field(discriminator="provider"),
    Expected("a provider, such as {provider: google}"),
]


class Limits(Block):
    """Limits on the use of a service; none affects the translations."""

    requests_per_second: Rate = Field(default=1.0, description="requests of all jobs that share a cache")
    requests_per_day: Count = Field(default=10_000, description="requests of all jobs that share a cache")
    max_connections: Count = Field(default=1, description="concurrent requests of a job")
    timeout: Rate = Field(default=60.0, description="seconds without a byte after which a request is aborted")
    max_pause: Rate = Field(
        default=900.0,
        description=(
            "longest pause between retries, seconds; a service's own Retry-After counts if it is longer"
        ),
    )
    max_wait: Rate = Field(default=7200.0, description="seconds without any answer after which a job stops")


class Translation(Block):
    """Providers of translations, and the cache of machine translations."""

    dictionaries: PathText | None = Field(
        default=None, description="folder of bilingual dictionaries, en-de.txt; null: MUSE's, downloaded"
    )
    default: Provider | None = Field(
        default=None,
        description=(
            "a provider, such as {provider: google}, or null: only pairs named in translation.pairs are "
            "translated"
        ),
    )
    pairs: dict[PairText, Provider] = Field(
        default={},
        description="a provider for pairs of languages, such as {en-zh: {provider: files, origin: google}}",
    )
    cache: PathText = Field(
        default="work/translations.sqlite", description="cache of machine translations, shared by all scales"
    )
    limits: Limits = Field(
        default_factory=Limits,
        description="limits on requests to services; they change no translation and rerun nothing",
    )

    def contradictions(self) -> Iterator[str]:
        for pair in self.pairs:
            if pair[:2] == pair[3:]:
                yield f".pairs.{pair}: a language and itself; expected two, such as en-de"
        if isinstance(self.default, MarianProvider):
            yield from (f".default{line}" for line in self.default.of_all_pairs())

    def provider_of(self, pair: str) -> Provider | None:
        """The provider that translates a pair; None if none is configured."""
        return self.pairs.get(pair, self.default)


def origin_of(provider: Provider) -> str:
    """The origin that captions of a provider have in their tables."""
    return provider.origin if isinstance(provider, FilesProvider) else provider.provider

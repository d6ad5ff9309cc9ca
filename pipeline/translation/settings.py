"""Settings of translation: a provider for each pair of languages, and the cache of machine translations."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from pipeline.common.block import Block, Count, Fraction, PathText, Rate, Seed, Text, text_check
from pipeline.datasets.languages import unknown_code
from pipeline.datasets.settings import LanguageCode


def _pair_problem(pair: str) -> str:
    source, target = pair.split("-")
    if source == target:
        return f"found {pair!r}, a language and itself; expected two, such as en-de"
    return unknown_code(source) or unknown_code(target)


PairText = Annotated[str, Field(pattern="^[a-z]{2}-[a-z]{2}$"), text_check(_pair_problem)]


class ProviderBlock(Block):
    """Any provider of translations."""

    provider: str

    @classmethod
    def parse(cls, text: str) -> Any:
        """The provider of a command line's JSON object, by its key `provider`."""
        return _AnyProvider.parse(f'{{"provider": {text}}}').provider


class FilesProvider(ProviderBlock):
    """Translations that came with the data."""

    provider: Literal["files"]
    origin: Text
    """the origin of the translations that came with the data, such as google"""


class TranslatorBlock(ProviderBlock):
    """A provider that translates."""

    @property
    def origin(self) -> str:
        """The origin of its captions."""
        return self.provider


class DictionaryProvider(TranslatorBlock):
    """MUSE's dictionaries: one language is English; translates word by word."""

    provider: Literal["dictionary"]


class LocalModel(TranslatorBlock):
    """A translator on this machine, of transformers' architecture Marian."""

    beams: Count = 4
    """beams of the search"""
    batch_size: Count = 32
    """captions in a batch"""


class MarianProvider(LocalModel):
    """Published models, or models of one's own."""

    provider: Literal["marian"]
    model: PathText
    """a folder or a name on the hub; {source} and {target} stand for the languages"""
    revision: Text | None = None
    """commit or tag of a model on the hub"""
    prefix: str = ""
    """what a multilingual model expects before each caption, such as >>fra<<"""

    def model_of(self, source: str, target: str) -> str:
        """The folder or name of the model of a pair."""
        return self.model.replace("{source}", source).replace("{target}", target)


class TrainedProvider(LocalModel):
    """Translators that this run trains on human translations of captions (translation.translator)."""

    provider: Literal["trained"]

    def with_model(self, folder: str) -> MarianProvider:
        """The provider of a translator in a folder."""
        return MarianProvider(**{**self.as_values(), "provider": "marian"}, model=folder)


class ServiceProvider(TranslatorBlock):
    """A web service. Its keys are read only from environment variables (docs/translation.md)."""

    provider: Literal["google", "deepl", "libre"]
    url: Annotated[str, Field(pattern=r"^https?://[^@?#\s]+$")] | None = None
    """another address of the service, without user, password or key"""
    version: Text | None = None
    """an arbitrary label; a new one translates all captions again"""
    codes: dict[LanguageCode, Text] | None = None
    """the service's codes for languages, if they differ from the known codes"""

    def contradictions(self) -> Iterator[str]:
        if self.provider == "libre" and self.url is None:
            yield ": provider libre needs `url`, the address of your server, such as http://localhost:5000"


Provider = Annotated[
    DictionaryProvider | FilesProvider | MarianProvider | TrainedProvider | ServiceProvider,
    Field(discriminator="provider"),
]


class TranslatorTraining(Block):
    """A small translator, trained on human translations of captions (provider `trained`)."""

    held_out: Literal["run", "test"] = "test"
    """images whose captions it does not learn from: all of the run, or only for validation and testing"""
    vocabulary_size: Count = 5000
    """word pieces of both languages together"""
    size: Count = 160
    """size of a token's hidden state"""
    layers: Count = 3
    """layers of the encoder, and of the decoder"""
    dropout: Fraction = 0.15
    """dropout"""
    batch_size: Count = 128
    """pairs of captions in a batch"""
    steps: Count = 4000
    """optimisation steps of each direction"""
    learning_rate: Rate = 1.0e-3
    """highest learning rate of Adam"""
    validate_every: Count = 250
    """steps between two validations (BLEU)"""
    validation_images: Count = 300
    """images that are neither in the run nor learned from, for validation"""
    seed: Seed = 0
    """seed of weights, order, dropout and validation images"""


class _AnyProvider(Block):
    provider: Provider


class Translation(Block):
    """Providers of translations, and the cache of machine translations."""

    dictionaries: PathText | None = None
    """folder of bilingual dictionaries, en-de.txt; null: MUSE's, downloaded"""
    default: Provider | None = None
    """a provider, such as {provider: google}, or null: only pairs named in translation.pairs are translated
    """
    pairs: dict[PairText, Provider] = Field(default={})
    """a provider for pairs of languages, such as {en-zh: {provider: files, origin: google}}"""
    translator: TranslatorTraining = Field(default_factory=TranslatorTraining)
    """of the provider {provider: trained}"""
    cache: PathText = "work/translations.sqlite"
    """cache of machine translations, shared by all scales"""
    requests_per_second: Rate = 1.0
    """requests to a web service; it changes no translation and reruns nothing"""

    def contradictions(self) -> Iterator[str]:
        marian = self.default
        if isinstance(marian, MarianProvider) and ("{target}" not in marian.model or marian.prefix):
            yield (
                f".default: model {marian.model!r} with prefix {marian.prefix!r} serves one target language "
                "only; write {target} where its code stands, or put the model under translation.pairs"
            )

    def provider_of(self, pair: str) -> Provider | None:
        """The provider that translates a pair; None if none is configured."""
        return self.pairs.get(pair, self.default)

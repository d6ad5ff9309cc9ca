"""Language pairs for which experiments need translations, and the provider of each.

A pair is written `SOURCE-TARGET`, as in `translation.pairs`.
"""

from collections.abc import Iterable, Sequence

from pipeline.common.errors import InputError
from pipeline.settings.configuration import Configuration
from pipeline.words.settings import Captions

CONSISTENCY = ("average", "learned")  # how scores of a query and its translations become one

DatasetPair = tuple[str, str]  # data set, pair of languages

# What a user must have for each provider; the environment variables are deep-translator's.
PROVIDERS = {
    "google": "a web service that needs no key",
    "deepl, libre": "web services; keys in the environment variables DEEPL_API_KEY and LIBRE_API_KEY (any "
    "value if it needs none); libre: `url`",
    "marian": "models on this machine; `model`, a folder or a name on the Hugging Face hub, such as "
    "Helsinki-NLP/opus-mt-{source}-{target}",
    "trained": "a small translator, trained on human translations of captions between English and other "
    "languages",
    "files": "translations that came with the data; `origin`, as in their caption tables",
    "dictionary": "MUSE's dictionaries, downloaded or in the folder `translation.dictionaries`; one language "
    "is English. It translates WORD BY WORD: rows made with it are marked and cannot be compared with the "
    "paper's",
}


def translation_sources(languages: Sequence[str], language: str, captions: Captions) -> list[str]:
    """Languages of a data set that an experiment's training captions in a language are translated from.

    Args:
        languages: the data set's own. captions: the experiment's key.
    """
    others = [code for code in languages if code != language]
    from_others = {
        "human": [],
        "mt": ["en"],
        "human+mt": others if language == "en" else ["en"],
        "augmented": [] if language == "en" else ["en"],
    }
    return [code for code in from_others[captions] if code in others]


def training_pairs(settings: Configuration, dataset: str, name: str) -> list[str]:
    """Pairs whose translations an experiment trains on besides a language's own captions."""
    experiment = settings.experiments_on(dataset)[name]
    languages = settings.datasets[dataset].languages
    return [
        f"{source}-{language}"
        for language in experiment.languages
        if language in languages
        for source in translation_sources(languages, language, experiment.captions)
    ]


def own_pairs(settings: Configuration, dataset: str, name: str) -> list[str]:
    """Pairs whose translations are the only captions of an experiment in a language."""
    languages = settings.datasets[dataset].translated_languages
    return [f"en-{code}" for code in settings.experiments_on(dataset)[name].languages if code in languages]


def translated_origins(settings: Configuration, dataset: str) -> dict[str, str]:
    """The origin of the captions of each translated language; a pair without a provider is left out."""
    data, origins = settings.datasets[dataset], {}
    for code in data.translated_languages:
        if source := data.borrowed_translations.get(code):
            origins[code] = source.origin
        elif provider := settings.translation.provider_of(f"en-{code}"):
            origins[code] = provider.origin
    return origins


def query_pairs(settings: Configuration, dataset: str, name: str) -> list[str]:
    """Pairs by which the data set's other languages become queries of an experiment with one language."""
    (target,) = settings.experiments_on(dataset)[name].languages
    return [f"{code}-{target}" for code in settings.datasets[dataset].languages if code != target]


def evaluation_pairs(settings: Configuration, dataset: str, name: str, queries: str) -> list[str]:
    """Pairs that an evaluation needs; `queries` is original, translated, average or learned."""
    if queries in CONSISTENCY:
        pairs = consistency_pairs(settings, dataset, name)
        pairs_of_queries = [pair for pair in pairs if not via_english(settings, dataset, pair)]
    else:
        pairs_of_queries = query_pairs(settings, dataset, name) if queries == "translated" else []
    return [*own_pairs(settings, dataset, name), *training_pairs(settings, dataset, name), *pairs_of_queries]


def consistency_pairs(settings: Configuration, dataset: str, name: str) -> list[str]:
    """Pairs that translate queries with human captions into the experiment's other languages."""
    languages = settings.experiments_on(dataset)[name].languages
    human = settings.datasets[dataset].human_languages
    return [
        f"{source}-{target}"
        for source in languages
        if source in human
        for target in languages
        if target != source
    ]


def via_english(settings: Configuration, dataset: str, pair: str) -> bool:
    """Whether queries are translated into English first, because no provider translates the pair itself.

    Dictionaries and trained translators have English on one side, and published translations exist for one
    pair.
    """
    if "en" in pair.split("-") or "en" not in settings.datasets[dataset].languages:
        return False
    default = settings.translation.default
    has_provider = pair in settings.translation.pairs
    return not has_provider and default is not None and default.provider in ("dictionary", "trained", "files")


def is_borrowed(settings: Configuration, dataset: str, pair: str) -> bool:
    """Whether a pair's translations are in the captions of another data set, which numbers them otherwise."""
    source, _, target = pair.partition("-")
    return source == "en" and target in settings.datasets[dataset].borrowed_translations


def needs_query_translation(settings: Configuration, dataset: str, pair: str) -> bool:
    """Whether test queries need translations of their own: no model trains on the pair, or it is borrowed."""
    return "en" not in pair.split("-") or is_borrowed(settings, dataset, pair)


def require_providers(settings: Configuration, pairs_of_datasets: Iterable[DatasetPair]) -> None:
    """Check that every pair of languages has a provider.

    Args:
        pairs_of_datasets: data set and pair of all translations that a job and its inputs need.

    Raises:
        InputError: some pair has none; the message lists all providers.
    """
    lacking: dict[str, dict[str, None]] = {}
    for dataset, pair in pairs_of_datasets:
        if not is_borrowed(settings, dataset, pair) and settings.translation.provider_of(pair) is None:
            lacking.setdefault(dataset, {})[pair] = None
    if lacking:
        lines = [
            "Translations are needed between these languages, and the configuration names no provider:",
            *(f"  - {dataset}: {', '.join(pairs)}" for dataset, pairs in lacking.items()),
            "Name a provider in a YAML file, and add --configfile with that file to the command:",
            "  translation: {default: {provider: google}} # the paper's; others in `pairs`",
            *(f"  - {names}: {need}" for names, need in PROVIDERS.items()),
        ]
        raise InputError("\n".join(lines))

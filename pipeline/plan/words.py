"""Vocabularies, word vectors and sentence vectors of an experiment."""

from pipeline.common.errors import InputError
from pipeline.datasets.sources import source_named
from pipeline.plan import paths
from pipeline.plan.captions import coverage_of, tokens
from pipeline.plan.plan import Plan, files_in
from pipeline.plan.sources import FASTTEXT, MUSE
from pipeline.plan.translation import dictionary, translation_tables
from pipeline.settings import stages as stage_settings
from pipeline.settings.translations import translation_sources
from pipeline.words.settings import Captions, WordSettings


def sentences(plan: Plan, dataset: str, language: str) -> list[str]:
    """Tokenised captions of a language, or its translations."""
    return tokens(plan, dataset, [language])


def word_settings(plan: Plan, language: str, kind: str) -> WordSettings:
    """Settings of a language's word vectors: if Multi30K has no text, they are trained on the captions.

    Args:
        kind: `muse/` for MUSE's published vectors, `spelled/` for words' characters, or empty.
    """
    if kind == "spelled/":
        return WordSettings(max_word_length=plan.settings.liwe.max_word_length)
    without_text = language not in source_named("multi30k").caption_files
    trains = plan.settings.words.vectors == "multi30k" and without_text
    return stage_settings.word_settings(plan.settings, "file" if kind else "train" if trains else None)


def word_vectors(plan: Plan, dataset: str, language: str, kind: str) -> list[str]:
    """The vectors of a language; empty if it has only translations to train them on, or words are spelled."""
    if kind == "spelled/":
        return []
    source = word_settings(plan, language, kind).vectors
    if source == "train":
        own = _has_training_captions(plan, dataset, language)
        return [plan.path(paths.CAPTION_VECTORS, dataset=dataset, language=language)] if own else []
    if source == "multi30k":
        return [plan.path(paths.TEXT_VECTORS, language=language)]
    name = (MUSE if kind else FASTTEXT).format(language=language)
    if name not in plan.sources:
        otherwise = "set muse to align" if kind else "set words.vectors to train"
        raise InputError(
            f"workflow/sources.csv has no published vectors {name}. Add them to it, or {otherwise}."
        )
    return [paths.SOURCE_FILE.format(file=name)]


def _has_training_captions(plan: Plan, dataset: str, language: str) -> bool:
    """Whether a language has captions to train on besides translations that an experiment adds."""
    data = plan.datasets[dataset]
    if data.source != "custom" or language not in data.languages:
        return True  # a language with only translations in a data set is trained on them
    return coverage_of(plan, dataset)[language]["train"] > 0


def added_translations(plan: Plan, dataset: str, language: str, captions: Captions) -> list[str]:
    """Translation tables that are added to a language's own training captions."""
    own = plan.datasets[dataset].languages
    if language not in own:
        return []
    sources = translation_sources(own, language, captions)
    return translation_tables(plan, dataset, [f"{source}-{language}" for source in sources])


def english_dictionary(plan: Plan, dataset: str, language: str) -> str:
    """The bilingual dictionary of English and a language."""
    return dictionary(plan, dataset, "en", language)


def mapped_to_english(
    plan: Plan, dataset: str, captions: str, reduction: str, language: str
) -> dict[str, list[str]]:
    """Files that map a language's words to English words, by name; empty for English and other reductions."""
    if language == "en" or not reduction.startswith("dictionary"):
        return {"english": [], "dictionary": []}
    return {
        "english": [plan.path(paths.WORDS, dataset=dataset, captions=captions, language="en")],
        "dictionary": [english_dictionary(plan, dataset, language)],
    }


def selected_files(plan: Plan, dataset: str, experiment: str, name: str) -> list[str]:
    """Files of the captions that an experiment of *Lessons* selects, by language."""
    folder = plan.path(paths.SELECTION, dataset=dataset, experiment=experiment)
    return [f"{folder}/{name.format(code)}" for code in plan.experiment(dataset, experiment).languages]


def vocabularies(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Vocabularies of an experiment's languages, in their order."""
    settings = plan.experiment(dataset, experiment)
    if settings.selection:
        return selected_files(plan, dataset, experiment, "{}.h5")
    return [_vocabulary(plan, dataset, experiment, language) for language in settings.languages]


def _vocabulary(plan: Plan, dataset: str, experiment: str, language: str) -> str:
    settings = plan.experiment(dataset, experiment)
    captions, reduction = settings.captions, settings.reduction
    if reduction:
        whole = reduction.startswith("dictionary") and language == "en"
        pattern = paths.WORDS if whole else paths.REDUCED_WORDS
    elif settings.vectors == "muse":
        # Vectors are aligned to the English vectors, which do not change.
        unchanged = plan.settings.muse == "align" and language == "en"
        pattern = paths.WORDS if unchanged else paths.ALIGNED_WORDS
    else:
        pattern = {"characters": paths.CHARACTERS, "bert": paths.SENTENCE_VECTORS}.get(
            settings.vectors, paths.WORDS
        )
    return plan.path(pattern, dataset=dataset, captions=captions, reduction=reduction, language=language)


def bert_model(plan: Plan, dataset: str) -> str:
    """The folder of the BERT, or its name on the Hugging Face hub."""
    model = plan.settings.bert.model
    return plan.path(paths.BERT, dataset=dataset) if model == "pretrain" else model


def bert_files(plan: Plan, dataset: str) -> list[str]:
    """Files of the BERT: the folder that a rule writes, or the user's files; none for a model on the hub."""
    model = bert_model(plan, dataset)
    return [model] if plan.settings.bert.model == "pretrain" else files_in(model)

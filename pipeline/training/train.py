"""Pretraining and training of one experiment (MULE, "Implementation Details")."""

import copy
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from pipeline import registry as parts
from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write, sha256
from pipeline.common.torch_files import read_torch
from pipeline.datasets.augment import read_added
from pipeline.datasets.origins import count_by_pair, count_origins
from pipeline.datasets.select import training_captions
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.evaluate import mean_recalls
from pipeline.evaluation.inputs import add_features, evaluation_corpus, own_sentences, read_vocabularies
from pipeline.models.losses.triplets import Triplets
from pipeline.models.retrieval_model import RetrievalModel, count_parameters
from pipeline.models.saved import Saved, save_model, vocabulary_digest
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.batches import Sampler, language_groups
from pipeline.training.checkpoint import found_finished, keep_finished
from pipeline.training.loop import Course, Run
from pipeline.training.objective import pretraining_terms, training_terms
from pipeline.training.precision import exact, set_precision
from pipeline.training.watching import Watched
from pipeline.words.corpus import Corpus, LanguageCorpus, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

OTHER_DEVICE = 1.0  # mR by which two devices may differ; what rounding does is far less


@dataclass
class Inputs:
    """Files of one experiment.

    sentences: sentence tables with the data set's own captions. translations: those with translations.
    words: one vocabulary a language. features: image features, None for pretraining.
    pretrained: weights of the universal embedding's layers, None where LP is off; of an embedding of another
    kind, what its own pretraining made.
    """

    sentences: Sequence[Path]
    translations: Sequence[Path]
    words: Sequence[Path]
    features: Path | None = None
    pretrained: Path | None = None

    def fingerprint(self, settings: Mapping[str, Any], code: str) -> str:
        """Digest of all that the weights depend on: settings, the files' bytes, the code."""
        optional = [path for path in (self.features, self.pretrained) if path]
        files = [*self.sentences, *self.translations, *self.words, *optional]
        parts = [json.dumps(settings, sort_keys=True), code, torch.__version__, *map(sha256, files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pretrain(inputs: Inputs, settings: Mapping[str, Any], code: str, checkpoint: Path, output: Path) -> None:
    """Pretrain the linear layers into the universal embedding with word tables frozen (LP)."""
    fingerprint = inputs.fingerprint(settings, code)
    if found_finished(checkpoint, fingerprint, [output]):
        return
    device = prepare(settings)
    vocabularies, corpus, sampler = pretraining_data(inputs, settings)
    corpus = corpus.to(device)
    universal = _universal(vocabularies, settings).to(device)
    universal.pad_to(_longest(corpus))
    for language in universal.languages:
        universal[language].table.requires_grad_(False)
    optimizer = adam(universal.projections(), settings["training"]["learning_rate"])
    triplets = Triplets(**settings["triplets"])
    run = Run(
        model=universal,
        optimizer=optimizer,
        sampler=sampler,
        epochs=settings["training"]["epochs"],
        decay=1.0,
        terms=lambda drawn, done: pretraining_terms(universal, corpus, drawn, triplets),
        after_epoch=lambda epoch: {},
        checkpoint=checkpoint,
        fingerprint=fingerprint,
    )
    run.finish()
    weights = {name: value for name, value in universal.state_dict().items() if ".projection." in name}
    with atomic_write(output) as temporary, open(temporary, "wb") as file:
        torch.save(weights, file)  # given a path, it would write the temporary name into the file
    keep_finished(checkpoint, fingerprint, [output])


def pretraining_data(
    inputs: Inputs, settings: Mapping[str, Any]
) -> tuple[dict[str, Vocabulary], Corpus, Sampler]:
    """Vocabularies, the training corpus without features, and the sampler of its batches."""
    vocabularies = read_vocabularies(inputs.words, settings["languages"])
    own = own_sentences(inputs.sentences, settings)
    sentences = _training_sentences(own, _translations(inputs, settings), settings)
    corpus = _training_corpus(sentences, vocabularies, settings)
    return vocabularies, corpus, _sampler(corpus, own, settings)


def train(
    inputs: Inputs,
    settings: Mapping[str, Any],
    code: str,
    checkpoint: Path,
    curves: Path,
    output: Path,
    events: Path | None = None,
) -> None:
    """Train one experiment, keep the epoch with the best mean mR on validation, write model and curves.

    While it runs, the curves so far stand beside `curves`, and TensorBoard's events in the folder `events`.
    """
    if inputs.features is None:
        raise InputError("Training needs image features; give --features.")
    fingerprint = inputs.fingerprint(settings, code)
    if found_finished(checkpoint, fingerprint, [curves, output]):
        return
    device = prepare(settings, settings["training"]["precision"])
    vocabularies = read_vocabularies(inputs.words, settings["languages"])
    own = own_sentences(inputs.sentences, settings)
    translations = _translations(inputs, settings)
    sentences = _training_sentences(own, translations, settings)
    corpus = _training_corpus(sentences, vocabularies, settings)
    validation = evaluation_corpus(own, vocabularies, settings, "val")
    tested = evaluation_corpus(own, vocabularies, settings, "test")  # hours before it is needed
    for part in (corpus, validation, tested):
        add_features(part, inputs.features, settings)
    captions = {code: count_origins(table, "train", corpus.images) for code, table in sentences.items()}
    made = [*translations, *(own[language] for language in settings.get("translated") or [])]
    translated = count_by_pair(made, "train", corpus.images)
    del sentences, translations, made, tested  # large, and training is long
    corpus, validation = corpus.to(device), validation.to(device)
    model = _made(vocabularies, corpus, inputs.pretrained, settings).to(device)
    _log_sizes(model, corpus, settings)
    optimizer = adam(model.parameters(), settings["training"]["learning_rate"])
    max_norm = settings["training"]["max_grad_norm"]
    kept: dict[str, Any] = {"mean": -1.0}
    course = _course(model, corpus, optimizer, _sampler(corpus, own, settings), settings)
    run = Run(
        model=model,
        optimizer=clipped(optimizer, max_norm) if max_norm else optimizer,
        sampler=course.batches,
        epochs=course.epochs,
        decay=settings["training"]["learning_rate_decay"],
        terms=course.terms,
        after_epoch=lambda epoch: _keep_best(model, validation, kept, epoch, settings),
        checkpoint=checkpoint,
        fingerprint=fingerprint,
        kept=kept,
        watched=Watched(curves, events),
    )
    run.finish()
    model.load_state_dict(kept["weights"])
    on_cpu = _on_cpu(model, validation, kept["validation"])
    digests = {language: vocabulary_digest(part.words) for language, part in vocabularies.items()}
    with atomic_write(curves) as temporary:
        pd.DataFrame(run.curves).to_csv(temporary, index=False)
    run.watched.finished()
    saved = Saved(dict(settings), digests, kept["epoch"], on_cpu, captions, translated)
    save_model(output, model, saved)
    keep_finished(checkpoint, fingerprint, [curves, output])


def _course(
    model: RetrievalModel,
    corpus: Corpus,
    optimizer: torch.optim.Optimizer,
    sampler: Sampler,
    settings: Mapping[str, Any],
) -> Course:
    if other := parts.course(settings):
        course: Course = other.course(model, corpus, optimizer, sampler, settings)
        return course
    epochs = settings["training"]["epochs"]
    return Course(sampler, epochs, lambda drawn, done: training_terms(model, corpus, drawn, settings, done))


def _made(
    vocabularies: Mapping[str, Vocabulary],
    corpus: Corpus,
    pretrained: Path | None,
    settings: Mapping[str, Any],
) -> RetrievalModel:
    """The model before its first step, with what a pretraining made of its embedding."""
    vectors, size = vectors_of(vocabularies), corpus.features.shape[1]
    if encoder := parts.encoder(settings):
        begun: RetrievalModel = encoder.begun(vectors, size, settings)
        return begun
    other = parts.embedding(settings)
    embedding = other.begun(vectors, pretrained, settings) if other else _universal(vocabularies, settings)
    model = RetrievalModel(vectors, size, settings["branches"], settings["model"], embedding)
    for name, loss in parts.losses(settings).items():
        if hasattr(loss, "layers"):
            model.losses[name] = loss.layers(settings)
    model.universal.pad_to(_longest(corpus))
    if pretrained and not other:
        weights = read_torch(pretrained, "a pretrained embedding", "Delete it, then pretrain.")
        _check_pretrained(model, weights, pretrained)
        model.universal.load_state_dict(weights, strict=False)
    return model


def clipped(optimizer: torch.optim.Optimizer, max_norm: float) -> torch.optim.Optimizer:
    """The optimiser, with gradient clipping by total norm before each step."""

    def cut(*_: Any) -> None:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, max_norm)

    optimizer.register_step_pre_hook(cut)
    return optimizer


def _keep_best(
    model: RetrievalModel, validation: Corpus, kept: dict[str, Any], epoch: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    if settings["word_regularizer"]["regularize_toward"] == "previous_epoch":
        model.universal.forget_initial()
    with exact():
        found = mean_recalls(model, validation)
    mean = sum(found.values()) / len(found)
    if mean > kept["mean"]:
        weights = copy.deepcopy(model.state_dict())
        kept.update(mean=mean, epoch=epoch + 1, validation=found, weights=weights)
    return {"val_mR": mean, **{f"val_mR_{language}": value for language, value in found.items()}}


def _on_cpu(model: RetrievalModel, validation: Corpus, before: Mapping[str, float]) -> dict[str, float]:
    """Validation mR of the kept epoch on the CPU, where evaluation will compute it again.

    The model stays there. A GPU rounds otherwise, which can move a query by a rank.

    Raises:
        InputError: the two differ by more than that can.
    """
    cpu = torch.device("cpu")
    found = mean_recalls(model.to(cpu), validation.to(cpu))
    smallest = min(len(set(part.image)) for part in validation.languages.values())  # gallery of a language
    moved = 100 / 6 / smallest  # mR of one image that passes one of the six recalls
    allowed = max(OTHER_DEVICE, 3 * moved)
    for language, value in found.items():
        log.info("%s: validation mR %.2f (while training %.2f)", language, value, before[language])
    raise_together(
        (
            f"{language}: {before[language]:.2f} while training, {value:.2f} on the CPU"
            for language, value in found.items()
            if abs(value - before[language]) > allowed
        ),
        "The GPU and the CPU disagree about the validation mR of the kept epoch, so one of them computes "
        "wrongly. Train with gpu: 0, or with other versions of PyTorch and the driver, and report it:",
    )
    return found


def adam(parameters: Iterable[torch.nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """The optimiser of every training: fused Adam."""
    return torch.optim.Adam(parameters, lr=learning_rate, fused=True)


def prepare(settings: Mapping[str, Any], precision: str = "float32") -> torch.device:
    """Set threads, seed and precision for reproducible results; returns the device, a GPU if there is one."""
    torch.set_num_threads(settings["training"]["threads"])
    torch.manual_seed(settings["seed"])
    if settings["training"]["deterministic"]:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"  # asked for by cuBLAS and cuDNN; no matter on a CPU
        torch.use_deterministic_algorithms(True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    set_precision(precision, device)
    log.info("trains on %s", torch.cuda.get_device_name() if device.type == "cuda" else "the CPU")
    return device


def _translations(inputs: Inputs, settings: Mapping[str, Any]) -> list[pd.DataFrame]:
    """The translations that an experiment trains on; none with human captions."""
    if settings["captions"] == "human":
        return []
    read = read_added if settings["captions"] == "augmented" else read_sentences
    return [table for path in inputs.translations if not (table := read(path)).empty]


def _training_sentences(
    own: Mapping[str, pd.DataFrame], translations: Sequence[pd.DataFrame], settings: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """The sentences of each language that an experiment trains on, all splits."""
    into: dict[str, list[pd.DataFrame]] = {language: [] for language in own}
    for table in translations:
        into[table["language"].iloc[0]].append(table)
    return {
        language: training_captions(table, into[language], settings["captions"])
        for language, table in own.items()
    }


def _training_corpus(
    sentences: Mapping[str, pd.DataFrame],
    vocabularies: Mapping[str, Vocabulary],
    settings: Mapping[str, Any],
) -> Corpus:
    corpus = corpus_of(sentences, vocabularies, settings["max_caption_length"], "train")
    for language, part in corpus.languages.items():
        corpus.languages[language] = _with_known_words(part, language)
    empty = [language for language, part in corpus.languages.items() if not len(part.image)]
    raise_together(
        [
            f"{language!r} has no training captions under captions: {settings['captions']}"
            for language in empty
        ],
        f"{settings['dataset']} {settings['experiment']}: languages without training captions:",
    )
    return corpus


def _with_known_words(part: LanguageCorpus, language: str) -> LanguageCorpus:
    """The sentences that have a word at all: one without has no direction, and its gradient no bound."""
    known = (part.ids[:, 0] != 0).numpy()
    if known.all():
        return part
    log.warning("%s: %d training captions without a known word are left out", language, (~known).sum())
    return part.at(known)


def _sampler(corpus: Corpus, own: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Sampler:
    captioned = {language: set(table["image"]) for language, table in own.items()}
    groups = language_groups(corpus.images, captioned, settings["groups"])
    if len(groups) > 1:
        log.info("images are sampled equally from groups of %s", ", ".join(str(len(rows)) for rows in groups))
    return Sampler(corpus, groups, settings["training"], settings["seed"])


def _longest(corpus: Corpus) -> int:
    """Words of the longest sentence in any language."""
    return max(part.ids.shape[1] for part in corpus.languages.values())


def vectors_of(vocabularies: Mapping[str, Vocabulary]) -> dict[str, torch.Tensor]:
    """Each language's initial vectors, for words with their own; only padding for sentence vectors."""
    own = {
        language: len(part.vectors) - (0 if part.english is None else len(part.english))
        for language, part in vocabularies.items()
    }
    return {
        language: torch.from_numpy(part.vectors[: own[language]] if part.unit == "word" else part.vectors[:1])
        for language, part in vocabularies.items()
    }


def _universal(vocabularies: Mapping[str, Vocabulary], settings: Mapping[str, Any]) -> UniversalEmbedding:
    """The universal embedding of some vocabularies.

    Raises:
        InputError: words are read as English that the settings know nothing of.
    """
    vectors, english = vectors_of(vocabularies), _english(vocabularies)
    if other := parts.reduction(settings):
        embedding: UniversalEmbedding = other.universal_embedding(vectors, english, settings["model"])
        return embedding
    raise_together(
        [f"{language}: {len(rows)} words" for language, rows in english.items() if len(rows)],
        "The vocabularies have words that are read as English, and the settings no `reduction`:",
    )
    return UniversalEmbedding(vectors, settings["model"])


def _english(vocabularies: Mapping[str, Vocabulary]) -> dict[str, torch.Tensor]:
    """For each language the English rows of its words that are read as English; empty where none ever is."""
    if all(part.english is None for part in vocabularies.values()):
        return {}
    nothing = np.empty(0, dtype=np.int64)
    return {
        language: torch.from_numpy(nothing if part.english is None else part.english)
        for language, part in vocabularies.items()
    }


def _check_pretrained(model: RetrievalModel, weights: Mapping[str, torch.Tensor], path: Path) -> None:
    expected = {
        name: tuple(value.shape)
        for name, value in model.universal.state_dict().items()
        if ".projection." in name
    }
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if found != expected:
        raise InputError(
            f"{path}: pretrained layers {found} do not fit the model's {expected}. Pretrain with the same "
            "languages and sizes."
        )


def _log_sizes(model: RetrievalModel, corpus: Corpus, settings: Mapping[str, Any]) -> None:
    captions = ", ".join(f"{language} {len(part.image):,}" for language, part in corpus.languages.items())
    log.info(
        "%s %s seed %d: %s images, captions %s; %s parameters, %s of them in sentence branches",
        settings["dataset"],
        settings["experiment"],
        settings["seed"],
        f"{len(corpus.images):,}",
        captions,
        f"{count_parameters(model):,}",
        f"{count_parameters(model.branches):,}",
    )

"""Training as in *Lessons learned in multilingual grounded language learning*, Section 3 and Figure 2.

One encoder reads the captions of all languages from one word table; each step is one task, and training stops
early. docs/lessons-code.md lists what the public code does differently, each with its setting.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.datasets.origins import count_origins
from pipeline.evaluation.evaluate import mean_recalls
from pipeline.evaluation.inputs import add_features, evaluation_corpus, own_sentences, read_vocabularies
from pipeline.models.losses.ranking import Ranking, ranking_loss
from pipeline.models.retrieval_model import RetrievalModel, count_parameters
from pipeline.models.saved import Saved, save_model, vocabulary_digest
from pipeline.models.similarity import similarities
from pipeline.training.checkpoint import found_finished, keep_finished
from pipeline.training.patience import Patience, PatientRun
from pipeline.training.precision import embedding_precision, exact
from pipeline.training.tasks import Rows, TaskSampler, caption_pairs
from pipeline.training.train import Inputs, adam, clipped, prepare
from pipeline.training.validation_as_public_code import mean_recall_by_fives
from pipeline.words.corpus import Corpus, LanguageCorpus, Sentences, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

RECALLS = 6  # whose sum is the stopping criterion; mR is their mean


def train_multitask(
    inputs: Inputs,
    pairs: Sequence[Path],
    settings: Mapping[str, Any],
    code: str,
    checkpoint: Path,
    curves: Path,
    output: Path,
) -> None:
    """Train one experiment, keep the validation with the highest sum of recalls, write model and curves.

    Args:
        inputs: `sentences`, the captions of each language as `write_selection` wrote them; `words`, the
            union's; `features`.
        pairs: sentence tables whose captions are paired instead of those of `sentences`.
        settings: languages, model, features; `c2c`, whether some steps are of caption pairs;
            `stop_on`, languages whose recalls are summed; `tasks`, as config/schema.yaml says; `training`:
            threads, deterministic, precision.

    Raises:
        InputError: the inputs do not fit one another, or there is nothing to train on.
    """
    assert inputs.features is not None
    every = Inputs([*inputs.sentences, *pairs], [], inputs.words, inputs.features)
    fingerprint = every.fingerprint(settings, code)
    if found_finished(checkpoint, fingerprint, [curves, output]):
        return
    device = prepare(settings, settings["training"]["precision"])
    vocabularies = read_vocabularies(inputs.words, settings["languages"])
    _check_union(vocabularies)
    own = own_sentences(inputs.sentences, settings)
    corpus = corpus_of(own, vocabularies, settings["max_caption_length"], "train")
    validation = evaluation_corpus(own, vocabularies, settings, "val")
    for part in (corpus, validation):
        add_features(part, inputs.features, settings)
    captions, sampler = captions_and_sampler(corpus, _paired(pairs, vocabularies, settings), settings)
    origins = {language: count_origins(table, "train", corpus.images) for language, table in own.items()}
    digests = {language: vocabulary_digest(part.words) for language, part in vocabularies.items()}
    captions, validation, features = captions.to(device), validation.to(device), corpus.features.to(device)
    model = union_model(vocabularies, features.shape[1], settings["model"]).to(device)
    log.info("%s images, %s parameters", f"{len(corpus.images):,}", f"{count_parameters(model):,}")
    divided = _passes_before_division(settings)
    kept: dict[str, Any] = {}
    patience = Patience(settings["lessons"]["patience"], kept)
    drawn: Any = (
        sampler  # which gives what `terms` takes, where MULE's sampler gives several languages' batches
    )
    run = PatientRun(
        model=model,
        optimizer=clipped(
            adam(model.parameters(), settings["lessons"]["learning_rate"]),
            settings["lessons"]["max_grad_norm"],
        ),
        sampler=drawn,
        epochs=max(1, settings["lessons"]["max_steps"] // sampler.steps),
        decay=1.0,
        terms=lambda rows, done: {"ranking": step_loss(model, captions, features, _rows(rows), settings)},
        after_epoch=lambda epoch: _validate(model, validation, patience, epoch, settings),
        checkpoint=checkpoint,
        fingerprint=fingerprint,
        kept=kept,
        divide_learning_rate_every=divided,
    )
    run.finish()
    if divided and len(run.curves) <= divided:
        log.warning("ended after %s passes: the learning rate was never divided", len(run.curves))
    if not kept["stopped"]:
        log.warning("stopped by tasks.most_steps before validation stopped improving")
    model.load_state_dict(kept["weights"])
    # Evaluation computes them again, on a CPU; a GPU rounds otherwise, which can move a query by a rank.
    cpu = torch.device("cpu")
    on_cpu = mean_recalls(model.to(cpu), validation.to(cpu))
    with atomic_write(curves) as temporary:
        pd.DataFrame(run.curves).to_csv(temporary, index=False)
    save_model(output, model, Saved(dict(settings), digests, kept["epoch"], on_cpu, origins, {}))
    keep_finished(checkpoint, fingerprint, [curves, output])


def _passes_before_division(settings: Mapping[str, Any]) -> int | None:
    """Passes after which the learning rate is divided; validations are passes in models of one language."""
    divided: int | None = settings["lessons"]["divide_learning_rate_every"]
    if divided and len(settings["languages"]) > 1:
        raise InputError(
            "tasks.divide_learning_rate_every counts passes, after which models of one language alone are "
            f"validated; found {divided} with {', '.join(settings['languages'])}; set it to null"
        )
    return divided


def union_model(
    vocabularies: Mapping[str, Vocabulary], feature_size: int, model: Mapping[str, Any]
) -> RetrievalModel:
    """A model whose languages share the sentence branch and one word table.

    "We use a single word embedding matrix containing the union of all words in all considered languages."
    """
    vectors = {language: torch.from_numpy(part.vectors) for language, part in vocabularies.items()}
    made = RetrievalModel(vectors, feature_size, "shared", model)
    first, *others = made.languages
    for language in others:
        made.universal[language].table = made.universal[first].table
    return made


def step_loss(
    model: RetrievalModel, captions: LanguageCorpus, features: Tensor, rows: Rows, settings: Mapping[str, Any]
) -> Tensor:
    """The ranking loss of a step (*Lessons*, Section 3): its task follows from the type of `rows`.

    What belongs together are places of the batch: another caption of the same image is a negative, as are its
    other captions' images.

    Args:
        captions: of all languages, one after another, with the row of each one's image.
        features: (n, D) of the images. rows: (B,) captions, or (B, 2) pairs of them.
        settings: `tasks`: margin, hinge, lengths_in_pairs; `training`: precision.
    """
    tasks = settings["lessons"]
    with embedding_precision(settings["training"]["precision"], features.device):
        if rows.ndim == 1:
            first = _embedded(model, captions.take(rows))
            images = to_device(torch.from_numpy(captions.image[rows]), features.device)
            second = model.embed_images(features[images])
        else:
            sides = [captions.take(rows[:, side]) for side in (0, 1)]
            if tasks["lengths_in_pairs"] == "reversed":
                sides = [with_reversed_lengths(side) for side in sides]
            first, second = (_embedded(model, side) for side in sides)
    ranking = Ranking(tasks["margin"], tasks["hinge"], caption_caption=0.0, similarity=model.similarity)
    similarity = similarities(first, second, model.similarity)
    return ranking_loss(similarity, torch.eye(len(rows), dtype=torch.bool), ranking)


def with_reversed_lengths(sentences: Sentences) -> Sentences:
    """Captions as in the c2c batches of the public code: lengths in reversed order.

    It sorts them by ascending length but passes their lengths in descending order, so that long captions are
    truncated and short ones are read into their padding.
    """
    order = sentences.lengths.argsort(stable=True)
    lengths = torch.empty_like(sentences.lengths)
    lengths[order] = sentences.lengths[order].flip(0)
    return Sentences(sentences.ids, lengths)


def captions_and_sampler(
    corpus: Corpus, paired: Corpus | None, settings: Mapping[str, Any]
) -> tuple[LanguageCorpus, TaskSampler]:
    """The concatenated training captions of all languages, and the sampler of their rows.

    Args:
        paired: whose captions are paired, instead of the corpus' own. settings: `c2c`, `tasks`, `seed`.
    """
    parts = list(corpus.languages.values())
    firsts = _firsts(parts)
    rows = [first + np.arange(len(part.image)) for first, part in zip(firsts, parts, strict=True)]
    captions, pairs = parts, None
    if settings["c2c"]:
        of_pairs = parts if paired is None else list(paired.languages.values())
        begin = firsts if paired is None else [first + sum(map(_size, parts)) for first in _firsts(of_pairs)]
        pairs = caption_pairs([part.image for part in of_pairs], begin)
        captions = parts if paired is None else [*parts, *of_pairs]
        log.info("%s pairs of captions", f"{len(pairs):,}")
    tasks = settings["lessons"]
    # "In the monolingual setting the stopping criterion is evaluated at the end of each epoch".
    steps = tasks["validate_every"] if len(parts) > 1 else None
    sampler = TaskSampler(
        rows, pairs, tasks["batch_size"], tasks["pair_step_probability"], steps, settings["seed"]
    )
    return _one_after_another(captions), sampler


def _rows(drawn: Any) -> Rows:
    rows: Rows = drawn
    return rows


def _size(part: LanguageCorpus) -> int:
    return len(part.image)


def _firsts(parts: Sequence[LanguageCorpus]) -> list[int]:
    """The row of each part's first caption, where they stand one after another."""
    return [sum(map(_size, parts[:place])) for place in range(len(parts))]


def _one_after_another(parts: Sequence[LanguageCorpus]) -> LanguageCorpus:
    widest = max(part.ids.shape[1] for part in parts)
    ids = [functional.pad(part.ids, (0, widest - part.ids.shape[1])) for part in parts]
    image = np.concatenate([part.image for part in parts])
    return LanguageCorpus(torch.cat(ids), torch.cat([part.lengths for part in parts]), image)


def _embedded(model: RetrievalModel, sentences: Sentences) -> Tensor:
    """(B, e) unit vectors of captions of any languages: all are read from one table by one branch."""
    language = model.languages[0]
    return model.embed_sentences({language: sentences})[language].multimodal


def _paired(
    paths: Sequence[Path], vocabularies: Mapping[str, Vocabulary], settings: Mapping[str, Any]
) -> Corpus | None:
    if not paths:
        return None
    return corpus_of(own_sentences(paths, settings), vocabularies, settings["max_caption_length"], "train")


def _check_union(vocabularies: Mapping[str, Vocabulary]) -> None:
    (first, words), *others = ((language, part.words) for language, part in vocabularies.items())
    raise_together(
        [f"{language}: has other words than {first}" for language, found in others if found != words],
        "The languages of an experiment have one word table; run `python -m pipeline select-captions` again:",
    )


def _validate(
    model: RetrievalModel, validation: Corpus, patience: Patience, epoch: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    with exact():
        found = mean_recalls(model, validation)
        scores = found
        if settings["lessons"]["validated_as"] == "five_captions":
            scores = {code: mean_recall_by_fives(model, validation, code) for code in settings["stop_on"]}
    score = RECALLS * sum(scores[language] for language in settings["stop_on"])
    patience.see(epoch, score, model)
    rows = {"val_sum": score, "val_mR": sum(found.values()) / len(found)}
    return {**rows, **{f"val_mR_{language}": value for language, value in found.items()}}

"""A second reading of how *Lessons* trains (Kadar et al. 2018, Section 3, Figure 2; docs/lessons-code.md).

It imports nothing of the project. Handed over are the weights that training begins with, and each step's
batch: rows of captions of one language, or pairs of rows (c2c). `check_tasks` says which may be drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
import reading
import torch
from reading import Adam, Row, Settings, Split, Trained, Weights
from torch import Tensor

Caption = tuple[int, list[int]]  # row of its image, word ids


def with_markers(rows: Sequence[Row]) -> list[Row]:
    """<start> and <end> around each caption."""
    return [{**row, "tokens": " ".join(["<start>", *row["tokens"].split(), "<end>"])} for row in rows]


def caption_pairs(sentences: Mapping[str, Sequence[Caption]], begin: int) -> set[tuple[int, int]]:
    """All pairs of captions of two different languages of an image, as rows from `begin` on."""
    first, place = {}, begin
    for code, of in sentences.items():
        first[code], place = place, place + len(of)
    return {
        (first[one] + row, first[two] + other)
        for one, two in combinations(sentences, 2)
        for row, (image, _) in enumerate(sentences[one])
        for other, (same, _) in enumerate(sentences[two])
        if image == same
    }


def check_tasks(
    epochs: Sequence[Sequence[np.ndarray]],
    sentences: Mapping[str, Sequence[Caption]],
    pairs: set[tuple[int, int]],
    settings: Settings,
) -> None:
    """Assert that each data set is gone through, then again in another order, and that all tasks occur."""
    size = settings["tasks"]["batch"]
    given: dict[str, list[list[Any]]] = {}
    sets: dict[str, set[object]] = {"c2c": set(pairs)} if settings["c2c"] else {}
    begin = 0
    for code, of in sentences.items():
        sets[code], begin = set(range(begin, begin + len(of))), begin + len(of)
    for batch in (batch for epoch in epochs for batch in epoch):
        drawn = [tuple(row) for row in batch.tolist()] if batch.ndim == 2 else batch.tolist()
        (name,) = [name for name, of in sets.items() if drawn[0] in of]
        given.setdefault(name, []).append(drawn)
    assert set(given) == set(sets)
    for name, batches in given.items():
        each = -(-len(sets[name]) // size)
        passes = [batches[start : start + each] for start in range(0, len(batches), each)]
        orders = [list(chain.from_iterable(one)) for one in passes]
        for number, order in enumerate(orders):
            whole = (number + 1) * each <= len(batches)
            assert len(order) == len(set(order)) <= len(sets[name])
            assert set(order) <= sets[name] and (not whole or set(order) == sets[name])
        assert len({tuple(order) for order in orders}) == len(orders)


def embed_captions(
    weights: Weights, settings: Settings, captions: Sequence[Caption], lengths: Sequence[int] | None = None
) -> Tensor:
    """Unit vectors (B, e): the words of all languages stand in one table, which one GRU reads.

    lengths: how many words are read of each, where not all: beyond its last one a caption is padding.
    """
    code = settings["languages"][0]
    ids = [of for _, of in captions]
    if lengths is not None:
        ids = [(of + [0] * length)[:length] for of, length in zip(ids, lengths, strict=True)]
    return reading.embed_sentences(weights, settings, {code: ids}, training=True)[code][1]


def reversed_lengths(captions: Sequence[Caption]) -> list[int]:
    """The public code's c2c batches: captions by rising length, lengths by falling."""
    rising = sorted(range(len(captions)), key=lambda place: len(captions[place][1]))
    lengths = sorted((len(of) for _, of in captions), reverse=True)
    return [lengths[rising.index(place)] for place in range(len(captions))]


def step_loss(
    weights: Weights, captions: Sequence[Caption], features: Tensor, rows: np.ndarray, settings: Settings
) -> Tensor:
    """Ranking loss of a batch, where only what stands at the same place belongs together."""
    drawn = torch.as_tensor(rows).T.tolist() if rows.ndim == 2 else [rows.tolist()]
    sides = [[captions[row] for row in side] for side in drawn]
    if len(sides) == 2:
        wrong = settings["tasks"]["lengths_in_pairs"] == "reversed"
        first, second = (
            embed_captions(weights, settings, side, reversed_lengths(side) if wrong else None)
            for side in sides
        )
    else:
        first = embed_captions(weights, settings, sides[0])
        shown = features[[image for image, _ in sides[0]]]
        second = reading.embed_images(weights, settings, shown, None)
    place = torch.arange(len(rows))
    how = {"model": settings["model"], "ranking": settings["tasks"]}
    return reading.ranked(first, place, second, place, how)


def trained(
    weights: Weights,
    split: Split,
    captions: Sequence[Caption],
    validation: Split,
    epochs: Sequence[Sequence[np.ndarray]],
    settings: Settings,
) -> Trained:
    """Adam until the sum of recalls on validation has not risen for so many validations.

    The public code's learning rate in models of one language: the initial one times 0.1 ** (epoch // 15),
    with epochs counted from 0; 15 is `divide_learning_rate_every`.

    captions: of all languages, one after another, and after them those whose pairs are of other captions.
    """
    tasks, weights, adam = settings["tasks"], dict(weights), Adam()
    names, best, waited, found = reading.trainable(weights), -1.0, 0, Trained([], {}, 0, {})
    first, *others = settings["languages"]
    names = [name for name in names if name not in {f"universal.{code}.table.weight" for code in others}]
    for epoch, batches in enumerate(epochs):
        assert waited < tasks["patience"]
        sums: dict[str, float] = {}
        each = tasks["divide_learning_rate_every"]
        rate = tasks["learning_rate"] * 0.1 ** (epoch // each if each else 0)
        for rows in batches:
            loss = step_loss(weights, captions, split.features, rows, settings)
            reading.add_up(sums, {"ranking": loss})
            gradients = reading.gradients_of(loss, weights, names, padding_learns=False)
            adam.step(weights, reading.cut(gradients, tasks["max_grad_norm"]), rate)
            for code in others:  # one table for all
                weights[f"universal.{code}.table.weight"] = weights[f"universal.{first}.table.weight"]
        recalls = {
            code: reading.recalls_of(*reading.ranks_of(weights, settings, validation, code))["mR"]
            for code in settings["languages"]
        }
        scores = recalls
        if tasks["validated_as"] == "five_captions":
            scores = {code: by_fives(weights, settings, validation, code) for code in recalls}
        score = 6 * sum(scores[code] for code in settings["stop_on"])
        found.curves.append({**reading.curve(epoch, recalls, sums, len(batches)), "val_sum": score})
        found.ended = {name: value.detach().clone() for name, value in weights.items()}
        waited += 1
        if score > best:
            best, waited, found.epoch, found.kept = score, 0, epoch + 1, dict(found.ended)
    assert waited == tasks["patience"] or len(epochs) == max(1, tasks["most_steps"] // len(epochs[0]))
    return found


@torch.no_grad()
def by_fives(weights: Weights, settings: Settings, split: Split, language: str) -> float:
    """mR where five captions in a row are taken for the first one's image."""
    whole = len(split.sentences[language]) // 5
    captions = split.sentences[language][: 5 * whole]
    shown = split.features[[image for image, _ in captions[::5]]]
    sentences = embed_captions(weights, settings, captions)
    near = sentences @ reading.embed_images(weights, settings, shown, None).T
    return reading.recalls_of(*reading.ranks_among(near, torch.arange(whole).repeat_interleave(5)))["mR"]

"""A second reading of the papers, from captions and features to recalls, which the project must agree with.

It imports nothing of the project. Everything is float64 and written out, but for gradients, which are
autograd's. Sections are those of MULE (AAAI 2020); what the papers leave open is as docs/decisions.md has it.
Three things are random and are handed over instead of read again: which batches were drawn, the weights that
training begins with, and the units that dropout keeps. `check_epoch` says which batches may be drawn at all.

Sizes in comments: n images and B sentences of a batch, W words, d universal size, e multimodal size.
"""

import copy
import csv
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import Tensor

Row = dict[str, str]
Settings = Mapping[str, Any]
Weights = dict[str, Tensor]  # by their names in the model file
Sentences = Mapping[str, list[list[int]]]  # word ids by language
Words = Callable[[Weights, Settings, str, list[list[int]]], tuple[Tensor, Tensor, Tensor]]


@dataclass
class Split:
    """The images of a split, sorted by id, their features (n, D), and each language's sentences by image.

    sentences: (row of the image, word ids) of each, in the files' order within an image.
    """

    images: list[str]
    features: Tensor
    sentences: dict[str, list[tuple[int, list[int]]]]


@dataclass
class Batch:
    """images: (n,) rows. rows: sentences' rows by language. slots: places of their images in the batch."""

    images: list[int]
    rows: dict[str, list[int]]
    slots: dict[str, list[int]]


# --- Captions, words, features ("Datasets", "Leveraging Machine Translations")


def read_rows(paths: Iterable[Path]) -> list[Row]:
    rows: list[Row] = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows.extend(csv.DictReader(file))
    return rows


def own_captions(rows: Sequence[Row], language: str, origin: str) -> list[Row]:
    """A language's own captions; people's translations only where people wrote none anew."""
    chosen = [row for row in rows if row["language"] == language and row["origin"] == origin]
    return [row for row in chosen if not row["source_language"]] or chosen


def training_captions(own: list[Row], translated: list[Row], captions: str) -> list[Row]:
    """Table 4, "Training Data Source": own captions, translations where there are any, or both.

    Those that augment are both too; which translations they have was chosen before.
    """
    if captions == "human" or not translated:
        return own
    return translated if captions == "mt" else own + translated


def read_words(path: Path) -> tuple[dict[str, int], Tensor]:
    """Word -> row of the table from 1, and the initial vectors; row 0 is padding."""
    with h5py.File(path) as file:
        words = file["words"].asstr()[:]
        return {word: row for row, word in enumerate(words) if row}, torch.tensor(file["vectors"][:]).double()


def read_features(path: Path) -> dict[str, list[float]]:
    """Features by image; images that failed to decode are marked 2 and have none."""
    with h5py.File(path) as file:
        stored = zip(file["image"].asstr()[:], file["features"][:], file["done"][:], strict=True)
        return {image: vector.tolist() for image, vector, done in stored if done != 2}


def word_ids(tokens: str, index: Mapping[str, int], longest: int) -> list[int]:
    """Known words, at most the first `longest` of them; a caption without any is one padding word."""
    return [index[word] for word in tokens.split() if word in index][:longest] or [0]


def split_of(
    captions: Mapping[str, Sequence[Row]],
    words: Mapping[str, Mapping[str, int]],
    features: Mapping[str, list[float]] | None,
    split: str,
    longest: int,
) -> Split:
    """One split; an image whose features failed leaves it with its captions. Pretraining has no features.

    A caption without a known word is a query, but nothing to train on.
    """
    kept = {
        language: [
            row for row in rows if row["split"] == split and (features is None or row["image"] in features)
        ]
        for language, rows in captions.items()
    }
    images = sorted({row["image"] for rows in kept.values() for row in rows})
    sentences = {
        language: sorted(
            (
                (images.index(row["image"]), ids)
                for row in rows
                if (ids := word_ids(row["tokens"], words[language], longest)) != [0] or split != "train"
            ),
            key=lambda sentence: sentence[0],
        )
        for language, rows in kept.items()
    }
    vectors = [features[image] if features else [] for image in images]
    return Split(images, torch.tensor(vectors, dtype=torch.double), sentences)


# --- Batches (supplement, "Minibatch Construction")


def steps_of(split: Split, training: Settings) -> int:
    """Batches an epoch: a pass over the sentences of the language with most of them, or over the images."""
    sentences = max(len(of_language) for of_language in split.sentences.values())
    total = sentences if training["epoch_unit"] == "sentences" else len(split.images)
    return max(1, total // min(training["batch_images"], len(split.images)))


def check_epoch(batches: Sequence[Batch], split: Split, training: Settings) -> None:
    """Assert that batches are of different images, drawn alike often, with the right number of sentences.

    A batch that begins another pass over the images may draw one twice, and then shows it once.
    """
    size, total = min(training["batch_images"], len(split.images)), len(split.images)
    assert len(batches) == steps_of(split, training)
    for step, batch in enumerate(batches):
        check_sentences(batch, split, training)
        if training["images_in_batch"] == "distinct":
            first, last = step * size, (step + 1) * size - 1
            assert len(set(batch.images)) == len(batch.images) <= size
            assert len(batch.images) == size or first // total < last // total
    shown = np.bincount([image for batch in batches for image in batch.images], minlength=total)
    if training["images_in_batch"] == "distinct":
        assert (
            len(batches) * size // total - 1 <= shown.min() <= shown.max() <= -(-len(batches) * size // total)
        )


def check_sentences(batch: Batch, split: Split, training: Settings) -> None:
    """Two sentences an image, one where most images have no second; an image with too few repeats them."""
    for language, sentences in split.sentences.items():
        of_image: dict[int, list[int]] = {}
        for row, (image, _) in enumerate(sentences):
            of_image.setdefault(image, []).append(row)
        each, usual = training["sentences_per_image"], int(statistics.median(map(len, of_image.values())))
        each = each if training["repeat_captions"] else min(each, usual)
        captioned = [slot for slot, image in enumerate(batch.images) if image in of_image]
        assert batch.slots[language] == [slot for slot in captioned for _ in range(each)]
        for place, slot in enumerate(captioned):
            drawn, own = batch.rows[language][place * each :][:each], of_image[batch.images[slot]]
            assert set(drawn) <= set(own)
            assert len(set(drawn)) == min(each, len(own))


# --- The model (Figure 2, "Implementation Details")


def unit(vectors: Tensor) -> Tensor:
    return vectors / vectors.square().sum(1, keepdim=True).sqrt()


def linear(weights: Weights, name: str, vectors: Tensor) -> Tensor:
    return vectors @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def batch_norm(weights: Weights, name: str, vectors: Tensor, training: bool, momentum: float) -> Tensor:
    """Ioffe and Szegedy (2015): the batch's statistics, and their running means for evaluation."""
    mean, variance = weights[f"{name}.running_mean"], weights[f"{name}.running_var"]
    if training:
        count = len(vectors)
        now = vectors.mean(0), (vectors - vectors.mean(0)).square().mean(0)
        with torch.no_grad():
            weights[f"{name}.running_mean"] = (1 - momentum) * mean + momentum * now[0]
            weights[f"{name}.running_var"] = (1 - momentum) * variance + momentum * now[1] * count / (
                count - 1
            )
            weights[f"{name}.num_batches_tracked"] = weights[f"{name}.num_batches_tracked"] + 1
        mean, variance = now
    return weights[f"{name}.weight"] * (vectors - mean) / (variance + 1e-5).sqrt() + weights[f"{name}.bias"]


def lstm(weights: Weights, name: str, words: Tensor, lengths: Tensor) -> Tensor:
    """Last states (B, h) over words (B, W, d); rows of the weights: input, forget, cell, output gate."""
    state = cell = words.new_zeros(len(words), weights[f"{name}.weight_hh_l0"].shape[1])
    for time in range(words.shape[1]):
        gates = words[:, time] @ weights[f"{name}.weight_ih_l0"].T + weights[f"{name}.bias_ih_l0"]
        gates = gates + state @ weights[f"{name}.weight_hh_l0"].T + weights[f"{name}.bias_hh_l0"]
        enter, forget, new, out = gates.chunk(4, 1)
        now = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        goes_on = (time < lengths)[:, None]
        cell, state = torch.where(goes_on, now, cell), torch.where(goes_on, out.sigmoid() * now.tanh(), state)
    return state


def gru(weights: Weights, name: str, words: Tensor, lengths: Tensor, reset_before: bool) -> Tensor:
    """The same of a GRU: reset, keep, new. Cho et al. (2014) reset before the product, PyTorch after it."""
    recurrent = weights[f"{name}.weight_hh_l0"]
    size = recurrent.shape[1]
    bias = weights.get(f"{name}.bias_hh_l0", torch.zeros(3 * size, dtype=torch.double))
    state = words.new_zeros(len(words), size)
    for time in range(words.shape[1]):
        given = words[:, time] @ weights[f"{name}.weight_ih_l0"].T + weights[f"{name}.bias_ih_l0"]
        before = state @ recurrent.T + bias
        reset = (given[:, :size] + before[:, :size]).sigmoid()
        keep = (given[:, size : 2 * size] + before[:, size : 2 * size]).sigmoid()
        own = (reset * state) @ recurrent[2 * size :].T if reset_before else reset * before[:, 2 * size :]
        now = keep * state + (1 - keep) * (given[:, 2 * size :] + own).tanh()
        state = torch.where((time < lengths)[:, None], now, state)
    return state


def universal_words(
    weights: Weights, model: Settings, language: str, sentences: list[list[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Universal word vectors (B, W, d), word counts (B,), and a sentence's mean over its words (B, d).

    In the authors' code the mean runs over a row as long as the longest sentence for training, and padding
    learns. VSE has no universal embedding: its words are read as they are.
    """
    name, embn = f"universal.{language}", model["encoder"] == "embn"
    lengths = torch.tensor([len(ids) for ids in sentences])
    longest = int(lengths.max())
    padded = torch.tensor([ids + [0] * (longest - len(ids)) for ids in sentences])  # (B, W)
    vectors = weights[f"{name}.table.weight"][padded]
    words = linear(weights, f"{name}.projection", vectors) if embn else vectors
    real = (torch.arange(longest) < lengths[:, None])[:, :, None]
    total, count = (words * real).sum(1), lengths[:, None]
    if model["universal_mean"] == "padded":
        padding = linear(weights, f"{name}.projection", weights[f"{name}.table.weight"][:1])
        spare = (int(weights["universal.padded_to"]) - count).clamp(min=0)
        total, count = total + spare * padding, count + spare
    return words, lengths, total / count


def embed_sentences(
    weights: Weights,
    settings: Settings,
    sentences: Sentences,
    training: bool,
    words_of: Words = universal_words,
) -> dict[str, tuple[Tensor, Tensor]]:
    """u (B, d) and s (B, e) of each language's sentences.

    u is the mean of a sentence's universal word vectors, s what the sentence branch makes of them: its last
    hidden state and a linear layer. VSE has no linear layer.

    Args:
        words_of: how words become vectors.
    """
    model = settings["model"]
    means, multimodal = {}, {}
    for language, of_language in sentences.items():
        words, lengths, means[language] = words_of(weights, model, language, of_language)
        if model["recurrent"] != "mean":
            branch = f"branches.{'shared' if settings['branches'] == 'shared' else language}"
            state = last_state(weights, f"{branch}.recurrent", words, lengths, model["recurrent"])
            embedded = linear(weights, f"{branch}.projection", state) if model["encoder"] == "embn" else state
            multimodal[language] = unit(embedded)
    if model["recurrent"] == "mean":
        multimodal = mean_branch(weights, means, training, model["batch_norm_momentum"])
    if model["similarity"] == "order":
        multimodal = {language: vectors.abs() for language, vectors in multimodal.items()}
    return {language: (unit(means[language]), multimodal[language]) for language in sentences}


def last_state(weights: Weights, name: str, words: Tensor, lengths: Tensor, kind: str) -> Tensor:
    if kind == "lstm":
        return lstm(weights, name, words, lengths)
    return gru(weights, name, words, lengths, kind == "gru_reset_before")


def mean_branch(
    weights: Weights, means: dict[str, Tensor], training: bool, momentum: float
) -> dict[str, Tensor]:
    """Without recurrence: batch norm over the sentences of all languages, linear layer, L2."""
    normed = batch_norm(weights, "branches.shared.norm", torch.cat(list(means.values())), training, momentum)
    rows = unit(linear(weights, "branches.shared.projection", normed)).split([len(m) for m in means.values()])
    return dict(zip(means, rows, strict=True))


def embed_images(weights: Weights, settings: Settings, features: Tensor, kept: Tensor | None) -> Tensor:
    """f (n, e): two fully connected layers "separated with a ReLU non-linearity and use batch normalization".

    kept: (n, hidden), the units that dropout keeps while training; None in evaluation. VSE has one layer.
    """
    model = settings["model"]
    if model["encoder"] == "vse":
        embedded = unit(linear(weights, "image_branch.layers.0", unit(features)))
        return embedded.abs() if model["similarity"] == "order" else embedded
    hidden = linear(weights, "image_branch.layers.0", features)
    normed = batch_norm(
        weights, "image_branch.layers.1", hidden, kept is not None, model["batch_norm_momentum"]
    )
    active = normed.clamp(min=0)
    if kept is not None:
        active = active * kept / (1 - model["dropout"])
    return unit(linear(weights, "image_branch.layers.4", active))


# --- Losses (Equations 1 to 4)


def distance(first: Tensor, second: Tensor, kind: str) -> Tensor:
    """Of every vector of the first to every one of the second."""
    if kind == "cosine":
        return 1 - first @ second.T
    return ((first[:, None] - second[None]).square().sum(-1) + 1e-4).sqrt()


def hardest(violations: Tensor, negative: Tensor, count: int) -> Tensor:
    """Mean over anchors of the `count` most violated of the constraints with a negative; zeros count."""
    count = min(count, int(negative.sum(1).min()))
    return violations.masked_fill(~negative, -torch.inf).topk(count, 1).values.clamp(min=0).mean()


def aligned(
    first: Tensor, first_slots: Tensor, second: Tensor, second_slots: Tensor, triplets: Settings
) -> Tensor:
    """Each sentence of the first is nearer to its image's farthest sentence of the second than to others'."""
    found = distance(first, second, triplets["distance"])
    own = first_slots[:, None] == second_slots
    farthest = found.masked_fill(~own, -torch.inf).amax(1, keepdim=True)
    return hardest(triplets["margin"] + farthest - found, ~own, triplets["num_hard_negatives"])


def matching(images: Tensor, sentences: Tensor, slots: Tensor, settings: Settings) -> Tensor:
    """Equation 3 of one language, and Wang et al.'s (2019) constraint between an image's sentences."""
    triplets, weights = settings["triplets"], settings["matching"]
    found = distance(sentences, images, triplets["distance"])  # (B, n)
    positive = found.gather(1, slots[:, None])  # (B, 1)
    other_image = slots[:, None] != torch.arange(len(images))
    image_term = hardest(triplets["margin"] + positive - found, other_image, triplets["num_hard_negatives"])
    from_image = found[:, slots].T  # (B, B): of each sentence's image to every sentence
    other_sentence = slots[:, None] != slots
    sentence_term = hardest(
        triplets["margin"] + positive - from_image, other_sentence, triplets["num_hard_negatives"]
    )
    sentence_only = aligned(sentences, slots, sentences, slots, triplets)
    return (
        weights["image"] * image_term
        + weights["sentence"] * sentence_term
        + weights["sentence_only"] * sentence_only
    )


def neighbourhood(vectors: Mapping[str, Tensor], slots: Mapping[str, Tensor], triplets: Settings) -> Tensor:
    """Equation 1 on one layer: mean over pairs of languages; anchors are sentences whose image has both."""
    losses = []
    for first, second in combinations(vectors, 2):
        both = torch.isin(slots[first], slots[second])
        if both.any():
            anchors, places = vectors[first][both], slots[first][both]
            losses.append(aligned(anchors, places, vectors[second], slots[second], triplets))
    return torch.stack(losses).mean()


def classified(
    weights: Weights, universal: Mapping[str, Tensor], settings: Settings
) -> tuple[Tensor, Tensor]:
    """Equation 2 for the classifier, which minimises it, and for all else, which maximises it (Eq. 4)."""

    labels = [[settings["languages"].index(language)] for language, part in universal.items() for _ in part]

    def loss(vectors: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return -(vectors @ weight.T + bias).log_softmax(1).gather(1, torch.tensor(labels)).mean()

    vectors = torch.cat(list(universal.values()))
    weight, bias = weights["classifier.weight"], weights["classifier.bias"]
    return loss(vectors.detach(), weight, bias), loss(vectors, weight.detach(), bias.detach())


def similarity(captions: Tensor, images: Tensor, kind: str) -> Tensor:
    """Cosine, or how far a caption is from standing above an image (Vendrov et al. 2016, Equation 2)."""
    if kind == "cosine":
        return captions @ images.T
    return -(captions[:, None] - images[None]).clamp(min=0).square().sum(-1)


def ranked(
    first: Tensor, first_slots: Tensor, second: Tensor, second_slots: Tensor, settings: Settings
) -> Tensor:
    """*Lessons*, Section 3: sum over pairs, in both directions, of all their hinges or of the worst one."""
    found = similarity(first, second, settings["model"]["similarity"])
    total = found.new_zeros(())
    for matrix, own in (
        (found, first_slots[:, None] == second_slots),
        (found.T, second_slots[:, None] == first_slots),
    ):
        for row, column in own.nonzero().tolist():
            hinges = (settings["ranking"]["margin"] - matrix[row, column] + matrix[row][~own[row]]).clamp(
                min=0
            )
            total = total + (hinges.sum() if settings["ranking"]["hinge"] == "sum" else hinges.max())
    return total


def losses_of(
    weights: Weights,
    first: Weights,
    split: Split,
    batch: Batch,
    kept: Tensor | None,
    settings: Settings,
    done: float,
) -> tuple[dict[str, Tensor], Tensor]:
    """The weighted terms by name, and what is minimised: their sum, but for the classifier's sign.

    Args:
        first: the word tables E0 that training should not forget. done: share of the training that is done.
    """
    embedded = embed_sentences(weights, settings, drawn_sentences(split, batch), training=True)
    images = embed_images(weights, settings, split.features[batch.images], kept)
    return terms_of(weights, first, embedded, images, slots_of(batch), settings, done)


def drawn_sentences(split: Split, batch: Batch) -> dict[str, list[list[int]]]:
    return {
        language: [split.sentences[language][row][1] for row in rows] for language, rows in batch.rows.items()
    }


def slots_of(batch: Batch) -> dict[str, Tensor]:
    return {language: torch.tensor(places) for language, places in batch.slots.items()}


def terms_of(
    weights: Weights,
    first: Weights,
    embedded: Mapping[str, tuple[Tensor, Tensor]],
    images: Tensor,
    slots: Mapping[str, Tensor],
    settings: Settings,
    done: float,
) -> tuple[dict[str, Tensor], Tensor]:
    """The same of a batch's embeddings."""
    universal = {language: u for language, (u, _) in embedded.items()}
    multimodal = {language: s for language, (_, s) in embedded.items()}
    if settings["ranking"]:
        every = torch.arange(len(images))
        each = [ranked(multimodal[code], slots[code], images, every, settings) for code in multimodal]
        terms = {"caption_image": torch.stack(each).sum()}
        if settings["ranking"]["caption_caption"]:
            pairs = [
                ranked(multimodal[one], slots[one], multimodal[two], slots[two], settings)
                for one, two in combinations(multimodal, 2)
            ]
            terms["caption_caption"] = settings["ranking"]["caption_caption"] * torch.stack(pairs).sum()
    else:
        each = [matching(images, multimodal[code], slots[code], settings) for code in multimodal]
        terms = {"matching": torch.stack(each).mean()}
    if settings["neighborhood"]:
        layers = [neighbourhood(layer, slots, settings["triplets"]) for layer in (multimodal, universal)]
        terms["neighborhood"] = settings["neighborhood"]["weight"] * torch.stack(layers).sum()
    drift = [
        0.5 * (weights[f"universal.{code}.table.weight"] - first[code]).square().sum()
        for code in settings["languages"]
    ]
    terms["words"] = settings["words"]["regularization"] * torch.stack(drift).mean()
    minimised = torch.stack(list(terms.values())).sum()
    if settings["classifier"]:
        weight, strength = settings["classifier"]["weight"], 2 / (1 + math.exp(-10 * done)) - 1
        if settings["classifier"]["weight_applied"] == "twice":
            strength *= weight
        own, others = classified(weights, universal, settings)
        terms["classifier"] = weight * own.detach()
        minimised = minimised + weight * own - weight * strength * others
    return terms, minimised


# --- Training ("Implementation Details")


class Adam:
    """Kingma and Ba (2014), Algorithm 1; a weight that a batch does not reach is left as it is."""

    def __init__(self) -> None:
        self.steps: dict[str, int] = {}
        self.first: Weights = {}
        self.second: Weights = {}

    def step(self, weights: Weights, gradients: Mapping[str, Tensor], rate: float) -> None:
        for name, gradient in gradients.items():
            time = self.steps[name] = self.steps.get(name, 0) + 1
            first = 0.9 * self.first.get(name, torch.zeros_like(gradient)) + 0.1 * gradient
            second = 0.999 * self.second.get(name, torch.zeros_like(gradient)) + 0.001 * gradient.square()
            self.first[name], self.second[name] = first, second
            step = first / (1 - 0.9**time) / ((second / (1 - 0.999**time)).sqrt() + 1e-8)
            weights[name] = (weights[name].detach() - rate * step).requires_grad_()


def gradients_of(
    minimised: Tensor, weights: Weights, names: Sequence[str], padding_learns: bool
) -> dict[str, Tensor]:
    found = torch.autograd.grad(minimised, [weights[name] for name in names], allow_unused=True)
    gradients = {name: value for name, value in zip(names, found, strict=True) if value is not None}
    if not padding_learns:
        for name in gradients:
            if name.endswith("table.weight"):
                gradients[name][0] = 0
    return gradients


def cut(gradients: dict[str, Tensor], longest: float | None) -> dict[str, Tensor]:
    """All gradients together no longer than `longest`; PyTorch adds 1e-6 to their length."""
    if longest is None:
        return gradients
    length = math.sqrt(sum(float(value.square().sum()) for value in gradients.values()))
    return {name: value * min(1.0, longest / (length + 1e-6)) for name, value in gradients.items()}


def trainable(weights: Weights) -> list[str]:
    names = [name for name in weights if weights[name].is_floating_point() and ".running_" not in name]
    names = [name for name in names if not name.endswith(".initial")]
    for name in names:
        weights[name] = weights[name].detach().clone().requires_grad_()
    return names


def pretrained(
    weights: Weights, split: Split, epochs: Sequence[Sequence[Batch]], settings: Settings
) -> Weights:
    """LP: the layers into the universal embedding trained by the u part of Equation 1, tables frozen."""
    weights, adam = dict(weights), Adam()
    names = [name for name in trainable(weights) if ".projection." in name]
    for batch in (batch for epoch in epochs for batch in epoch):
        universal = {
            language: unit(universal_words(weights, settings["model"], language, sentences)[2])
            for language, sentences in drawn_sentences(split, batch).items()
        }
        loss = neighbourhood(universal, slots_of(batch), settings["triplets"])
        gradients = gradients_of(loss, weights, names, padding_learns=False)
        adam.step(weights, gradients, settings["training"]["learning_rate"])
    return {name: weights[name].detach() for name in names}


@dataclass
class Trained:
    """curves: a row an epoch. ended: weights after the last. epoch, kept: the chosen one and its weights."""

    curves: list[dict[str, float]]
    ended: Weights
    epoch: int
    kept: Weights


def trained(
    weights: Weights,
    split: Split,
    validation: Split,
    epochs: Sequence[Sequence[Batch]],
    masks: Sequence[Any],
    settings: Settings,
    losses: Callable[..., tuple[dict[str, Tensor], Tensor]] = losses_of,
    words_of: Words = universal_words,
) -> Trained:
    """Adam over the epochs; the one with the best mean mR over languages on validation is chosen.

    Args:
        masks: of each step what dropout kept, or what else `losses` takes in its place.
        losses, words_of: those of a model that is not MULE's.
    """
    weights, adam, training = dict(weights), Adam(), settings["training"]
    first = {code: weights[f"universal.{code}.table.weight"].clone() for code in settings["languages"]}
    names, rate, best = trainable(weights), training["learning_rate"], -1.0
    padding_learns = settings["model"]["universal_mean"] == "padded" or words_of is not universal_words
    found = Trained([], {}, 0, {})
    steps = steps_of(split, training)
    for epoch, batches in enumerate(epochs):
        sums: dict[str, float] = {}
        for step, batch in enumerate(batches):
            place = epoch * steps + step
            done = place / (training["epochs"] * steps)
            terms, minimised = losses(weights, first, split, batch, masks[place], settings, done)
            add_up(sums, terms)
            gradients = gradients_of(minimised, weights, names, padding_learns)
            adam.step(weights, cut(gradients, training["max_grad_norm"]), rate)
        rate *= training["learning_rate_decay"]  # "a learning rate of 1e-4 that we decay exponentially"
        if settings["words"]["regularize_toward"] == "previous_epoch":
            first = {code: weights[f"universal.{code}.table.weight"].detach() for code in first}
        ranks = {code: ranks_of(weights, settings, validation, code, words_of) for code in first}
        recalls = {code: recalls_of(*of_language)["mR"] for code, of_language in ranks.items()}
        found.curves.append(curve(epoch, recalls, sums, steps))
        found.ended = {name: value.detach().clone() for name, value in weights.items()}
        if (mean := found.curves[-1]["val_mR"]) > best:
            best, found.epoch, found.kept = mean, epoch + 1, copy.copy(found.ended)
    return found


def add_up(sums: dict[str, float], terms: Mapping[str, Tensor]) -> None:
    """Add a step's terms, and their sum as `loss`."""
    for name, term in {**terms, "loss": torch.stack(list(terms.values())).sum()}.items():
        sums[name] = sums.get(name, 0.0) + float(term.detach())


def curve(
    epoch: int, recalls: Mapping[str, float], sums: Mapping[str, float], steps: int
) -> dict[str, float]:
    """A row of the curves: mR by language and their mean, means of the losses over steps."""
    means = {name: total / steps for name, total in sums.items()}
    mean = sum(recalls.values()) / len(recalls)
    by_language = {f"val_mR_{language}": value for language, value in recalls.items()}
    return {"epoch": epoch + 1, "val_mR": mean, **by_language, **means}


# --- Evaluation ("Metrics")


@torch.no_grad()
def ranks_of(
    weights: Weights, settings: Settings, split: Split, language: str, words_of: Words = universal_words
) -> tuple[list[int], list[int]]:
    """Rank from 1 of each image's nearest own sentence, and of each sentence's image.

    Candidates are the images captioned in the language, and its sentences.
    """
    rows, image_of = candidates(split, language)
    ids = [ids for _, ids in split.sentences[language]]
    images = embed_images(weights, settings, split.features[rows], None)
    sentences = embed_sentences(weights, settings, {language: ids}, False, words_of)[language][1]
    return ranks_among(similarity(sentences, images, settings["model"]["similarity"]), image_of)


def candidates(split: Split, language: str) -> tuple[list[int], Tensor]:
    """Rows of the images captioned in a language, and of each sentence (B,) the place of its image there."""
    rows = sorted({image for image, _ in split.sentences[language]})
    return rows, torch.tensor([rows.index(image) for image, _ in split.sentences[language]])


def ranks_among(near: Tensor, image_of: Tensor) -> tuple[list[int], list[int]]:
    """The same of similarities (B, n): of each image's nearest own sentence, and of each sentence's image.

    Of equally near ones those that stand earlier come first; numbers that differ by rounding alone are equal.
    """
    near = near.round(decimals=12)
    to_image = [rank(of_sentence, [int(image)]) for of_sentence, image in zip(near, image_of, strict=True)]
    to_sentence = [
        rank(of_image, torch.nonzero(image_of == place)[:, 0].tolist())
        for place, of_image in enumerate(near.T)
    ]
    return to_sentence, to_image


def rank(near: Tensor, right: Sequence[int]) -> int:
    """Of the nearest of some right answers among all candidates."""
    best = max(right, key=lambda place: float(near[place]))
    earlier = near[:best] == near[best]
    return 1 + int((near > near[best]).sum()) + int(earlier.sum())


def recalls_of(to_sentence: Sequence[int], to_image: Sequence[int]) -> dict[str, float]:
    """Recall@K = [1, 5, 10] in both directions and their average mR, in percent."""
    found = {
        f"{way}_R@{k}": 100 * sum(rank <= k for rank in ranks) / len(ranks)
        for way, ranks in (("i2s", to_sentence), ("s2i", to_image))
        for k in (1, 5, 10)
    }
    return {**found, "mR": sum(found.values()) / 6}


def chance_of(split: Split, language: str) -> dict[str, float]:
    """The recalls that a random order is expected to have."""
    images = [image for image, _ in split.sentences[language]]
    total, counts = len(images), np.unique(images, return_counts=True)[1].tolist()
    found = {}
    for k in (1, 5, 10):
        missed = [math.comb(total - count, k) / math.comb(total, k) for count in counts]
        found[f"i2s_R@{k}"] = 100 * (1 - sum(missed) / len(missed))
        found[f"s2i_R@{k}"] = 100 * min(1.0, k / len(counts))
    return {**found, "mR": sum(found.values()) / 6}

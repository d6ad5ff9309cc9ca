"""SMALR (Burns et al., ECCV 2020): LA, HEM, MCLM, CLC-A, CLC-C.

Arguments are which of its best entries a word explores, and which words are masked. Sizes in comments:
K words with a vector of their own, E entries, M best ones.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from reference.batches import Batch
from reference.captions import Row, Split, word_ids
from reference.layers import Weights, linear, unit
from reference.losses import alignment_loss, neighborhood_loss, reconstruction_loss, score_matching_loss
from reference.model import Sentences, Settings, WordVectors, embed_images, embed_sentences, pad
from reference.training import (
    Adam,
    Embedded,
    Objective,
    embedded_objective,
    gradients_of,
    mean_matching,
    trainable,
)

Explored = Mapping[tuple[str, int], int]  # by language and word id: which of its best entries it takes
Masked = Mapping[str, list[list[bool]]]  # by language, of each word of each sentence
Pair = tuple[str, str]  # source and target language
Tables = Mapping[Pair, list[Row]]  # translations in any order, each with the number of its caption

# --- Which entry a word takes (Section 3.1)


def scored_vectors(vectors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The vectors (V, 300) by which entries are scored, row 0 the first word: mean 0, variance 1."""
    scored = {code: table[1:] - table[1:].mean(0) for code, table in vectors.items()}
    return {code: table / table.square().mean(0).sqrt() for code, table in scored.items()}


def word_scores(weights: Weights, word: Tensor) -> Tensor:
    """Scores (E,) of a word (300,)."""
    scores: Tensor = weights["scores.weight"] @ word + weights["scores.bias"]
    return scores


def latent_vector(weights: Weights, word: Tensor, place: int, assignment: Settings) -> Tensor:
    """The entry (d,) that a word (300,) takes among its best, and how a gradient passes the choice."""
    scores = word_scores(weights, word)
    best = scores.detach().topk(min(assignment["top_m"], len(scores))).indices
    entries = weights["entries.weight"][best]  # (M, d)
    share: Tensor = scores[best].softmax(0)
    if assignment["gradient"] == "softmax":
        return share @ entries
    return entries[place] + (share - share.detach()) @ entries.detach()


def latent_means(
    weights: Weights,
    features: Mapping[str, Tensor],
    sentences: Sentences,
    explored: Explored,
    assignment: Settings,
) -> dict[str, Tensor]:
    """Mean latent vectors of sentences, at length 1; a word takes the same entry in a whole batch."""
    means = {}
    for language, of_language in sentences.items():
        vectors = {
            word: latent_vector(weights, features[language][word - 1], explored[language, word], assignment)
            for word in {word for ids in of_language for word in ids}
        }
        means[language] = unit(
            torch.stack([torch.stack([vectors[word] for word in ids]).mean(0) for ids in of_language])
        )
    return means


def pretrain_entries(
    weights: Weights,
    features: Mapping[str, Tensor],
    split: Split,
    epochs: Sequence[Sequence[Batch]],
    explored: Sequence[Explored],
    settings: Settings,
) -> Weights:
    """Triplets of sentences of one image, of different languages and of one, over all epochs."""
    weights, adam = dict(weights), Adam()
    names, assignment, triplets = trainable(weights), settings["assignment"], settings["triplets"]
    for batch, entries in zip(chain.from_iterable(epochs), explored, strict=True):
        slots = batch.slot_tensors()
        means = latent_means(weights, features, batch.word_ids(split), entries, assignment)
        loss = neighborhood_loss(means, slots, triplets)
        several = [code for code, of_code in slots.items() if len(of_code) > len(of_code.unique())]
        if assignment["pairs"] == "all" and several:
            within = [
                alignment_loss(means[code], slots[code], means[code], slots[code], triplets)
                for code in several
            ]
            loss = loss + torch.stack(within).mean()
        gradients = gradients_of(loss, weights, names, padding_learns=True)
        adam.step(weights, gradients, settings["training"]["learning_rate"])
    return {name: value.detach() for name, value in weights.items()}


def frequent_words(split: Split, language: str, words: int, count: int) -> list[int]:
    """The most frequent words, in this order, of equal ones the first of the vocabulary."""
    every = [word for _, ids in split.sentences[language] for word in ids]
    return sorted(range(1, words + 1), key=lambda word: (-every.count(word), word))[:count]


def word_places(
    weights: Weights, features: Mapping[str, Tensor], split: Split, settings: Settings
) -> tuple[dict[str, list[int]], dict[str, dict[int, int]], Tensor]:
    """Words with a vector of their own; the entry, from 1, of all others; the entries that any word takes."""
    own = {
        code: frequent_words(split, code, len(vectors), settings["hybrid"]["frequent_words"])
        for code, vectors in features.items()
    }
    entry = {
        code: {
            word: int(word_scores(weights, vector).argmax())
            for word, vector in enumerate(vectors, 1)
            if word not in own[code]
        }
        for code, vectors in features.items()
    }
    in_use = sorted({number for of_language in entry.values() for number in of_language.values()})
    numbers = {
        code: {word: 1 + in_use.index(number) for word, number in of_language.items()}
        for code, of_language in entry.items()
    }
    return own, numbers, weights["entries.weight"][in_use]


# --- The hybrid embedding (Section 3.1)


def principal_components(vectors: Tensor, size: int) -> Tensor:
    """Vectors (V, 300) to (V, size); of a component's weights the largest is positive."""
    centred = vectors.numpy() - vectors.numpy().mean(0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:size]
    signs = [np.sign(max(row, key=abs)) for row in directions]
    return torch.from_numpy(centred @ directions.T * signs)


def initial_weights(
    weights: Weights,
    own: Mapping[str, list[int]],
    entry: Mapping[str, dict[int, int]],
    entries: Tensor,
    vectors: Mapping[str, Tensor],
    size: int,
) -> Weights:
    """What training begins with: own vectors by PCA, entries from the pretraining, MASK by chance."""
    weights = dict(weights)
    table = weights["universal.entries.weight"]
    masks = "losses.masking.universal.weight" in weights
    mask_vector = table[len(table) - masks :]
    weights["universal.entries.weight"] = torch.cat([torch.zeros_like(table[:1]), entries, mask_vector])
    for code, of_language in vectors.items():
        words = range(len(of_language))  # and MASK after them
        mask = [len(entries) + 1 if masks else 0]
        numbers = [1 + own[code].index(word) if word in own[code] else 0 for word in words]
        weights[f"universal.{code}.own"] = torch.tensor([*numbers, 0])
        weights[f"universal.{code}.entry"] = torch.tensor([entry[code].get(word, 0) for word in words] + mask)
        components = principal_components(of_language[1:], size)
        weights[f"universal.{code}.table.weight"] = components[[word - 1 for word in own[code]]]
    return weights


def hybrid_words(
    weights: Weights, model: Settings, language: str, sentences: list[list[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Like `model.universal_words`: a word is its own vector by its language's layer, or its entry."""
    name = f"universal.{language}"
    ids, lengths = pad(sentences)
    own, entry = (weights[f"{name}.{kind}"][ids][:, :, None] for kind in ("own", "entry"))
    words = weights["universal.entries.weight"][entry[:, :, 0]] * (entry > 0)  # (B, W, d)
    table = weights[f"{name}.table.weight"]
    if len(table):
        vectors = table[(own[:, :, 0] - 1).clamp(min=0)]
        words = words + linear(weights, f"{name}.projection", vectors) * (own > 0)
    return words, lengths, words.sum(1) / lengths[:, None]


# --- Masked cross-language modelling (Section 3.2, Equation 2)


def objective(
    masks: Iterator[Masked],
    weights: Weights,
    initial: Weights,
    split: Split,
    batch: Batch,
    settings: Settings,
    done: float,
) -> Objective:
    """Like `training.objective`, with masked sentences. masks: the masked words of each step."""
    sentences, slots = batch.word_ids(split), batch.slot_tensors()
    embedded = embed_sentences(weights, settings, sentences, True, hybrid_words)
    images = embed_images(weights, settings, split.features[batch.images], training=True)
    if not settings.get("masking"):
        return embedded_objective(weights, initial, embedded, images, slots, settings, done)
    with_mask = sentences_with_mask(weights, sentences, next(masks))
    masked = embed_sentences(weights, settings, with_mask, True, hybrid_words)
    return masking_objective(weights, initial, embedded, masked, images, slots, settings, done)


def masking_objective(
    weights: Weights,
    initial: Weights,
    embedded: Embedded,
    masked: Embedded,
    images: Tensor,
    slots: Mapping[str, Tensor],
    settings: Settings,
    done: float,
) -> Objective:
    """Like `training.embedded_objective`, with the matching of masked sentences and their reconstruction."""
    terms, loss = embedded_objective(weights, initial, embedded, images, slots, settings, done)
    masking = settings["masking"]
    multimodal = {code: s for code, (_, s) in masked.items()}
    of_layers = [
        reconstruction_loss(
            weights,
            f"losses.masking.{name}",
            {code: layers[place] for code, layers in masked.items()},
            {code: layers[place] for code, layers in embedded.items()},
            slots,
        )
        for place, name in enumerate(("universal", "multimodal"))
    ]
    more = {
        "masked_matching": masking["matching"] * mean_matching(images, multimodal, slots, settings),
        "masking": masking["weight"] * torch.stack(of_layers).sum(),
    }
    return terms | more, loss + torch.stack(list(more.values())).sum()


def sentences_with_mask(weights: Weights, sentences: Sentences, masked: Masked) -> dict[str, list[list[int]]]:
    """Sentences with some words replaced by MASK, which comes after a language's words."""
    result = {}
    for code, of_language in sentences.items():
        mask = len(weights[f"universal.{code}.own"]) - 1
        result[code] = [
            [mask if lost else word for word, lost in zip(ids, which, strict=True)]
            for ids, which in zip(of_language, masked[code], strict=True)
        ]
    return result


# --- Cross-lingual consistency (Section 3.4)


def translations_of(rows: Sequence[Row], table: Sequence[Row]) -> list[Row | None]:
    """For each caption its translation, perhaps through English, or None."""
    of_caption = {(row["image"], row["number"]): row for row in table}
    return [of_caption.get((row["image"], row["number"])) for row in rows]


def translated_queries(
    rows: Sequence[Row],
    split: Split,
    tables: Tables,
    words: Mapping[str, Mapping[str, int]],
    longest: int,
    language: str,
) -> dict[str, list[list[int]]]:
    """Word ids of a language's queries in each language of the model; [0] without a translation.

    rows: the language's original captions of the split. tables: their translations.
    """
    queries = {}
    for code, index in words.items():
        texts = list(rows) if code == language else translations_of(rows, tables[language, code])
        ids = [
            (split.images.index(row["image"]), word_ids(text["tokens"] if text else "", index, longest))
            for row, text in zip(rows, texts, strict=True)
            if row["image"] in split.images
        ]
        queries[code] = [of_query for _, of_query in sorted(ids, key=lambda pair: pair[0])]
    return queries


def query_scores(
    weights: Weights,
    settings: Settings,
    images: Tensor,
    language: str,
    queries: Mapping[str, list[list[int]]],
    word_vectors: WordVectors,
) -> Tensor:
    """(B, n, L) cosines of queries and of their translations with images.

    queries: in each language of the model, in its order; [0] where there is no translation, or no known word
    of it. Such a score is the mean of the others. An original query always counts.
    """
    scores, there = [], []
    for code, sentences in queries.items():
        embedded = embed_sentences(weights, settings, {code: sentences}, False, word_vectors)[code][1]
        scores.append(embedded @ images.T)
        there.append([ids != [0] or code == language for ids in sentences])
    every, known = torch.stack(scores, 2), torch.tensor(there).T[:, None]  # (B, n, L), (B, 1, L)
    mean = (every * known).sum(2, keepdim=True) / known.sum(2, keepdim=True)
    return torch.where(known, every, mean)


def combine(network: Weights, scores: Tensor, activation: str) -> Tensor:
    """CLC-C: L scores to 32 units to one, without biases."""
    hidden = scores @ network["first"].T
    return ((hidden.clamp(min=0) if activation == "relu" else hidden) @ network["second"].T)[..., 0]


def fit_combiner(
    scored: Sequence[tuple[Tensor, Tensor]], settings: Settings, consistency: Settings
) -> tuple[Weights, list[float]]:
    """CLC-C's weights, "trained with all image-sentence pairs at once", and the loss before each iteration.

    scored: scores (B, n, L) and images of the queries, for each language of the validation split.
    """
    languages, hidden = scored[0][0].shape[2], consistency["hidden"]
    begin = math.sqrt(
        consistency["initial_weight"] / (languages * hidden)
    )  # "initialized with uniform weight"
    network = {"first": torch.full((hidden, languages), begin), "second": torch.full((1, hidden), begin)}
    adam, names, losses = Adam(), trainable(network), []
    for _ in range(consistency["iterations"]):
        each = [
            score_matching_loss(
                combine(network, scores, consistency["activation"]),
                image_of,
                settings["triplets"],
                settings["matching"],
            )
            for scores, image_of in scored
        ]
        loss = torch.stack(each).mean()
        losses.append(float(loss.detach()))
        gradients = gradients_of(loss, network, names, padding_learns=True)
        adam.step(network, gradients, consistency["learning_rate"])
    return {name: weight.detach() for name, weight in network.items()}, losses

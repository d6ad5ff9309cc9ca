"""A second reading of SMALR (Burns et al., ECCV 2020), beside tests/reading.py: LA, HEM, MCLM, CLC-A, CLC-C.

It imports nothing of the project. What the paper leaves open is as docs/smalr.md has it. Handed over besides
what tests/reading.py is given are which of its best entries a word explores, and which words are masked.

Sizes in comments: B sentences, W words of the longest, V words of a language, K of them with a vector of
their own, E entries, M best ones, L languages, n images, d and e sizes of the universal and multimodal space.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import reading
import torch
from reading import Adam, Batch, Row, Sentences, Settings, Split, Weights, linear, unit
from torch import Tensor

Explored = Mapping[tuple[str, int], int]  # by language and word id: which of its best entries it takes
Masked = Mapping[str, list[list[bool]]]  # by language, of each word of each sentence
Pair = tuple[str, str]  # source and target language
# Rows of translations, and the (image, caption) that have none.
Tables = Mapping[Pair, tuple[list[Row], set[tuple[str, str]]]]

# --- Ten languages (Section 4, "Datasets")


def augmented(own: Sequence[Row], translated: Sequence[Row], wanted: int = 5) -> list[Row]:
    """The translations that give a training image at least five sentences, the first of it that there are."""
    count: dict[str, int] = {}
    for row in own:
        count[row["image"]] = count.get(row["image"], 0) + 1
    chosen = []
    for row in translated:
        if row["split"] == "train" and count.get(row["image"], 0) < wanted:
            count[row["image"]] = count.get(row["image"], 0) + 1
            chosen.append(row)
    return chosen


# --- Which entry a word takes (Section 3.1)


def read_from(vectors: Mapping[str, Tensor], how: str) -> dict[str, Tensor]:
    """What entries are scored by, (V, 300), row 0 the first word."""
    read = {code: of[1:] - of[1:].mean(0) * (how != "given") for code, of in vectors.items()}
    if how == "standardized":
        read = {code: of / of.square().mean(0).sqrt() for code, of in read.items()}
    return read


def latent_vector(weights: Weights, word: Tensor, place: int, how: Settings) -> Tensor:
    """The entry (d,) that a word (300,) takes among its best, and how a gradient passes the choice."""
    scores = weights["scores.weight"] @ word + weights["scores.bias"]
    best = scores.detach().topk(min(how["best"], len(scores))).indices
    entries = weights["entries.weight"][best]  # (M, d)
    if how["gradient"] == "none":
        return entries[place]
    share = scores[best].softmax(0)
    if how["gradient"] == "softmax":
        return share @ entries
    if how["gradient"] == "gated":
        return entries[place] * (share[place] / share[place].detach())
    return entries[place] + (share - share.detach()) @ entries.detach()


def latent_means(
    weights: Weights, features: Mapping[str, Tensor], sentences: Sentences, explored: Explored, how: Settings
) -> dict[str, Tensor]:
    """Mean latent vectors of sentences, at length 1; a word takes the same entry in a whole batch."""
    found = {}
    for language, of_language in sentences.items():
        words = {word for ids in of_language for word in ids}
        vector = {
            word: latent_vector(weights, features[language][word - 1], explored[language, word], how)
            for word in words
        }
        means = [torch.stack([vector[word] for word in ids]).mean(0) for ids in of_language]
        found[language] = unit(torch.stack(means))
    return found


def assigned(
    weights: Weights,
    features: Mapping[str, Tensor],
    split: Split,
    epochs: Sequence[Sequence[Batch]],
    explored: Sequence[Explored],
    settings: Settings,
) -> Weights:
    """Triplets of sentences of one image, of different languages and of one, over all epochs."""
    weights, adam = dict(weights), Adam()
    names, how, triplets = reading.trainable(weights), settings["assignment"], settings["triplets"]
    batches = [batch for epoch in epochs for batch in epoch]
    for batch, taken in zip(batches, explored, strict=True):
        slots = reading.slots_of(batch)
        means = latent_means(weights, features, reading.drawn_sentences(split, batch), taken, how)
        loss = reading.neighbourhood(means, slots, triplets)
        several = [code for code, of in slots.items() if len(of) > len(of.unique())]
        if how["pairs"] == "all" and several:
            within = [
                reading.aligned(means[code], slots[code], means[code], slots[code], triplets)
                for code in several
            ]
            loss = loss + torch.stack(within).mean()
        gradients = reading.gradients_of(loss, weights, names, padding_learns=True)
        adam.step(weights, gradients, settings["training"]["learning_rate"])
    return {name: value.detach() for name, value in weights.items()}


def own_words(split: Split, language: str, words: int, most: int) -> list[int]:
    """The most frequent words, the most frequent first, of equal ones the first of the vocabulary."""
    read = [word for _, ids in split.sentences[language] for word in ids]
    return sorted(range(1, words + 1), key=lambda word: (-read.count(word), word))[:most]


def places(
    weights: Weights, features: Mapping[str, Tensor], split: Split, settings: Settings
) -> tuple[dict[str, list[int]], dict[str, dict[int, int]], Tensor]:
    """Words with a vector of their own; of all others the entry, from 1; the entries that any word takes."""
    own = {
        code: own_words(split, code, len(of), settings["hybrid"]["own_words"])
        for code, of in features.items()
    }
    chosen = {
        code: {
            word: int((weights["scores.weight"] @ vector + weights["scores.bias"]).argmax())
            for word, vector in enumerate(of, 1)
            if word not in own[code]
        }
        for code, of in features.items()
    }
    taken = sorted({entry for of in chosen.values() for entry in of.values()})
    numbered = {
        code: {word: 1 + taken.index(entry) for word, entry in of.items()} for code, of in chosen.items()
    }
    return own, numbered, weights["entries.weight"][taken]


# --- The hybrid embedding (Section 3.1)


def principal_components(vectors: Tensor, size: int) -> Tensor:
    """Vectors (V, 300) to (V, size); of a component's weights the largest is positive."""
    centred = vectors.numpy() - vectors.numpy().mean(0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:size]
    signs = [np.sign(max(row, key=abs)) for row in directions]
    return torch.from_numpy(centred @ directions.T * signs)


def begun(
    weights: Weights,
    own: Mapping[str, list[int]],
    entry: Mapping[str, dict[int, int]],
    entries: Tensor,
    vectors: Mapping[str, Tensor],
    size: int,
) -> Weights:
    """What training begins with: own vectors by PCA, entries by the pretraining, MASK by chance."""
    weights = dict(weights)
    table = weights["universal.entries.weight"]
    masks = "losses.masking.universal.weight" in weights
    end = table[len(table) - masks :]
    weights["universal.entries.weight"] = torch.cat([torch.zeros_like(table[:1]), entries, end])
    for code, of in vectors.items():
        words = range(len(of))  # and MASK after them
        mask = [len(entries) + 1 if masks else 0]
        numbers = [1 + own[code].index(word) if word in own[code] else 0 for word in words]
        weights[f"universal.{code}.own"] = torch.tensor([*numbers, 0])
        weights[f"universal.{code}.entry"] = torch.tensor([entry[code].get(word, 0) for word in words] + mask)
        reduced = principal_components(of[1:], size)
        weights[f"universal.{code}.table.weight"] = reduced[[word - 1 for word in own[code]]]
    return weights


def hybrid_words(
    weights: Weights, model: Settings, language: str, sentences: list[list[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """As `reading.universal_words`: a word is its own vector by its language's layer, or its entry."""
    name = f"universal.{language}"
    lengths = torch.tensor([len(ids) for ids in sentences])
    longest = int(lengths.max())
    ids = torch.tensor([of + [0] * (longest - len(of)) for of in sentences])  # (B, W)
    own, entry = (weights[f"{name}.{kind}"][ids][:, :, None] for kind in ("own", "entry"))
    words = weights["universal.entries.weight"][entry[:, :, 0]] * (entry > 0)  # (B, W, d)
    table = weights[f"{name}.table.weight"]
    if len(table):
        words = words + linear(weights, f"{name}.projection", table[(own[:, :, 0] - 1).clamp(min=0)]) * (
            own > 0
        )
    return words, lengths, words.sum(1) / lengths[:, None]


# --- Masked cross-language modelling (Section 3.2, Equation 2)


def losses_of(
    weights: Weights,
    first: Weights,
    split: Split,
    batch: Batch,
    kept: tuple[Tensor, Masked | None],
    settings: Settings,
    done: float,
) -> tuple[dict[str, Tensor], Tensor]:
    """As `reading.losses_of`, with the masked sentences' matching and their reconstruction.

    kept: what dropout keeps, and which words are masked.
    """
    sentences, slots = reading.drawn_sentences(split, batch), reading.slots_of(batch)
    embedded = reading.embed_sentences(weights, settings, sentences, True, hybrid_words)
    images = reading.embed_images(weights, settings, split.features[batch.images], kept[0])
    terms, minimised = reading.terms_of(weights, first, embedded, images, slots, settings, done)
    if kept[1] is None:
        return terms, minimised
    masked = reading.embed_sentences(
        weights, settings, with_mask(weights, sentences, kept[1]), True, hybrid_words
    )
    how = settings["masking"]
    each = [reading.matching(images, s, slots[code], settings) for code, (_, s) in masked.items()]
    lost = [
        reconstruction(weights, f"losses.masking.{name}", layer, masked, embedded, slots)
        for layer, name in enumerate(("universal", "multimodal"))
    ]
    more = {
        "masked_matching": how["matching"] * torch.stack(each).mean(),
        "masking": how["weight"] * torch.stack(lost).sum(),
    }
    return terms | more, minimised + torch.stack(list(more.values())).sum()


def with_mask(weights: Weights, sentences: Sentences, masked: Masked) -> dict[str, list[list[int]]]:
    """Sentences with some words replaced by MASK, which comes after a language's words."""
    found = {}
    for code, of in sentences.items():
        mask = len(weights[f"universal.{code}.own"]) - 1
        found[code] = [
            [mask if lost else word for word, lost in zip(ids, which, strict=True)]
            for ids, which in zip(of, masked[code], strict=True)
        ]
    return found


def reconstruction(
    weights: Weights,
    name: str,
    layer: int,
    masked: Mapping[str, tuple[Tensor, Tensor]],
    whole: Mapping[str, tuple[Tensor, Tensor]],
    slots: Mapping[str, Tensor],
) -> Tensor:
    """Equation 2 on u or s: mean over pairs of languages of the mean over their pairs of sentences.

    An image's k-th sentence in one language goes with its k-th in the other; the one with fewer repeats them.
    """
    losses = []
    for one, two in combinations(masked, 2):
        rows = pairs_of_sentences(slots[one].tolist(), slots[two].tolist())
        if not rows:
            continue
        first, second = (list(of) for of in zip(*rows, strict=True))
        lacking = masked[one][layer][first], masked[two][layer][second]
        predicted = linear(weights, name, torch.cat(lacking, 1)).chunk(2, 1)
        wanted = whole[one][layer][first], whole[two][layer][second]
        apart = [
            (unit(given + found) - unit(right)).square().sum(1).sqrt()
            for given, found, right in zip(lacking, predicted, wanted, strict=True)
        ]
        losses.append((apart[0] + apart[1]).mean())
    return torch.stack(losses).mean()


def pairs_of_sentences(first: list[int], second: list[int]) -> list[tuple[int, int]]:
    """Rows of the sentences that make a pair, of the images (as slots) that both languages have."""
    rows = []
    for slot in sorted(set(first) & set(second)):
        ones, twos = ([row for row, other in enumerate(of) if other == slot] for of in (first, second))
        rows += [(ones[k % len(ones)], twos[k % len(twos)]) for k in range(max(len(ones), len(twos)))]
    return rows


# --- Cross-lingual consistency (Section 3.4)


def translations_of(rows: Sequence[Row], tables: Tables, pair: Pair) -> list[Row | None]:
    """For each caption its translation, or None; by English where the last translation is from English.

    An image's translations stand in the order of its captions.
    """
    table, left_out = tables[pair]
    if any(row["source_language"] != pair[0] for row in table):
        english = translations_of(rows, tables, (pair[0], "en"))
        every = tables[pair[0], "en"][0]
        onward = dict(zip(map(id, every), in_order(every, table, left_out), strict=True))
        return [None if row is None else onward[id(row)] for row in english]
    return in_order(rows, table, left_out)


def in_order(rows: Sequence[Row], table: Sequence[Row], left_out: set[tuple[str, str]]) -> list[Row | None]:
    left: dict[str, list[Row]] = {}
    for row in table:
        left.setdefault(row["image"], []).append(row)
    return [None if (row["image"], row["caption"]) in left_out else left[row["image"]].pop(0) for row in rows]


def asked(
    rows: Sequence[Row],
    split: Split,
    tables: Tables,
    words: Mapping[str, Mapping[str, int]],
    longest: int,
    language: str,
) -> dict[str, list[list[int]]]:
    """A language's queries as each language of the model has them, by word ids; [0] where it has none.

    rows: the language's own captions of the split, and tables: what is translated of them.
    """
    found = {}
    for code, index in words.items():
        of = list(rows) if code == language else translations_of(rows, tables, (language, code))
        placed = [
            (
                split.images.index(row["image"]),
                reading.word_ids(text["tokens"] if text else "", index, longest),
            )
            for row, text in zip(rows, of, strict=True)
            if row["image"] in split.images
        ]
        found[code] = [ids for _, ids in sorted(placed, key=lambda pair: pair[0])]
    return found


def scores_of(
    weights: Weights,
    settings: Settings,
    images: Tensor,
    language: str,
    asked: Mapping[str, list[list[int]]],
    words_of: reading.Words,
) -> Tensor:
    """(B, n, L) cosines of queries and of their translations with images.

    asked: in each language of the model, in its order; [0] where there is no translation, or no known word of
    it. Such a one counts as the mean of the others. An own query always counts.
    """
    scores, there = [], []
    for code, sentences in asked.items():
        embedded = reading.embed_sentences(weights, settings, {code: sentences}, False, words_of)[code][1]
        scores.append(embedded @ images.T)
        there.append([ids != [0] or code == language for ids in sentences])
    every, known = torch.stack(scores, 2), torch.tensor(there).T[:, None]  # (B, n, L), (B, 1, L)
    mean = (every * known).sum(2, keepdim=True) / known.sum(2, keepdim=True)
    return torch.where(known, every, mean)


def combined(network: Weights, scores: Tensor, activation: str) -> Tensor:
    """CLC-C: L scores to 32 units to one, without biases."""
    hidden = scores @ network["first"].T
    return ((hidden.clamp(min=0) if activation == "relu" else hidden) @ network["second"].T)[..., 0]


def score_loss(scores: Tensor, image_of: Tensor, settings: Settings) -> Tensor:
    """Equation 3 of scores (B, n) whose distance is 1 - score."""
    margin, count = settings["triplets"]["margin"], settings["triplets"]["num_hard_negatives"]
    right = scores.gather(1, image_of[:, None])
    other_image = image_of[:, None] != torch.arange(scores.shape[1])
    image_term = reading.hardest(margin + scores - right, other_image, count)
    of_image = scores[:, image_of].T  # (B, B): of each sentence's image to every sentence
    sentence_term = reading.hardest(margin + of_image - right, image_of[:, None] != image_of, count)
    return settings["matching"]["image"] * image_term + settings["matching"]["sentence"] * sentence_term


def learned(
    scored: Sequence[tuple[Tensor, Tensor]], settings: Settings, how: Settings
) -> tuple[Weights, list[float]]:
    """CLC-C's weights, "trained with all image-sentence pairs at once", and the loss before each iteration.

    scored: scores (B, n, L) and images of the queries, for each language of the validation split.
    """
    languages, hidden = scored[0][0].shape[2], how["hidden"]
    begin = math.sqrt(how["begin"] / (languages * hidden))  # "initialized with uniform weight"
    network = {"first": torch.full((hidden, languages), begin), "second": torch.full((1, hidden), begin)}
    adam, names, losses = Adam(), reading.trainable(network), []
    for _ in range(how["iterations"]):
        each = [
            score_loss(combined(network, scores, how["activation"]), image_of, settings)
            for scores, image_of in scored
        ]
        loss = torch.stack(each).mean()
        losses.append(float(loss.detach()))
        gradients: dict[str, Any] = reading.gradients_of(loss, network, names, padding_learns=True)
        adam.step(network, gradients, how["learning_rate"])
    return {name: weight.detach() for name, weight in network.items()}, losses

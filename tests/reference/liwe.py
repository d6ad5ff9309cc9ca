"""LIWE (Wehrmann et al. 2019; docs/smalr.md).

A sentence is a list of words as text, [""] if none of them has a character that training knows. Sizes in
comments: N words of B sentences, c characters of a word.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor

from reference.batches import Batch
from reference.captions import Row, Split
from reference.evaluation import Ranks, gallery, recalls, rounded_ranks
from reference.layers import Weights, batch_norm, gru, linear, unit
from reference.losses import annealed_loss
from reference.model import Settings
from reference.training import Adam, Training, clip, gradients_of, trainable

Spelled = Mapping[str, list[tuple[int, list[str]]]]  # by language, row of the image and words


def training_alphabet(captions: Mapping[str, Sequence[Row]]) -> dict[str, set[str]]:
    """The characters of each language's training captions."""
    return {
        code: {letter for row in rows if row["split"] == "train" for letter in row["tokens"] if letter != " "}
        for code, rows in captions.items()
    }


def spelling(word: str, known: set[str], longest: int) -> str:
    """The first characters of a word; a character that training does not know becomes NUL."""
    return "".join(letter if letter in known else "\0" for letter in word[:longest])


def spelled_sentences(
    rows: Sequence[Row], images: Sequence[str], known: set[str], longest_word: int, longest: int
) -> list[tuple[int, list[str]]]:
    """Sentences in the order of a split's images; words without a known character are left out."""
    sentences = []
    for row in rows:
        if row["image"] in images:
            words = [spelling(word, known, longest_word) for word in row["tokens"].split()]
            words = [word for word in words if word.strip("\0")][:longest]
            sentences.append((images.index(row["image"]), words or [""]))
    return sorted(sentences, key=lambda sentence: sentence[0])


def word_vectors(
    weights: Weights, settings: Settings, sentences: Sequence[list[str]], training: bool
) -> Tensor:
    """Vectors (N, d) of all words: their characters side by side, then 1x1 convolutions over words."""
    letters = [chr(code) for code in weights["spelled.alphabet"].tolist()]  # the first is not a character
    longest = settings["liwe"]["max_word_length"]
    blank_filled = [word.ljust(longest, "\0") for words in sentences for word in words]
    codes = torch.tensor([[letters.index(letter) for letter in word] for word in blank_filled])  # (N, c)
    vectors = weights["spelled.characters.weight"][codes].flatten(1)
    for layer in range(len(settings["liwe"]["layers"])):
        name = f"spelled.layers.{3 * layer}"
        length, direction = (weights[f"{name}.parametrizations.weight.original{n}"] for n in (0, 1))
        vectors = vectors @ (length * unit(direction)).T + weights[f"{name}.bias"]
        vectors = batch_norm(weights, f"spelled.layers.{3 * layer + 1}", vectors, training, 0.1)
        vectors = torch.where(vectors > 0, vectors, 0.1 * vectors)
    return vectors


def embed_sentences(
    weights: Weights, settings: Settings, sentences: Mapping[str, Sequence[list[str]]], training: bool
) -> dict[str, Tensor]:
    """Unit vectors of sentences: a GRU's states at the last word, from both ends, averaged."""
    every = [words for of_language in sentences.values() for words in of_language]
    lengths = torch.tensor([len(words) for words in every])
    parts = word_vectors(weights, settings, every, training).split(lengths.tolist())
    padded = torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    forward = gru(weights, "branches.shared.recurrent", padded, lengths, reset_before=False)
    prefix = "branches.shared.backwards."
    cell = {f"back.{key.removeprefix(prefix)}_l0": weights[key] for key in weights if key.startswith(prefix)}
    last = torch.stack([part[-1] for part in parts])[:, None]  # from the end, the last word is the first
    backward = gru(cell, "back", last, torch.ones_like(lengths), reset_before=False)
    vectors = unit((forward + backward) / 2).split([len(of_language) for of_language in sentences.values()])
    return dict(zip(sentences, vectors, strict=True))


def embed_images(weights: Weights, features: Tensor) -> Tensor:
    return unit(linear(weights, "image_branch.layers.0", features))


def loss_terms(
    weights: Weights, sentences: Spelled, features: Tensor, batch: Batch, settings: Settings, step: int
) -> dict[str, Tensor]:
    """Captions against images, mean over languages; captions of each pair of languages, mean over pairs."""
    liwe, slots = settings["liwe"], batch.slot_tensors()
    words = {code: [sentences[code][row][1] for row in rows] for code, rows in batch.rows.items()}
    images = embed_images(weights, features[batch.images])
    embedded = embed_sentences(weights, settings, words, training=True)
    share = 1 - liwe["image_base"] ** step
    with_images = [
        annealed_loss(
            vectors @ images.T, slots[code][:, None] == torch.arange(len(images)), liwe["margin"], share
        )
        for code, vectors in embedded.items()
    ]
    terms = {"caption_image": torch.stack(with_images).mean()}
    share = 1 - liwe["caption_base"] ** step
    pairs = [
        annealed_loss(
            embedded[one] @ embedded[two].T, slots[one][:, None] == slots[two], liwe["margin"], share
        )
        for one, two in combinations(embedded, 2)
    ]
    return terms | ({"caption_caption": torch.stack(pairs).mean()} if pairs else {})


def train(
    weights: Weights,
    split: Split,
    sentences: Spelled,
    validation: Split,
    queries: Spelled,
    epochs: Sequence[Sequence[Batch]],
    settings: Settings,
) -> Training:
    """Adam over segments of steps, each of which ends with validation.

    sentences, queries: of the split and of validation.
    """
    weights, adam, training, liwe = dict(weights), Adam(), settings["training"], settings["liwe"]
    names, result, step = trainable(weights), Training(), 0
    for batches in epochs:
        for batch in batches:
            terms = loss_terms(weights, sentences, split.features, batch, settings, step)
            result.add_step(terms)
            loss = torch.stack(list(terms.values())).sum()
            gradients = gradients_of(loss, weights, names, padding_learns=True)
            gradients["spelled.characters.weight"][0] = 0  # no character
            rate = training["learning_rate"] * (
                liwe["learning_rate_decay"] if step >= liwe["learning_rate_decay_after"] else 1
            )
            adam.step(weights, clip(gradients, training["max_grad_norm"]), rate)
            step += 1
        of_validation = {
            code: recalls(model_ranks(weights, settings, validation, queries, code))["mR"]
            for code in settings["languages"]
        }
        result.add_epoch(weights, of_validation, len(batches))
    return result


@torch.no_grad()
def model_ranks(weights: Weights, settings: Settings, split: Split, queries: Spelled, language: str) -> Ranks:
    """The ranks of `evaluation.model_ranks`, for LIWE."""
    rows, image_of = gallery(split, language)
    assert [image for image, _ in queries[language]] == [image for image, _ in split.sentences[language]]
    words = [of_query for _, of_query in queries[language]]
    sentences = embed_sentences(weights, settings, {language: words}, training=False)[language]
    return rounded_ranks(sentences @ embed_images(weights, split.features[rows]).T, image_of)

"""A second reading of LIWE (Wehrmann et al. 2019; docs/ten-languages.md), beside tests/reading.py.

It imports nothing of the project. A sentence is a list of words as text, [""] where none of them has a
character that training knows. Sizes in comments: N words of B sentences, c characters of a word, n images.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import reading
import torch
from reading import Adam, Batch, Row, Settings, Split, Trained, Weights, linear, unit
from torch import Tensor

Spelled = Mapping[str, list[tuple[int, list[str]]]]  # by language, row of the image and words


# --- Characters


def alphabet_of(captions: Mapping[str, Sequence[Row]]) -> dict[str, set[str]]:
    """The characters that a language's training captions have."""
    return {
        code: {letter for row in rows if row["split"] == "train" for letter in row["tokens"] if letter != " "}
        for code, rows in captions.items()
    }


def spelling(word: str, known: set[str], longest: int) -> str:
    """The first characters of a word; one that training does not know is blank."""
    return "".join(letter if letter in known else "\0" for letter in word[:longest])


def spelled(
    rows: Sequence[Row], images: Sequence[str], known: set[str], longest_word: int, longest: int
) -> list[tuple[int, list[str]]]:
    """Sentences of a split's images, in their order; words without a known character are not read."""
    found = []
    for row in rows:
        if row["image"] in images:
            words = [spelling(word, known, longest_word) for word in row["tokens"].split()]
            words = [word for word in words if word.strip("\0")][:longest]
            found.append((images.index(row["image"]), words or [""]))
    return sorted(found, key=lambda sentence: sentence[0])


# --- The model


def word_vectors(
    weights: Weights, settings: Settings, sentences: Sequence[list[str]], training: bool
) -> Tensor:
    """Vectors (N, d) of all words: their characters side by side, then 1x1 convolutions over words."""
    letters = [chr(code) for code in weights["spelled.alphabet"].tolist()]  # the first is none
    longest = settings["liwe"]["longest_word"]
    padded = [word.ljust(longest, "\0") for words in sentences for word in words]
    codes = torch.tensor([[letters.index(letter) for letter in word] for word in padded])  # (N, c)
    found = weights["spelled.characters.weight"][codes].flatten(1)
    for layer in range(len(settings["liwe"]["layers"])):
        name = f"spelled.layers.{3 * layer}"
        length, direction = (weights[f"{name}.parametrizations.weight.original{n}"] for n in (0, 1))
        found = found @ (length * unit(direction)).T + weights[f"{name}.bias"]
        found = reading.batch_norm(weights, f"spelled.layers.{3 * layer + 1}", found, training, 0.1)
        found = torch.where(found > 0, found, 0.1 * found)
    return found


def embed_sentences(
    weights: Weights, settings: Settings, sentences: Mapping[str, Sequence[list[str]]], training: bool
) -> dict[str, Tensor]:
    """Unit vectors of sentences: a GRU's states at the last word, from both ends, averaged."""
    every = [words for of in sentences.values() for words in of]
    lengths = torch.tensor([len(words) for words in every])
    parts = word_vectors(weights, settings, every, training).split(lengths.tolist())
    padded = torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    forward = reading.gru(weights, "branches.shared.recurrent", padded, lengths, reset_before=False)
    back = "branches.shared.backwards."
    other = {f"back.{key.removeprefix(back)}_l0": weights[key] for key in weights if key.startswith(back)}
    last = torch.stack([part[-1] for part in parts])[:, None]  # from the end, the last word is the first
    backward = reading.gru(other, "back", last, torch.ones_like(lengths), reset_before=False)
    found = unit((forward + backward) / 2).split([len(of) for of in sentences.values()])
    return dict(zip(sentences, found, strict=True))


def embed_images(weights: Weights, features: Tensor) -> Tensor:
    return unit(linear(weights, "image_branch.layers.0", features))


# --- The loss and the training


def annealed(
    first: Tensor, first_slots: Tensor, second: Tensor, second_slots: Tensor, settings: Settings, share: float
) -> Tensor:
    """All hinges, and the worst ones, which take the place of all with time."""
    every, worst = (
        reading.ranked(
            first,
            first_slots,
            second,
            second_slots,
            {
                "model": {"similarity": "cosine"},
                "ranking": {"margin": settings["liwe"]["margin"], "hinge": hinge},
            },
        )
        for hinge in ("sum", "max")
    )
    return (1 - share) * every + share * worst


def losses_of(
    weights: Weights, sentences: Spelled, features: Tensor, batch: Batch, settings: Settings, step: int
) -> dict[str, Tensor]:
    """Captions against images, mean over languages; captions of each two languages, mean over pairs."""
    own, slots = settings["liwe"], reading.slots_of(batch)
    drawn = {code: [sentences[code][row][1] for row in rows] for code, rows in batch.rows.items()}
    images = embed_images(weights, features[batch.images])
    embedded = embed_sentences(weights, settings, drawn, training=True)
    share = 1 - own["image_base"] ** step
    each = [
        annealed(of, slots[code], images, torch.arange(len(images)), settings, share)
        for code, of in embedded.items()
    ]
    terms = {"caption_image": torch.stack(each).mean()}
    share = 1 - own["caption_base"] ** step
    pairs = [
        annealed(embedded[one], slots[one], embedded[two], slots[two], settings, share)
        for one, two in combinations(embedded, 2)
    ]
    return terms | ({"caption_caption": torch.stack(pairs).mean()} if pairs else {})


def trained(
    weights: Weights,
    split: Split,
    sentences: Spelled,
    validation: Split,
    asked: Spelled,
    epochs: Sequence[Sequence[Batch]],
    settings: Settings,
) -> Trained:
    """Adam over stretches of steps, each of which ends with validation.

    sentences, asked: of the split and of validation.
    """
    weights, adam, training = dict(weights), Adam(), settings["training"]
    names, best, found, step = reading.trainable(weights), -1.0, Trained([], {}, 0, {}), 0
    for epoch, batches in enumerate(epochs):
        sums: dict[str, float] = {}
        for batch in batches:
            terms = losses_of(weights, sentences, split.features, batch, settings, step)
            reading.add_up(sums, terms)
            gradients = reading.gradients_of(
                torch.stack(list(terms.values())).sum(), weights, names, padding_learns=True
            )
            gradients["spelled.characters.weight"][0] = 0  # no character
            late = step >= settings["liwe"]["drop_after"]
            rate = training["learning_rate"] * (settings["liwe"]["drop"] if late else 1)
            adam.step(weights, reading.cut(gradients, training["max_grad_norm"]), rate)
            step += 1
        recalls = {
            code: reading.recalls_of(*ranks_of(weights, settings, validation, asked, code))["mR"]
            for code in settings["languages"]
        }
        found.curves.append(reading.curve(epoch, recalls, sums, len(batches)))
        found.ended = {name: value.detach().clone() for name, value in weights.items()}
        if (mean := found.curves[-1]["val_mR"]) > best:
            best, found.epoch, found.kept = mean, epoch + 1, dict(found.ended)
    return found


@torch.no_grad()
def ranks_of(
    weights: Weights, settings: Settings, split: Split, asked: Spelled, language: str
) -> tuple[list[int], list[int]]:
    """As `reading.ranks_of`."""
    rows, image_of = reading.candidates(split, language)
    assert [image for image, _ in asked[language]] == [image for image, _ in split.sentences[language]]
    sentences = embed_sentences(
        weights, settings, {language: [words for _, words in asked[language]]}, training=False
    )[language]
    images = embed_images(weights, split.features[rows])
    return reading.ranks_among(sentences @ images.T, image_of)

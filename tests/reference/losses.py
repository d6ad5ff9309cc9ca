"""The losses of the papers. `slots`: for each vector the place of its image in the batch.

`triplets` has the margin, the number of hardest negatives and the kind of distance; `ranking` the margin and
the kind of hinge; `weights` the factors of MULE's Equation 3.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from reference.layers import Weights, linear, unit

Settings = Mapping[str, Any]
Slots = Mapping[str, Tensor]


def distances(first: Tensor, second: Tensor, kind: str) -> Tensor:
    """Distance of every vector of the first to every one of the second."""
    if kind == "cosine":
        return 1 - first @ second.T
    lengths = first.square().sum(1)[:, None] + second.square().sum(1)
    return ((lengths - 2 * first @ second.T).clamp(min=0) + 1e-4).sqrt()  # |a - b|^2 = a a + b b - 2 a b


def mean_of_hardest(violations: Tensor, negative: Tensor, count: int) -> Tensor:
    """Mean over anchors of their `count` most violated constraints with a negative; zeros count."""
    count = min(count, int(negative.sum(1).min()))
    return violations.masked_fill(~negative, -torch.inf).topk(count, 1).values.clamp(min=0).mean()


def alignment_loss(
    anchors: Tensor, slots: Tensor, candidates: Tensor, other_slots: Tensor, triplets: Settings
) -> Tensor:
    """Each anchor is nearer to the farthest candidate of its image than to candidates of other images."""
    between = distances(anchors, candidates, triplets["distance"])
    same = slots[:, None] == other_slots
    farthest = between.masked_fill(~same, -torch.inf).amax(1, keepdim=True)
    return mean_of_hardest(triplets["margin"] + farthest - between, ~same, triplets["num_hard_negatives"])


def matching_loss(
    images: Tensor, sentences: Tensor, slots: Tensor, triplets: Settings, weights: Settings
) -> Tensor:
    """MULE, Equation 3, of one language, with Wang et al.'s (2019) term between an image's sentences."""
    margin, count = triplets["margin"], triplets["num_hard_negatives"]
    between = distances(sentences, images, triplets["distance"])  # (B, n)
    positive = between.gather(1, slots[:, None])  # (B, 1)
    other_image = slots[:, None] != torch.arange(len(images))
    image_term = mean_of_hardest(margin + positive - between, other_image, count)
    from_image = between[:, slots].T  # (B, B): from each sentence's image to every sentence
    sentence_term = mean_of_hardest(margin + positive - from_image, slots[:, None] != slots, count)
    sentence_only = alignment_loss(sentences, slots, sentences, slots, triplets)
    terms = {"image": image_term, "sentence": sentence_term, "sentence_only": sentence_only}
    return torch.stack([weights[name] * term for name, term in terms.items()]).sum()


def score_matching_loss(scores: Tensor, image_of: Tensor, triplets: Settings, weights: Settings) -> Tensor:
    """SMALR, Section 3.4: MULE's Equation 3 on scores (B, n), whose distance is 1 - score."""
    margin, count = triplets["margin"], triplets["num_hard_negatives"]
    right = scores.gather(1, image_of[:, None])
    other_image = image_of[:, None] != torch.arange(scores.shape[1])
    image_term = mean_of_hardest(margin + scores - right, other_image, count)
    from_image = scores[:, image_of].T  # (B, B): of each sentence's image with every sentence
    sentence_term = mean_of_hardest(margin + from_image - right, image_of[:, None] != image_of, count)
    return torch.stack([weights["image"] * image_term, weights["sentence"] * sentence_term]).sum()


def neighborhood_loss(vectors: Mapping[str, Tensor], slots: Slots, triplets: Settings) -> Tensor:
    """MULE, Equation 1, on one layer: mean over pairs of languages.

    Anchors are the sentences whose image has both languages.
    """
    losses = []
    for first, second in combinations(vectors, 2):
        both = torch.isin(slots[first], slots[second])
        if both.any():
            anchors, places = vectors[first][both], slots[first][both]
            losses.append(alignment_loss(anchors, places, vectors[second], slots[second], triplets))
    return torch.stack(losses).mean()


def classifier_losses(
    weights: Weights, universal: Mapping[str, Tensor], languages: Sequence[str], mean_over: str
) -> tuple[Tensor, Tensor]:
    """MULE, Equation 2, for the classifier, which minimises it, and for all else, which maximises it."""
    labels = torch.tensor(
        [[languages.index(language)] for language, vectors in universal.items() for _ in vectors]
    )

    def loss(vectors: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        each = -(vectors @ weight.T + bias).log_softmax(1).gather(1, labels)
        if mean_over == "sentences":
            return each.mean()
        return torch.stack([each[labels == label].mean() for label in labels.unique()]).mean()

    vectors = torch.cat(list(universal.values()))
    weight, bias = weights["classifier.weight"], weights["classifier.bias"]
    return loss(vectors.detach(), weight, bias), loss(vectors, weight.detach(), bias.detach())


def similarities(captions: Tensor, images: Tensor, kind: str) -> Tensor:
    """Cosine, or how far a caption is from being above an image (Vendrov et al. 2016, Equation 2)."""
    if kind == "cosine":
        return captions @ images.T
    return -(captions[:, None] - images[None]).clamp(min=0).square().sum(-1)


def ranking_loss(similarity: Tensor, same: Tensor, ranking: Settings) -> Tensor:
    """*Lessons*, Section 3: sum over pairs, in both directions, of all their hinges or of the worst one.

    Args:
        similarity, same: (B, C), of all captions with all images, and which of them are a pair.
    """
    total = similarity.new_zeros(())
    for matrix, pairs in ((similarity, same), (similarity.T, same.T)):
        for row, column in pairs.nonzero().tolist():
            contrast = matrix[row][~pairs[row]]
            hinges = (ranking["margin"] - matrix[row, column] + contrast).clamp(min=0)
            if len(hinges):
                total = total + (hinges.sum() if ranking["hinge"] == "sum" else hinges.max())
    return total


def annealed_loss(similarity: Tensor, same: Tensor, margin: float, share: float) -> Tensor:
    """LIWE (Wehrmann et al. 2019): from all hinges at a share of 0 to the worst ones at 1."""
    every, worst = (
        ranking_loss(similarity, same, {"margin": margin, "hinge": hinge}) for hinge in ("sum", "max")
    )
    return (1 - share) * every + share * worst


def reconstruction_loss(
    weights: Weights, layer: str, masked: Mapping[str, Tensor], whole: Mapping[str, Tensor], slots: Slots
) -> Tensor:
    """SMALR, Equation 2: mean over pairs of languages of the mean over their pairs of sentences.

    An image's k-th sentence in one language goes with its k-th in the other; the one with fewer repeats them.

    Args:
        layer: name of the linear layer that predicts what two masked sentences lack.
    """
    losses = []
    for one, two in combinations(masked, 2):
        rows = sentence_pairs(slots[one].tolist(), slots[two].tolist())
        if not rows:
            continue
        first, second = (list(of_language) for of_language in zip(*rows, strict=True))
        lacking = masked[one][first], masked[two][second]
        predicted = linear(weights, layer, torch.cat(lacking, 1)).chunk(2, 1)
        target = whole[one][first], whole[two][second]
        each = [
            (unit(vectors + rest) - unit(right)).square().sum(1).sqrt()
            for vectors, rest, right in zip(lacking, predicted, target, strict=True)
        ]
        losses.append((each[0] + each[1]).mean())
    return torch.stack(losses).mean()


def sentence_pairs(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Rows of the sentences that form a pair, from the slots of their images in two languages."""
    rows: list[dict[int, list[int]]] = [{}, {}]
    for of_image, slots in zip(rows, (first, second), strict=True):
        for row, slot in enumerate(slots):
            of_image.setdefault(slot, []).append(row)
    pairs = []
    for slot in sorted(set(first) & set(second)):
        ones, twos = (of_image[slot] for of_image in rows)
        pairs += [(ones[k % len(ones)], twos[k % len(twos)]) for k in range(max(len(ones), len(twos)))]
    return pairs

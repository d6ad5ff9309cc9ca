"""A small translator that learns from human translations of captions: stage `train-translator`.

A Transformer (Vaswani et al. 2017) for each direction; both languages share a vocabulary of word pieces (Kudo
and Richardson 2018). Its folder is a Marian model, which the provider `marian` reads like any other. One
network for six directions learned several times more slowly than six networks (docs/translation.md).
"""

import hashlib
import json
import logging
import math
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import sentencepiece
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_folder
from pipeline.datasets.split import read_split
from pipeline.training.loop import Job, train_steps, training_device
from pipeline.training.settings import TranslatorSettings
from pipeline.translation.parallel import pairs_between, parallel_captions
from pipeline.translation.quality import scores

log = logging.getLogger("pipeline")
transformers.logging.disable_progress_bar()

_LONGEST = 100  # word pieces of a caption; longer captions are cut in training
_POOL = 50  # batches among which captions are sorted by length, so that little is padded
_SMOOTHING = 0.1  # probability spread over all word pieces
_WARM_UP = 0.1  # fraction of all steps, in which the learning rate rises
_LATEST = 8  # the mean of a translator's weights is over about the last eighth of its steps


def train_translator(
    source: str,
    target: str,
    settings: TranslatorSettings,
    splits: Sequence[Path],
    checkpoint: Path,
    output: Path,
    code: str,
    multi30k: Path | None = None,
    captions: Sequence[Path] = (),
) -> None:
    """Train a small translator on human translations of captions, which serve in both directions.

    Args:
        source: ISO 639-1 code.
        target: ISO 639-1 code.
        settings: JSON: keys of `translation.translator`, and threads, as `snakemake -np` prints them.
        splits: outputs of `split`: their images are held out, or (`held_out: test`) only their validation and
            test images.
        checkpoint: file from which a killed run resumes.
        output: folder to write, in the form of the library transformers, with the curves of the training.
        multi30k: folder with the files of Multi30K's task 1, laid out as HOST/PATH, in place of captions.
        captions: caption tables of both languages.

    Raises:
        InputError: there are too few human translations of images that are not held out.
    """
    parallel = parallel_captions(multi30k, captions, "train")
    human = pairs_between(parallel[parallel["origin"] == "human"], source, target)
    pairs, validation = _divide(human, splits, settings)
    digest = hashlib.sha256(pairs.to_csv(index=False).encode()).hexdigest()[:16]
    log.info(
        "translator %s-%s: learns from %d captions, validates with %d",
        source, target, len(pairs), len(validation),
    )  # fmt: skip
    fingerprint = hashlib.sha256(f"{settings.as_json()} {code} {digest}".encode()).hexdigest()
    device = training_device(settings.seed, settings)
    with atomic_folder(output) as folder:
        tokenizer = _tokenizer(pairs, settings.vocabulary_size, folder)
        network = _network(tokenizer, settings)
        network.config.trained_on = digest
        model = _Averaged(network).to(device)
        averaged: Any = model.average.module
        data = _Sentences(pairs, tokenizer)
        batches = BatchesByLength(data.lengths, settings)
        state = train_steps(
            Job(checkpoint, [], fingerprint, curves=checkpoint.with_suffix(".csv")),
            model,
            lambda step: {"cross_entropy": model.loss(*data.batch(batches[step], device))},
            seed=settings.seed,
            steps=settings.steps,
            validate_every=min(settings.validate_every, settings.steps),
            rate=lambda step: _rate(step + 1, settings),
            validate=lambda: {"BLEU": _bleu(averaged, tokenizer, validation, target)},
            score="BLEU",
            max_grad_norm=1.0,
        )
        model.load_state_dict(state.best_weights)
        averaged.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        pd.DataFrame(state.curves).to_csv(folder / "curves.csv", index=False)


def _divide(
    pairs: pd.DataFrame, splits: Sequence[Path], settings: TranslatorSettings
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs to learn from, and pairs of other images to validate with, without images that are held out."""
    held_out = {
        image
        for path in splits
        for image, split in read_split(path).items()
        if settings.held_out == "run" or split != "train"
    }
    pairs = pairs[~pairs["image"].isin(held_out)]
    images = pairs["image"].drop_duplicates()
    if len(images) < 2 * settings.validation_images:
        raise InputError(
            f"translation.translator: found human translations of {len(images)} images that are not "
            f"held out, expected at least {2 * settings.validation_images}, twice validation_images. "
            f"Choose another provider, or lower validation_images (held_out: {settings.held_out})."
        )
    validated = pairs["image"].isin(images.sample(settings.validation_images, random_state=settings.seed))
    return pairs[~validated], pairs[validated]


def _tokenizer(pairs: pd.DataFrame, size: int, folder: Path) -> MarianTokenizer:
    """A tokeniser of one vocabulary for both sides, which it writes to a folder."""
    model = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*pairs["caption"], *pairs["translation"]]),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,  # a small corpus has fewer pieces
        character_coverage=1.0,
        bos_id=-1,
        num_threads=1,  # sums in another order give other pieces
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    vocabulary = [*(pieces.id_to_piece(number) for number in range(len(pieces))), "<pad>"]
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.getvalue())
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    return MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"))


def _network(tokenizer: MarianTokenizer, settings: TranslatorSettings) -> MarianMTModel:
    """The Transformer, with weights drawn at random."""
    config = MarianConfig(
        vocab_size=len(tokenizer.get_vocab()),
        d_model=settings.size,
        encoder_layers=settings.layers,
        decoder_layers=settings.layers,
        encoder_ffn_dim=2 * settings.size,
        decoder_ffn_dim=2 * settings.size,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        activation_function="relu",
        dropout=settings.dropout,
        max_position_embeddings=256,
        scale_embedding=True,
        init_std=settings.size**-0.5,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    return MarianMTModel(config)


def _mean(mean: Tensor, weights: Tensor, steps: Tensor | int) -> Tensor:
    """A mean in which later steps count for more (polynomial-decay averaging, Shamir and Zhang 2013)."""
    return torch.lerp(mean, weights, _LATEST / (int(steps) + _LATEST))


class _Averaged(nn.Module):
    """A translator, and the mean of its weights over its latest steps, which translates better."""

    def __init__(self, network: MarianMTModel):
        super().__init__()
        self.network = network
        self.average = AveragedModel(network, avg_fn=_mean)
        self.average.requires_grad_(False)

    def loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of padded translations (B, T), given padded captions (B, S).

        The mean takes in the weights of the step before.
        """
        self.average.update_parameters(self.network)
        padding = self.network.config.pad_token_id
        states = self.network.model(
            input_ids=inputs,
            attention_mask=inputs != padding,
            decoder_input_ids=F.pad(labels, (1, -1), value=padding),
        ).last_hidden_state
        present = labels != padding  # no product is computed for padding
        logits = self.network.lm_head(states[present])
        return F.cross_entropy(logits, labels[present], label_smoothing=_SMOOTHING)


class _Sentences:
    """Captions and their translations as ids of word pieces."""

    def __init__(self, pairs: pd.DataFrame, tokenizer: MarianTokenizer):
        self.inputs, self.labels = (
            list(map(torch.tensor, tokenizer(list(texts), truncation=True, max_length=_LONGEST)["input_ids"]))
            for texts in (pairs["caption"], pairs["translation"])
        )
        self.lengths = torch.tensor([len(ids) for ids in self.labels])
        self.padding = tokenizer.pad_token_id

    def batch(self, rows: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
        """Captions (B, S) and their translations (B, T), padded."""
        sides = ([side[row] for row in rows] for side in (self.inputs, self.labels))
        inputs, labels = (
            nn.utils.rnn.pad_sequence(side, batch_first=True, padding_value=self.padding) for side in sides
        )
        return inputs.to(device), labels.to(device)


class BatchesByLength:
    """The rows of each step: in each epoch all rows in another order, in batches of similar lengths."""

    def __init__(self, lengths: Tensor, settings: TranslatorSettings):
        self.lengths, self.size, self.seed = lengths, settings.batch_size, settings.seed
        self.steps = -(-len(lengths) // self.size)
        self.epoch, self.batches = -1, list[list[int]]()

    def __getitem__(self, step: int) -> list[int]:
        epoch, place = divmod(step, self.steps)
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, self._batches(epoch)
        return self.batches[place]

    def _batches(self, epoch: int) -> list[list[int]]:
        random = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        rows = torch.randperm(len(self.lengths), generator=random)
        pools = [pool[self.lengths[pool].argsort(stable=True)] for pool in rows.split(_POOL * self.size)]
        batches = torch.cat(pools).split(self.size)
        return [batches[number].tolist() for number in torch.randperm(len(batches), generator=random)]


def _rate(step: int, settings: TranslatorSettings) -> float:
    """The learning rate of a step, numbered from 1: rises linearly, then falls with the inverse root."""
    warm_up = max(1, round(_WARM_UP * settings.steps))
    return settings.learning_rate * min(step / warm_up, math.sqrt(warm_up / step))


@torch.inference_mode()
def _bleu(network: Any, tokenizer: MarianTokenizer, validation: pd.DataFrame, target: str) -> float:
    """BLEU of greedy search."""
    network.eval()
    inputs = tokenizer(
        list(validation["caption"]), return_tensors="pt", padding=True, truncation=True, max_length=_LONGEST
    )
    outputs = network.generate(**inputs.to(network.device), num_beams=1, max_length=_LONGEST)
    answers = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return float(scores(answers, list(validation["translation"]), target)["BLEU"])

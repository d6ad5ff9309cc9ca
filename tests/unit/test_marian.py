"""Marian models: a tiny one made here, with SentencePiece from a few sentences and random weights."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from pipeline.common.errors import InputError
from pipeline.translation.cache import Cache
from pipeline.translation.marian import MarianTranslator
from pipeline.translation.settings import MarianProvider

SENTENCES = [
    "a dog runs",
    "a cat sleeps on the red house",
    "two dogs and a cat",
    "ein hund rennt",
    "die katze",
]
CAPTIONS = [
    "a dog runs",
    "a cat sleeps on the red house",
    "two dogs",
    "a\ncat",
    "the red dog and the red cat",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as opus-mt's are laid out."""
    sentencepiece = pytest.importorskip("sentencepiece")
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path_factory.mktemp("marian")
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES * 10), model_prefix=str(folder / side), vocab_size=50,
            hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    words = [pieces.id_to_piece(number) for number in range(pieces.get_piece_size())]
    words = ["</s>", "<unk>", *(word for word in words if word not in ("<s>", "</s>", "<unk>")), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    torch.manual_seed(0)
    pad = len(words) - 1
    config = transformers.MarianConfig(
        vocab_size=len(words), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64,
        pad_token_id=pad, eos_token_id=0, bos_token_id=None, decoder_start_token_id=pad,
        forced_eos_token_id=0,
    )  # fmt: skip
    transformers.MarianMTModel(config).save_pretrained(folder)
    return folder


def translator(model: object, cache: Path, **settings: Any) -> MarianTranslator:
    values = {"provider": "marian", "model": str(model), **settings}
    return MarianTranslator("en", "de", MarianProvider(**values), cache)


def test_a_model_from_a_folder_answers_every_caption_once(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = translator(model, tmp_path / "cache.sqlite", batch_size=2)
    answers = first.translate(CAPTIONS)
    stored = {caption: answer for caption, answer in zip(CAPTIONS, answers, strict=True) if answer}
    assert Cache(tmp_path / "cache.sqlite").answers(first.model) == stored
    second = translator(model, tmp_path / "cache.sqlite")
    with caplog.at_level("INFO"):
        assert second.translate(CAPTIONS[::-1]) == answers[::-1]
    assert f"{len(CAPTIONS) - len(stored)} to request" in caplog.text


def test_beams_change_a_translation_and_batches_do_not(model: Path, tmp_path: Path) -> None:
    alone = translator(model, tmp_path / "a.sqlite", batch_size=1).translate(CAPTIONS)
    together = translator(model, tmp_path / "b.sqlite", batch_size=5).translate(CAPTIONS)
    assert alone == together
    assert any(alone)
    assert translator(model, tmp_path / "c.sqlite", beams=1).translate(CAPTIONS) != alone


def test_the_version_depends_on_the_weights_and_the_options(model: Path, tmp_path: Path) -> None:
    def version(folder: Path = model, **settings: Any) -> str:
        return translator(folder, tmp_path / "cache.sqlite", **settings).version

    usual = version()
    assert version(batch_size=7) == usual
    assert len({usual, version(beams=1), version(prefix=">>deu<<")}) == 3
    other = tmp_path / "other"
    shutil.copytree(model, other)
    assert version(other) == usual
    weights = load_file(other / "model.safetensors")
    save_file({name: value + 1 for name, value in weights.items()}, other / "model.safetensors")
    assert version(other) != usual


def test_the_prefix_precedes_every_caption(model: Path, tmp_path: Path) -> None:
    """It tells a multilingual model which language to translate into; here it is words of the captions."""
    with_prefix = translator(model, tmp_path / "cache.sqlite", prefix="the red").translate(
        ["a\ncat", "two dogs"]
    )
    without = translator(model, tmp_path / "cache.sqlite").translate(["the red a cat", "the red two dogs"])
    assert with_prefix == without


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    with pytest.raises(InputError, match="not a Marian model"):
        translator(tmp_path, tmp_path / "cache.sqlite")

"""Marian models: a tiny one made here, with SentencePiece from a few sentences and random weights."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.common.errors import InputError
from pipeline.translation.cache import Cache
from pipeline.translation.machine import machine_translator
from pipeline.translation.settings import Limits, TranslatorSettings

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


def translator(model: object, cache: Path, **settings: Any) -> Any:
    marian = TranslatorSettings(**{"model": str(model), "device": "cpu", **settings})
    return machine_translator("marian", "en", "de", marian, cache, Limits())


def test_a_model_from_a_folder_answers_every_caption_once(model: Path, tmp_path: Path) -> None:
    first = translator(model, tmp_path / "cache.sqlite", batch_size=2)
    answers = first.translate(CAPTIONS)
    assert len(answers) == len(CAPTIONS)
    assert Cache(tmp_path / "cache.sqlite").answers(first.engine.model, CAPTIONS) == dict(
        zip(CAPTIONS, answers, strict=True)
    )
    second = translator(model, tmp_path / "cache.sqlite")
    second.engine.translate = None  # must not be called
    assert second.translate(CAPTIONS[::-1]) == answers[::-1]


def test_batches_do_not_change_a_translation(model: Path, tmp_path: Path) -> None:
    alone = translator(model, tmp_path / "a.sqlite", batch_size=1).translate(CAPTIONS)
    together = translator(model, tmp_path / "b.sqlite", batch_size=5).translate(CAPTIONS)
    assert alone == together
    assert any(alone)


def test_the_version_depends_on_the_files_and_the_options(model: Path, tmp_path: Path) -> None:
    def version(**settings: Any) -> str:
        return str(translator(model, tmp_path / "cache.sqlite", **settings).engine.model.version)

    usual = version()
    assert version(batch_size=7) == usual
    assert len({usual, version(beams=1), version(prefix=">>deu<<")}) == 3
    kept = (model / "config.json").read_text()
    (model / "config.json").write_text(kept + " ")
    assert version() != usual
    (model / "config.json").write_text(kept)
    assert version() == usual


def test_the_prefix_precedes_every_caption(model: Path, tmp_path: Path) -> None:
    """It tells a multilingual model which language to translate into."""
    asked: list[str] = []
    for prefix in ("", ">>deu<<"):
        marian = translator(model, tmp_path / "cache.sqlite", prefix=prefix)
        engine = marian.engine
        tokenizer = engine._tokenizer

        def record(lines: list[str], tokenizer: Any = tokenizer, **options: Any) -> Any:
            asked.extend(lines)
            return tokenizer(lines, **options)

        engine._tokenizer = record
        record.batch_decode = tokenizer.batch_decode  # type: ignore[attr-defined]
        marian.translate(["a\ncat", "two dogs"])
    assert sorted(asked) == [">>deu<< a cat", ">>deu<< two dogs", "a cat", "two dogs"]


def test_languages_are_filled_into_the_models_name(model: Path, tmp_path: Path) -> None:
    (tmp_path / "opus-en-de").symlink_to(model)
    name = str(tmp_path / "opus-{source}-{target}")
    by_path = translator(model, tmp_path / "a.sqlite").translate(CAPTIONS)
    assert translator(name, tmp_path / "b.sqlite").translate(CAPTIONS) == by_path


def test_what_a_folder_lacks_is_listed(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    with pytest.raises(
        InputError, match=r"(?s)source.spm is missing.*vocab.json is missing.*model.safetensors or"
    ):
        translator(tmp_path, tmp_path / "cache.sqlite")


def test_without_a_model_nothing_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'model' is missing"):
        machine_translator("marian", "en", "de", TranslatorSettings(), tmp_path / "cache.sqlite", Limits())


@pytest.mark.extended
def test_an_absent_package_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['sentencepiece'] = None\n"
        "from pathlib import Path\n"
        "from pipeline.translation.machine import machine_translator\n"
        "from pipeline.translation.settings import Limits, TranslatorSettings\n"
        f"cache, settings = Path({str(tmp_path / 'c')!r}), TranslatorSettings(model='x')\n"
        "machine_translator('marian', 'en', 'de', settings, cache, Limits())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "provider marian: the package sentencepiece is not installed" in done.stderr

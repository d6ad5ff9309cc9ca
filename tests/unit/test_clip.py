"""The recalls of a frozen CLIP of the real architecture, small and with random weights."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from frozen import KINDS, SAID, write_model
from PIL import Image
from safetensors.torch import load_file, save_file

from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.evaluation import clip as module
from pipeline.evaluation.clip import EmbeddingCache, FrozenClip, check_models, evaluate_clip
from pipeline.evaluation.settings import ContextSettings
from pipeline.images.lists import COLUMNS, write_table
from pipeline.tables.context import tabulate_clip

IMAGES = 12
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an AltCLIP, which reads several languages by an XLM-R."""
    return write_model("AltCLIP", tmp_path_factory.mktemp("altclip"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Photographs of noise, and captions in no order of images; only the first half has German captions."""
    draw = np.random.default_rng(0)
    rows, paths = [], []
    for number in draw.permutation(IMAGES):
        image = f"image{number:02d}"
        Image.fromarray(draw.integers(0, 256, (40, 50, 3), np.uint8)).save(tmp_path / f"{image}.png")
        paths.append((image, str(tmp_path / f"{image}.png")))
        for language in ("en", "de") if number < IMAGES // 2 else ("en",):
            for text in draw.permutation(SAID[language])[:2]:
                split = "train" if number == 3 else "test"
                rows.append((image, split, language, f"{text} {number}", "human", ""))
    write_table(tmp_path / "images.csv", COLUMNS, paths)
    table = caption_table(rows)
    for language in SAID:
        sentences = with_tokens(table[table["language"] == language], language)
        write_sentences(sentences, tmp_path / f"{language}.csv")
    return tmp_path


SETTINGS: dict[str, Any] = {
    "scale": "demo",
    "dataset": "noise",
    "languages": ["en", "de"],
    "caption_origins": {},
    "threads": 1,
}


def measure(clip: Path, data: Path, **changed: Any) -> pd.DataFrame:
    """The context of the data, by language."""
    sentences = [data / "en.csv", data / "de.csv"]
    settings = ContextSettings(**(SETTINGS | changed))
    evaluate_clip(str(clip), sentences, data / "images.csv", settings, data / "partial", data / "c.csv")
    table = pd.read_csv(data / "c.csv")
    assert [*table][:4] == ["model", "scale", "dataset", "language"]
    return table.set_index("language")


def pictures(data: Path, images: list[str]) -> list[Image.Image]:
    return [Image.open(data / f"{image}.png").convert("RGB") for image in images]


@pytest.mark.parametrize("kind", list(KINDS))
def test_similarities_are_those_of_the_models_own_forward_pass(
    kind: str, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its logits, without scale and bias: projected vectors of unit length, not the towers' own outputs."""
    folder = write_model(kind, tmp_path_factory.mktemp(kind))
    model = FrozenClip(str(folder), CPU)
    images = pictures(data, ["image01", "image04", "image09"])
    texts = ["a dog in the snow", "vögel", "ein auto"]
    found = model.embed_sentences(texts) @ model.embed_images(images).T
    whole = transformers.AutoModel.from_pretrained(folder)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    taken = processor.image_processor(images=images, return_tensors="pt")
    if "SigLIP" in kind:  # whole lengths and no mask, as it was trained
        whole_length = whole.config.text_config.max_position_embeddings
        tokens = processor.tokenizer(
            texts, padding="max_length", max_length=whole_length, return_tensors="pt"
        )
        taken |= {"input_ids": tokens["input_ids"]}
    else:
        tokens = processor.tokenizer(texts, padding=True, return_tensors="pt")
        taken |= {key: tokens[key] for key in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        logits = whole(**taken)
        bias = getattr(whole, "logit_bias", torch.zeros(1))
        expected = (logits.logits_per_text - bias) / whole.logit_scale.exp()
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert found.std() > 1e-4
    assert model.architecture == type(whole).__name__
    capital = model.embed_sentences(["Vögel"]) @ model.embed_images(images).T
    # SigLIP 2 was trained on lower case; others read capitals as they are.
    assert torch.allclose(capital[0], found[1], atol=1e-6) == (kind == "SigLIP2")


def plain_recalls(similar: np.ndarray, own: np.ndarray, margin: float) -> list[float]:
    """R@1, 5 and 10 in percent, image queries first, with near ties all won or all lost.

    Args:
        similar: cosines, (sentences, images).
        own: the image of each sentence.
        margin: a candidate ranks above the right one from this much below it (negative: above it).
    """
    to_image = [
        int((np.delete(row, place) > row[place] - margin).sum()) + 1
        for row, place in zip(similar, own, strict=True)
    ]
    to_sentence = [
        min(
            int((column[own != place] > column[row] - margin).sum()) + 1
            for row in np.flatnonzero(own == place)
        )
        for place, column in enumerate(similar.T)
    ]
    return [
        float(100 * np.mean(np.array(ranks) <= k)) for ranks in (to_sentence, to_image) for k in (1, 5, 10)
    ]


def test_recalls_are_those_of_the_whole_matrix(clip: Path, data: Path) -> None:
    found = measure(clip, data)
    model = FrozenClip(str(clip), CPU)
    for language, count in (("en", IMAGES - 1), ("de", IMAGES // 2 - 1)):
        table = pd.read_csv(data / f"{language}.csv").query("split == 'test'")
        images = sorted(set(table["image"]))
        assert len(images) == count
        seen = model.embed_images(pictures(data, images))
        sentence_vectors = model.embed_sentences(list(table["caption"]))
        similar = (sentence_vectors @ seen.T).numpy()
        own = np.array([images.index(image) for image in table["image"]])
        recalls = found.loc[language, [f"{way}_R@{k}" for way in ("i2s", "s2i") for k in (1, 5, 10)]]
        # Vectors of other batches are equal up to rounding, which may exchange two similarities.
        for rounding, compare in ((1e-6, np.less_equal), (-1e-6, np.greater_equal)):
            expected = plain_recalls(similar, own, rounding)
            assert compare(expected, recalls.to_numpy(float) + 1e-5 * np.sign(rounding)).all()
        assert found.loc[language, "mR"] == pytest.approx(recalls.mean(), abs=1e-5)
        assert (found.loc[language, "images"], found.loc[language, "sentences"]) == (count, len(table))
    weights = transformers.AltCLIPModel.from_pretrained(clip).state_dict()
    assert found["parameters"].iloc[0] == sum(
        one.numel() for name, one in weights.items() if "position_ids" not in name
    )


def test_a_killed_run_resumes_with_the_vectors_it_had(
    clip: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHARD", 4)
    monkeypatch.setattr(module, "BATCH", 3)
    speeds = ["images_per_second", "sentences_per_second"]
    whole = measure(clip, data).drop(columns=speeds)
    assert not (data / "partial").exists()
    embed, calls = FrozenClip.embed_sentences, []

    def die(self: FrozenClip, sentences: list[str]) -> torch.Tensor:
        calls.append(sentences)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return embed(self, sentences)

    monkeypatch.setattr(FrozenClip, "embed_sentences", die)
    with pytest.raises(KeyboardInterrupt):
        measure(clip, data)
    kept = sorted((data / "partial").glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)
    assert len(kept) == 4  # 11 images, and 4 of the English sentences
    kept[0].write_bytes(kept[0].read_bytes()[:100])  # damaged, so computed again
    monkeypatch.setattr(FrozenClip, "embed_images", lambda self, images: pytest.fail("embedded again"))
    with pytest.raises(pytest.fail.Exception):
        measure(clip, data)
    monkeypatch.undo()
    monkeypatch.setattr(module, "SHARD", 4)
    monkeypatch.setattr(module, "BATCH", 3)
    pd.testing.assert_frame_equal(measure(clip, data).drop(columns=speeds), whole)


def test_vectors_of_another_photograph_or_model_are_not_reused(
    clip: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Saved vectors of an earlier run are only used for the same model, pictures and texts."""
    model = FrozenClip(str(clip), CPU)
    paths = [data / "image01.png", data / "image02.png"]
    first = EmbeddingCache(data / "partial", model).images(paths)[0]
    Image.new("RGB", (40, 40), "red").save(paths[1])
    second = EmbeddingCache(data / "partial", model).images(paths)[0]
    assert torch.equal(first[0], second[0])
    assert not torch.allclose(first[1], second[1], atol=1e-4)
    torch.manual_seed(1)
    other = tmp_path_factory.mktemp("other")
    KINDS["AltCLIP"](other)
    third = EmbeddingCache(data / "partial", FrozenClip(str(other), CPU)).images(paths)[0]
    assert not torch.allclose(third[0], first[0], atol=1e-4)


def test_a_mended_processor_and_other_code_embed_again(
    clip: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(clip, mended := tmp_path / "mended")
    processor = mended / "processor_config.json"
    values = json.loads(processor.read_text())
    values["image_processor"]["image_mean"] = [0.1, 0.2, 0.3]
    processor.write_text(json.dumps(values))
    embedded = []

    def embed(*of: Any) -> tuple[torch.Tensor, float]:
        embedded.append(of)
        return torch.ones(1, 2), 1.0

    monkeypatch.setattr(module, "_embed_and_time", embed)
    for folder, code in ((clip, "a"), (clip, "a"), (mended, "a"), (clip, "b")):
        EmbeddingCache(data / "partial", FrozenClip(str(folder), CPU), code).sentences(["a dog"], "en")
    assert len(embedded) == 3


def test_a_model_that_is_not_a_clip_is_refused(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a folder of a whole model with its processor nor a name"):
        FrozenClip(str(tmp_path), CPU)
    values = json.loads((clip / "config.json").read_text())
    assert values["model_type"] == "altclip"
    text = transformers.XLMRobertaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.XLMRobertaModel(text).save_pretrained(tmp_path / "text")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "text" / name).write_bytes((clip / name).read_bytes())
    with pytest.raises(InputError, match="does not embed both texts and images"):
        FrozenClip(str(tmp_path / "text"), CPU)


def test_no_code_of_a_model_is_run(tmp_path: Path) -> None:
    """Nor does the library ask whether it may run it."""
    named = {"AutoConfig": "mine.Config", "AutoModel": "mine.Model", "AutoProcessor": "mine.Processor"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mine", "auto_map": named}))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InputError, match="neither a folder of a whole model"):
        FrozenClip(str(tmp_path), CPU)
    assert not (tmp_path / "ran").exists()


def test_missing_or_damaged_weights_are_refused(clip: Path, tmp_path: Path) -> None:
    """The library would initialise missing weights at random, with only a warning."""
    for name in ("lacking", "cut"):
        (tmp_path / name).mkdir()
        for file in clip.iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    weights = load_file(clip / "model.safetensors")
    del weights["text_projection.weight"]
    save_file(weights, tmp_path / "lacking" / "model.safetensors", {"format": "pt"})
    whole = (clip / "model.safetensors").read_bytes()
    (tmp_path / "cut" / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError) as caught:
        check_models([str(tmp_path / "lacking"), str(clip), str(tmp_path / "cut"), str(tmp_path / "none")])
    lines = str(caught.value).splitlines()
    assert lines[0] == "Models of `context` that cannot be used:"
    assert (
        "lacking: 1 of its weights are missing, the first text_projection.weight. Fetch it again." in lines[1]
    )
    assert "cut: neither a folder of a whole model" in lines[2]
    assert "none: neither a folder of a whole model" in lines[3]
    assert len(lines) == 4


def test_a_missing_photograph_is_named(clip: Path, data: Path) -> None:
    lines = (data / "images.csv").read_text().splitlines()
    (data / "images.csv").unlink()  # and its digest
    (data / "images.csv").write_text("\n".join(line for line in lines if "image05" not in line) + "\n")
    with pytest.raises(InputError, match="1 test images are not in it, the first:\n  - image05"):
        measure(clip, data)


def test_photographs_that_do_not_decode_are_named(clip: Path, data: Path) -> None:
    for name in ("image05.png", "image08.png"):
        (data / name).write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"image05\.png: not an image of a supported kind.*\n.*image08\.png"):
        measure(clip, data)


def test_the_table_has_the_rows_of_all_parts_as_they_were_written(clip: Path, data: Path) -> None:
    measure(clip, data)
    first = (data / "c.csv").read_text()
    second = first.replace("noise", "other")
    (data / "d.csv").write_text(second)
    tabulate_clip([data / "d.csv", data / "c.csv"], data / "context.csv")
    _, *rows = first.splitlines()
    assert (data / "context.csv").read_text().splitlines()[1:] == [*second.splitlines()[1:], *rows]

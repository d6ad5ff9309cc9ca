"""The recalls of a frozen CLIP of the real architecture, small and with random weights."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pipeline.captions.sources import caption_table
from pipeline.captions.table import write_sentences
from pipeline.captions.tokenize import with_tokens
from pipeline.errors import InputError
from pipeline.images.lists import COLUMNS, write_table
from pipeline.search.context import FrozenClip, write_context

SAID = {
    "en": ["a dog in the snow", "a red car", "two birds"],
    "de": ["ein Hund im Schnee", "ein Auto", "Vögel"],
}
IMAGES = 12


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an AltCLIP, which reads several languages by an XLM-R."""
    folder = tmp_path_factory.mktemp("altclip")
    pieces = Tokenizer(models.Unigram())
    pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=special, unk_token="<unk>")
    digits = [" ".join("0123456789")]  # or captions of different images would be equal
    pieces.train_from_iterator([*digits, *(text for texts in SAID.values() for text in texts)] * 3, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", model_max_length=20,
    )  # fmt: skip
    tower = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    text = {**tower, "vocab_size": 100, "max_position_embeddings": 40, "project_dim": 12}
    vision = {**tower, "image_size": 32, "patch_size": 16}
    torch.manual_seed(0)
    config = transformers.AltCLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
    transformers.AltCLIPModel(config).save_pretrained(folder)
    reads = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    transformers.AltCLIPProcessor(reads, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Photographs of noise and captions: in German of the first half alone, in no order of images."""
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


SETTINGS = {"dataset": "noise", "languages": ["en", "de"], "caption_origins": {}}


def test_recalls_are_those_of_the_whole_matrix(clip: Path, data: Path) -> None:
    write_context(
        [str(clip)], [data / "en.csv", data / "de.csv"], data / "images.csv", SETTINGS, data / "c.csv"
    )
    found = pd.read_csv(data / "c.csv").set_index("language")
    model = FrozenClip(str(clip), torch.device("cpu"))
    for language, count in (("en", IMAGES - 1), ("de", IMAGES // 2 - 1)):
        table = pd.read_csv(data / f"{language}.csv").query("split == 'test'")
        images = sorted(set(table["image"]))
        assert len(images) == count
        seen = model.embed_images([Image.open(data / f"{image}.png").convert("RGB") for image in images])
        said = model.embed_sentences(list(table["caption"]))
        similar = (said @ seen.T).numpy()
        own = np.array([images.index(image) for image in table["image"]])
        to_image = [int((row > row[place]).sum()) + 1 for row, place in zip(similar, own, strict=True)]
        to_sentence = [
            min(int((column > column[row]).sum()) + 1 for row in np.flatnonzero(own == place))
            for place, column in enumerate(similar.T)
        ]
        expected = [
            100 * np.mean(np.array(ranks) <= k) for ranks in (to_sentence, to_image) for k in (1, 5, 10)
        ]
        measured = found.loc[language, [f"{way}_R@{k}" for way in ("i2s", "s2i") for k in (1, 5, 10)]]
        np.testing.assert_allclose(measured.to_numpy(float), expected, atol=1e-5)
        assert found.loc[language, "mR"] == pytest.approx(np.mean(expected), abs=1e-5)
        assert (found.loc[language, "images"], found.loc[language, "sentences"]) == (count, len(table))
    weights = transformers.AltCLIPModel.from_pretrained(clip).state_dict()
    assert found["parameters"].iloc[0] == sum(
        one.numel() for name, one in weights.items() if "position_ids" not in name
    )


def test_what_is_no_clip_is_refused(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a folder of a model with its processor nor a name"):
        FrozenClip(str(tmp_path), torch.device("cpu"))
    values = json.loads((clip / "config.json").read_text())
    assert values["model_type"] == "altclip"
    text = transformers.XLMRobertaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.XLMRobertaModel(text).save_pretrained(tmp_path / "text")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "text" / name).write_bytes((clip / name).read_bytes())
    with pytest.raises(InputError, match="embeds no texts and images alike"):
        FrozenClip(str(tmp_path / "text"), torch.device("cpu"))


def test_a_missing_photograph_is_named(clip: Path, data: Path) -> None:
    lines = (data / "images.csv").read_text().splitlines()
    (data / "images.csv").unlink()  # and its seal
    (data / "images.csv").write_text("\n".join(line for line in lines if "image05" not in line) + "\n")
    with pytest.raises(InputError, match="1 test images are not in it, the first:\n  - image05"):
        write_context(
            [str(clip)], [data / "en.csv", data / "de.csv"], data / "images.csv", SETTINGS, data / "c.csv"
        )

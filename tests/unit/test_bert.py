"""A small BERT and its frozen sentence vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertModel

from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.words.bert import pretrain_bert, training_captions, wordpiece
from pipeline.words.corpus import encode
from pipeline.words.sentence_vectors import embed_captions, load_bert, mean_pooled
from pipeline.words.settings import BertSettings, SentenceVectorSettings
from pipeline.words.vocabulary import Vocabulary, read_vocabulary

SMALL = BertSettings(
    caption_origins={}, max_tokens=12, layers=3, hidden_size=8, heads=2,
    vocabulary_size=120, steps=3, batch_size=4, learning_rate=1e-3, threads=1,
)  # fmt: skip
READ = SentenceVectorSettings(layer=-2, max_tokens=12, threads=1)
ENGLISH = ["A dog runs.", "Two dogs run on the red grass.", "A red cat sleeps.", "Cats and dogs sleep."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentence tables of two languages, and a BERT pretrained on them."""
    folder = tmp_path_factory.mktemp("bert")
    texts = {
        "en": ENGLISH,
        "de": ["Ein Hund läuft.", "Eine Katze schläft.", "Der Hund schläft.", "Rote Katze."],
    }
    for language, captions in texts.items():
        splits = ["train", "train", "val", "test"]
        rows = [(str(n), splits[n], language, caption, "human", "") for n, caption in enumerate(captions)]
        write_sentences(with_tokens(caption_table(rows), language), folder / f"{language}.csv")
    pretrain_bert([folder / "en.csv", folder / "de.csv"], SMALL, folder / "model")
    return folder


def test_pretraining_reads_training_captions_of_every_language(folder: Path) -> None:
    captions = training_captions([folder / "en.csv", folder / "de.csv"], {})
    assert captions == [*ENGLISH[:2], "Ein Hund läuft.", "Eine Katze schläft."]


def test_the_same_captions_and_seed_give_the_same_bert(folder: Path, tmp_path: Path) -> None:
    pretrain_bert([folder / "en.csv", folder / "de.csv"], SMALL, tmp_path / "model")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / "model" / name).read_bytes() == (folder / "model" / name).read_bytes()
    pretrain_bert(
        [folder / "en.csv", folder / "de.csv"], SMALL.model_copy(update={"seed": 1}), tmp_path / "other"
    )
    weights = (tmp_path / "other" / "model.safetensors").read_bytes()
    assert weights != (folder / "model" / "model.safetensors").read_bytes()


def test_pretraining_lowers_the_loss_it_trains(folder: Path, tmp_path: Path, caplog: Any) -> None:
    caplog.set_level("INFO", "pipeline")
    pretrain_bert(
        [folder / "en.csv"],
        SMALL.model_copy(update={"steps": 300, "learning_rate": 1e-2}),
        tmp_path / "model",
    )
    last = float(caplog.messages[-1].rsplit(" ", 1)[1])
    assert last < 0.7 * np.log(120)  # the loss of guessing among the word pieces


def test_letters_keep_case_and_accents(folder: Path) -> None:
    tokenizer, _ = load_bert(str(folder / "model"), -2)
    assert tokenizer.convert_ids_to_tokens(tokenizer("läuft")["input_ids"])[0] == "[CLS]"
    assert "ä" in "".join(tokenizer.tokenize("läuft"))
    assert [tokenizer.tokenize(letter) for letter in "Aa"] == [["A"], ["a"]]


def test_chinese_characters_are_single_tokens() -> None:
    pieces = wordpiece(["两个男人", "男人跑", "dog"], 60).get_vocab()
    assert {"男", "人", "##o"} <= set(pieces)
    assert not {"##人", "##男"} & set(pieces)


def test_a_vector_is_the_mean_of_the_layer_before_the_last_over_all_tokens(folder: Path) -> None:
    tokenizer, encoder = load_bert(str(folder / "model"), -2)
    ids = tokenizer("A dog runs.", return_tensors="pt")["input_ids"]
    assert ids[0, [0, -1]].tolist() == [tokenizer.cls_token_id, tokenizer.sep_token_id]
    with torch.no_grad():
        layers = (
            BertModel.from_pretrained(folder / "model").eval()(ids, output_hidden_states=True).hidden_states
        )
    assert len(layers) == 1 + 3
    expected = layers[2][0].mean(0)  # the second of three layers, [CLS] and [SEP] included
    np.testing.assert_allclose(mean_pooled(["A dog runs."], tokenizer, encoder, READ)[0], expected, atol=1e-5)


def test_padding_changes_no_vector_and_long_captions_are_cut(folder: Path) -> None:
    tokenizer, encoder = load_bert(str(folder / "model"), -2)
    alone = mean_pooled(ENGLISH[:1], tokenizer, encoder, READ)
    np.testing.assert_allclose(mean_pooled(ENGLISH, tokenizer, encoder, READ)[:1], alone, atol=1e-5)
    long = ["dog " * 10 + end for end in ("cat", "grass")]
    cut = mean_pooled(long, tokenizer, encoder, READ.model_copy(update={"max_tokens": 6}))
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-5)


def make_vocabulary(folder: Path, output: Path) -> Vocabulary:
    """The English captions of a table that has German ones too."""
    both = pd.concat([pd.read_csv(folder / f"{code}.csv") for code in ("en", "de")])
    both.to_csv(output.with_name("both.csv"), index=False)
    embed_captions(output.with_name("both.csv"), "en", str(folder / "model"), READ, output)
    return read_vocabulary(output)


def test_every_caption_of_every_split_finds_its_vector(folder: Path, tmp_path: Path) -> None:
    vocabulary = make_vocabulary(folder, tmp_path / "en.h5")
    assert (vocabulary.unit, set(vocabulary.words[1:])) == ("caption", set(ENGLISH))
    table = pd.read_csv(folder / "en.csv")
    rows = table.assign(image=table["image"].astype(str))
    corpus = encode(rows, vocabulary, ["0", "1", "2", "3"], 40)
    tokenizer, encoder = load_bert(str(folder / "model"), -2)
    assert corpus.vectors is not None
    np.testing.assert_allclose(corpus.vectors, mean_pooled(ENGLISH, tokenizer, encoder, READ), atol=1e-5)
    taken = corpus.take(np.array([3, 1])).vectors
    assert taken is not None
    torch.testing.assert_close(taken, corpus.vectors[[3, 1]])
    left = corpus.of_images(np.array([False, True, False, True])).vectors
    assert left is not None
    torch.testing.assert_close(left, corpus.vectors[[1, 3]])


def test_a_caption_without_a_vector_is_an_error(folder: Path, tmp_path: Path) -> None:
    vocabulary = make_vocabulary(folder, tmp_path / "en.h5")
    rows = pd.DataFrame({"image": ["0"], "caption": ["Never said."], "tokens": ["never said"]})
    with pytest.raises(InputError, match="en: 1 of 1 captions have no sentence vector"):
        encode(rows, vocabulary, ["0"], 40)


def test_a_missing_model_and_a_missing_layer_are_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: not a folder with a BERT .*bert\.model"):
        load_bert(str(tmp_path / "nowhere"), -2)
    with pytest.raises(InputError, match=r"bert.layer: found -4; the 3 layers of .* are -1 to -3"):
        load_bert(str(folder / "model"), -4)
    for layer in (-3, -1):
        load_bert(str(folder / "model"), layer)

"""Captions and words of *Lessons*: parts, samples, and the joint word table, by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from published import MULTI30K_IMAGES, caption, write_multi30k

from pipeline.common.errors import InputError
from pipeline.datasets.lessons_parts import caption_part, read_caption_part
from pipeline.datasets.sampling import caption_sample, halves, training_images_after
from pipeline.datasets.source import StageKeys
from pipeline.datasets.split import write_split
from pipeline.datasets.table import caption_table, read_sentences, write_sentences
from pipeline.demo.sentences import demo_captions, translated_captions
from pipeline.evaluation.inputs import read_vocabularies
from pipeline.words.selection import select_captions, union_of_words
from pipeline.words.settings import CaptionSelection, Part, SelectionSettings

SPLIT = {image: split for split, images in MULTI30K_IMAGES.items() for image in images}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multi30k")
    write_multi30k(folder)
    return folder


def published_part(folder: Path, part: Part, language: str, split: dict[str, str]) -> pd.DataFrame:
    table, images = folder / "part.csv", folder / "split.csv"
    write_split(split, images)
    read_caption_part(part, language, table, StageKeys(source="multi30k"), folder, images)
    return read_sentences(table)


def sentences(rows: list[tuple[str, str, str]], language: str = "en") -> pd.DataFrame:
    """Sentence table of (image, split, tokens)."""
    every = [(image, split, language, caption, "human", "") for image, split, caption in rows]
    return caption_table(every).assign(tokens=[caption for _, _, caption in rows])


@pytest.mark.parametrize("language", ["en", "de", "fr", "cs"])
def test_the_translation_part_has_one_caption_of_each_image(sources: Path, language: str) -> None:
    part = published_part(sources, "translation", language, SPLIT)
    assert list(part["image"]) == list(SPLIT)
    assert list(part["split"]) == list(SPLIT.values())
    assert set(part["source_language"]) == {"" if language == "en" else "en"}


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_comparable_part_has_five_with_their_punctuation(sources: Path, language: str) -> None:
    part = published_part(sources, "comparable", language, SPLIT)
    assert part["image"].value_counts().to_dict() == dict.fromkeys(SPLIT, 5)
    of_first = part[part["image"] == MULTI30K_IMAGES["train"][0]]
    expected = [caption(MULTI30K_IMAGES["train"][0], language, number).lower() for number in range(5)]
    joined = [tokens.replace(" ", "") for tokens in of_first["tokens"]]
    assert joined == [tokens.replace(" ", "") for tokens in expected]
    assert part["tokens"].str.contains(" .", regex=False).all()


def test_images_outside_the_split_are_left_out(sources: Path) -> None:
    few = {image: "train" for image in MULTI30K_IMAGES["test"][:3]}
    part = published_part(sources, "comparable", "en", few)
    assert len(part) == 15
    assert set(part["split"]) == {"train"}  # by the split, not by Multi30K's lists


def test_a_language_without_the_part_is_refused(sources: Path) -> None:
    with pytest.raises(InputError, match="comparable part has no captions in 'fr'; it has en, de"):
        published_part(sources, "comparable", "fr", SPLIT)
    with pytest.raises(InputError, match="translation part has no captions in 'en'"):
        caption_part(sentences([("1", "train", "a dog")]), "translation", "en")


def test_a_part_of_own_data_has_only_its_own_captions() -> None:
    """Machine translations are not independent captions, and count for no vocabulary."""
    own = sentences([("1", "train", "ein hund"), ("1", "train", "ein tier"), ("2", "train", "eine katze")])
    machine = own.assign(origin="google", source_language="en")
    unmarked = own.assign(origin="baidu")
    translated = own.iloc[:1].assign(source_language="en")
    table = pd.concat([own, machine, unmarked, translated])
    assert caption_part(table, "comparable", "de").equals(own)
    assert caption_part(table, "translation", "de").equals(translated)
    assert caption_part(table, "translation", "de", "google").equals(machine)


def test_the_demo_translates_the_first_english_caption() -> None:
    """Its translations are the demo's own French captions, and one of its English captions."""
    for language, each in (("en", 5), ("fr", 1)):
        own = [caption.caption for caption in demo_captions("multi30k", language, 3, 27)]
        translated = translated_captions("multi30k", language, 3, 27)
        assert [caption.caption for caption in translated] == own[::each]


def five_each() -> pd.DataFrame:
    """Five captions of each of sixty images, thirty for training; each caption names its image and number."""
    splits = ["train"] * 30 + ["val"] * 20 + ["test"] * 10
    return sentences(
        [
            (f"{image:02d}", split, f"{image} {number}")
            for image, split in enumerate(splits)
            for number in range(5)
        ]
    )


def test_one_caption_of_each_image_is_sampled_and_all_test_captions_stay() -> None:
    drawn = caption_sample(five_each(), 1, 0)
    counts = drawn.groupby(["split", "image"]).size().groupby("split").agg(["min", "max", "size"])
    assert counts.loc["train"].tolist() == [1, 1, 30]
    assert counts.loc["val"].tolist() == [1, 1, 20]
    assert counts.loc["test"].tolist() == [5, 5, 10]
    assert not drawn.duplicated("tokens").any()


def test_every_caption_can_be_sampled_and_languages_are_sampled_independently() -> None:
    of_language = {
        language: caption_sample(five_each().assign(language=language), 1, 0) for language in ("en", "de")
    }
    numbers = [
        tokens.split()[1] for tokens in of_language["en"]["tokens"][of_language["en"]["split"] != "test"]
    ]
    assert set(numbers) == set("01234")
    assert list(of_language["en"]["tokens"]) != list(of_language["de"]["tokens"])
    assert list(caption_sample(five_each(), 1, 1)["tokens"]) != list(of_language["en"]["tokens"])
    assert list(caption_sample(five_each(), 1, 0)["tokens"]) == list(of_language["en"]["tokens"])


def test_fewer_captions_than_requested_are_refused() -> None:
    table = five_each().drop(index=[0, 7])
    with pytest.raises(InputError, match="are to be sampled, but 2 images have fewer, first '00' with 4"):
        caption_sample(table, 5, 0)


SCENES = {f"{image:03d}": "train" for image in range(101)} | {"val": "val", "test": "test"}


def test_halves_have_only_training_images() -> None:
    drawn = halves(SCENES, 0)
    assert set(drawn) == {image for image, split in SCENES.items() if split == "train"}
    assert sorted(drawn.values()) == ["first"] * 50 + ["second"] * 51
    assert drawn == halves(dict(reversed(SCENES.items())), 0)
    assert drawn != halves(SCENES, 1)


def test_as_in_the_published_code_each_language_has_its_own_halves() -> None:
    """Two languages' first halves share some images but not all, and so do a first and a second half."""
    english, german = (halves(SCENES, 0, language) for language in ("en", "de"))
    alike = sum(english[image] == german[image] for image in english)
    assert 30 < alike < 71  # 50 expected, four standard deviations


def test_a_half_of_one_image_is_refused() -> None:
    with pytest.raises(InputError, match="3 training images; expected 4 or more"):
        halves({"1": "train", "2": "train", "3": "train", "4": "val"}, 0)


def test_a_word_counts_where_one_language_has_it_often_enough() -> None:
    """`dog` is frequent enough in English, `in` in both, `a` only in both together; each is listed once."""
    tokens = {"en": ["a dog in", "a dog in"], "de": ["a in ein", "in ein ein"]}
    assert union_of_words(tokens, 2) == ["a", "dog", "ein", "in"]
    assert union_of_words({"en": ["a b"], "de": ["a b b"]}, 2) == ["b"]
    assert union_of_words(tokens, 3) == ["ein"]


@pytest.fixture
def write_captions(tmp_path: Path) -> Path:
    """Sentence tables of two languages in two parts in a folder."""
    english = [("1", "train", "a dog"), ("1", "train", "a cat"), ("2", "train", "a dog runs")]
    german = [("1", "train", "ein hund"), ("2", "train", "ein hund"), ("3", "val", "hund a")]
    english += [("3", "val", "dog"), ("4", "test", "a new dog")]
    german += [("4", "test", "x hund")]
    write_part(sentences(english), tmp_path / "comparable/en.csv")
    write_part(sentences(german, "de"), tmp_path / "comparable/de.csv")
    translated = sentences([("1", "train", "hund a"), ("2", "train", "kein hund"), ("3", "val", "a")], "de")
    write_part(translated.assign(source_language="en"), tmp_path / "translation/de.csv")
    return tmp_path


def write_part(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    write_sentences(table, path)


def selected(*parts: Part, **keys: Any) -> CaptionSelection:
    return CaptionSelection(parts=list(parts), tested_on="comparable", **keys)


BOTH = {"en": selected("comparable"), "de": selected("translation", "comparable")}


def select(folder: Path, languages: dict[str, CaptionSelection], min_count: int = 1, **rules: Any) -> None:
    """Select captions of the parts in a folder; images 1 to 4 are for training."""
    parts = sorted(folder.glob("*/*.csv"))
    write_split(dict.fromkeys("1234", "train") | {"5": "val", "6": "test"}, folder / "split.csv")
    settings = SelectionSettings(languages=languages, min_count=min_count, dimension=6, **rules)
    select_captions(settings, parts, folder / "split.csv", folder)


def test_words_that_are_rare_in_every_language_are_unknown(write_captions: Path) -> None:
    """`a` is seen three times in English; `hund` four times in German, `ein` twice; `dog` twice."""
    select(write_captions, BOTH, 2)
    vocabularies = read_vocabularies([write_captions / "de.h5", write_captions / "en.h5"], ["en", "de"])
    words = ["", "<unk>", "<start>", "<end>", "a", "dog", "ein", "hund"]
    assert [(code, each.words) for code, each in vocabularies.items()] == [("en", words), ("de", words)]
    assert vocabularies["en"].vectors.shape == (8, 6)
    english, german = (read_sentences(write_captions / f"{language}.csv") for language in ("en", "de"))
    assert list(english["tokens"]) == [
        "<start> a dog <end>",
        "<start> a <unk> <end>",
        "<start> a dog <unk> <end>",
        "<start> dog <end>",
        "<start> a <unk> dog <end>",
    ]
    assert list(german["tokens"]) == [
        "<start> hund a <end>",
        "<start> <unk> hund <end>",
        "<start> a <end>",
        "<start> ein hund <end>",
        "<start> ein hund <end>",
        "<start> hund a <end>",
        "<start> <unk> hund <end>",
    ]


def test_halves_and_the_captions_of_all_images_to_pair(tmp_path: Path) -> None:
    """`cat` occurs only in the second half of the training images, which German has."""
    half_of = halves(dict.fromkeys("1234", "train"), 0)
    first, second = ([image for image in "1234" if half_of[image] == half] for half in ("first", "second"))
    rows = [(image, "train", "dog" if image in first else "cat") for image in "1234"]
    rows += [("1", "train", "dog dog"), ("5", "val", "cat"), ("6", "test", "dog")]
    for language in ("en", "de"):
        write_part(sentences(rows, language), tmp_path / f"comparable/{language}.csv")
    english, german = (selected("comparable", images=half) for half in ("first", "second"))
    select(tmp_path, {"en": english}, pairs_of="all_images")
    assert set(read_sentences(tmp_path / "en.csv")["image"]) == {*first, "5", "6"}
    paired = read_sentences(tmp_path / "pairs-en.csv")
    assert list(paired["image"]) == ["1", "2", "3", "4", "1"]
    assert paired["tokens"].iloc[int(second[0]) - 1] == "<start> <unk> <end>"
    select(tmp_path, {"en": english, "de": german})
    assert set(read_sentences(tmp_path / "de.csv")["image"]) == {*second, "5", "6"}
    assert "<start> cat <end>" in list(read_sentences(tmp_path / "de.csv")["tokens"])


def test_each_language_has_its_own_halves_as_in_the_public_code(tmp_path: Path) -> None:
    rows = [(image, "train", "dog") for image in "1234"] + [("5", "val", "dog"), ("6", "test", "dog")]
    write_part(sentences(rows), tmp_path / "comparable/en.csv")
    for seed in range(6):  # the halves of four images are equal for some seeds
        for rule, language in (("shared", None), ("per_language", "en")):
            select(tmp_path, {"en": selected("comparable", images="first")}, halves=rule, sampling_seed=seed)
            drawn = halves(dict.fromkeys("1234", "train"), seed, language)
            expected = {image for image, half in drawn.items() if half == "first"}
            assert set(read_sentences(tmp_path / "en.csv")["image"]) == expected | {"5", "6"}


def test_pairs_of_captions_that_are_sampled_again(tmp_path: Path) -> None:
    """The vocabulary is that of the captions that are matched with images."""
    rows = [(image, split, f"{word} {image}")
            for image, split in (*((image, "train") for image in "1234"), ("5", "val"))
            for word in ("dog", "cat", "cow", "pig")]  # fmt: skip
    write_part(sentences([*rows, ("6", "test", "dog")]), tmp_path / "comparable/en.csv")
    chosen = {"en": selected("comparable", captions_per_image=1)}
    select(tmp_path, chosen, pairs_of="sampled_again", sampling_seed=3)
    captions, pairs = (read_sentences(tmp_path / f"{name}.csv") for name in ("en", "pairs-en"))
    for table, seed in ((captions, 3), (pairs, 4)):
        sample = caption_sample(sentences(rows), 1, seed)
        training = table[table["split"] == "train"]
        assert list(training["caption"]) == list(sample[sample["split"] == "train"]["caption"])
    known = {word for tokens in captions["tokens"] for word in tokens.split()}
    assert {word for tokens in pairs["tokens"] for word in tokens.split()} <= known | {"<unk>"}
    assert list(captions[captions["split"] == "test"]["caption"]) == ["dog"]


def test_captions_of_one_image_are_refused_in_every_language(write_captions: Path) -> None:
    for path in write_captions.glob("*/*.csv"):
        table = read_sentences(path)
        write_sentences(table[table["image"] != "1"], path)
    with pytest.raises(InputError, match=r"en: training captions of 1(.|\n)*de: training captions of 1"):
        select(write_captions, BOTH)


def test_fractions_of_the_training_images_are_nested() -> None:
    split = {f"i{number}": "train" for number in range(20)} | {"v": "val", "t": "test"}
    left_out = {share: training_images_after(share, split, "zh") for share in (0.15, 0.3, 1)}
    assert {share: len(images) for share, images in left_out.items()} == {0.15: 17, 0.3: 14, 1: 0}
    assert left_out[0.3] < left_out[0.15] < {image for image, name in split.items() if name == "train"}
    assert training_images_after(0.3, split, "ja") != left_out[0.3]

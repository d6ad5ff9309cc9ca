"""Training of *Lessons*: losses against a plain reading, one word table, patience, killed runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from reference.losses import ranking_loss
from run_stages import block_of, killed_after, train_lessons
from small import universal

from pipeline.common.files import sha256
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.ranks import mean_recalls
from pipeline.evaluation.settings import EvaluateSettings
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import write_features
from pipeline.models.model import RetrievalModel, count_parameters, load_model
from pipeline.models.settings import Model
from pipeline.training import lessons
from pipeline.training.data import Inputs
from pipeline.training.lessons import (
    captions_and_sampler,
    mean_recall_by_fives,
    step_loss,
    union_model,
    with_reversed_lengths,
)
from pipeline.training.settings import LessonsSettings, TaskResources, TaskTraining
from pipeline.words.corpus import Corpus, LanguageCorpus, Sentences
from pipeline.words.selection import select_captions
from pipeline.words.settings import SelectedLanguage, SelectionSettings
from pipeline.words.vocabulary import Vocabulary

# Other settings are the paper's.
SETTINGS: dict[str, Any] = LessonsSettings(
    scale="demo",
    dataset="things",
    experiment="bilingual-c2c",
    seed=0,
    languages=["en", "de"],
    caption_origins={},
    features=FeatureSettings(backbone="eight things"),
    model=Model(
        encoder="vse",
        word_vectors="scratch",
        universal_dim=4,
        multimodal_dim=4,
        recurrent="gru",
        recurrent_init="pytorch",
        hidden_size=12,
    ),
    c2c=True,
    stop_on=["en", "de"],
    lessons=TaskTraining(batch_size=8, validate_every=10, patience=3, max_steps=200, learning_rate=0.02),
    training=TaskResources(threads=1, precision="float32"),
).model_dump()


def with_tasks(**keys: Any) -> dict[str, Any]:
    return {**SETTINGS, "lessons": {**SETTINGS["lessons"], **keys}}


def lessons_settings(settings: dict[str, Any]) -> LessonsSettings:
    return block_of(LessonsSettings, settings)


def vocabularies(size: int = 9) -> dict[str, Vocabulary]:
    words = ["", *(str(number) for number in range(size))]
    return {code: Vocabulary(code, words, np.zeros((size + 1, 5), np.float32)) for code in ("en", "de")}


@pytest.fixture
def model() -> RetrievalModel:
    torch.manual_seed(0)
    return union_model(vocabularies(), 7, lessons_settings(SETTINGS)).double()


@pytest.fixture
def captions() -> LanguageCorpus:
    """Six captions of four images, of one to five words."""
    lengths = np.array([2, 5, 1, 3, 4, 2])
    ids = np.random.default_rng(1).integers(1, 10, (6, 5)) * (np.arange(5) < lengths[:, None])
    return LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), np.array([0, 0, 1, 2, 2, 3]))


@pytest.fixture
def features() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).normal(size=(4, 7)))


def read(model: RetrievalModel, words: list[int]) -> torch.Tensor:
    """A caption's embedding, read on its own without padding."""
    caption = Sentences(torch.tensor([words]), torch.tensor([len(words)]))
    return model.embed_sentences({"de": caption}).multimodal[0]


def loss_by_reading(first: list[torch.Tensor], second: list[torch.Tensor], hinge: str) -> float:
    similarity = torch.stack(first) @ torch.stack(second).T
    same = torch.eye(len(first), dtype=torch.bool)
    return ranking_loss(similarity, same, {"margin": 0.2, "hinge": hinge}).item()


@pytest.mark.parametrize("hinge", ["max", "sum"])
def test_captions_against_images(
    model: RetrievalModel, captions: LanguageCorpus, features: torch.Tensor, hinge: str
) -> None:
    """Captions 0 and 1 describe one image: each is the other's negative, as is the image's copy."""
    rows = np.array([1, 5, 0, 3])
    sentences = [read(model, captions.ids[row, : captions.lengths[row]].tolist()) for row in rows]
    images = [model.embed_images(features[captions.image[row]][None])[0] for row in rows]
    found = step_loss(model, captions, features, rows, lessons_settings(with_tasks(hinge=hinge)))
    assert found.item() == pytest.approx(loss_by_reading(sentences, images, hinge))


@pytest.mark.parametrize("lengths", ["correct", "reversed"])
def test_captions_against_captions(
    model: RetrievalModel, captions: LanguageCorpus, features: torch.Tensor, lengths: str
) -> None:
    """As published code, by hand: lengths 2 5 1 are read as 2 1 5, and 3 4 2 as 3 2 4."""
    pairs = np.array([[0, 3], [1, 4], [2, 5]])
    read_as = [[2, 5, 1], [3, 4, 2]] if lengths == "correct" else [[2, 1, 5], [3, 2, 4]]
    sides = [
        [read(model, captions.ids[row, :length].tolist()) for row, length in zip(rows, of, strict=True)]
        for rows, of in zip(pairs.T, read_as, strict=True)
    ]
    found = step_loss(
        model, captions, features, pairs, lessons_settings(with_tasks(lengths_in_pairs=lengths))
    )
    assert found.item() == pytest.approx(loss_by_reading(sides[0], sides[1], "max"))


def test_reversed_lengths_give_the_shortest_the_longest() -> None:
    found = with_reversed_lengths(Sentences(torch.zeros(4, 7, dtype=torch.long), torch.tensor([3, 7, 2, 4])))
    assert found.lengths.tolist() == [4, 2, 7, 3]


def test_all_languages_have_one_word_table(
    model: RetrievalModel, captions: LanguageCorpus, features: torch.Tensor
) -> None:
    """A step in one language changes the words that the others read, but never padding."""
    assert universal(model)["en"].table is universal(model)["de"].table
    before = read(model, [4, 2]).detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    step_loss(model, captions, features, np.arange(6), lessons_settings(SETTINGS)).backward()
    optimizer.step()
    assert not torch.allclose(read(model, [4, 2]), before)
    assert not universal(model)["en"].table.weight[0].any()
    # The table once (10 x 5), GRU (3 x 12 x (5 + 12 + 2)), image layer (7 x 12 + 12).
    assert sum(map(torch.numel, model.parameters())) == 50 + 684 + 96


def test_captions_of_all_languages_are_concatenated_with_their_pairs() -> None:
    """Images a, b; English a a b, German a b: pairs of rows (0 3) (1 3) (2 4)."""

    def part(images: list[int], word: int) -> LanguageCorpus:
        return LanguageCorpus(
            torch.full((len(images), word), word), torch.full((len(images),), word), np.array(images)
        )

    corpus = Corpus(["a", "b"], torch.zeros(2, 7), {"en": part([0, 0, 1], 1), "de": part([0, 1], 2)})
    captions, sampler, validate_every = captions_and_sampler(corpus, None, lessons_settings(SETTINGS))
    assert captions.lengths.tolist() == [1, 1, 1, 2, 2]
    assert captions.image.tolist() == [0, 0, 1, 0, 1]
    assert captions.ids.tolist() == [[1, 0], [1, 0], [1, 0], [2, 2], [2, 2]]
    assert [dataset.tolist() for dataset in sampler.datasets] == [[0, 1, 2], [3, 4], [[0, 3], [1, 3], [2, 4]]]
    assert validate_every == 10
    # As published code: pairs of other captions, which no step shows with images.
    paired = Corpus(["b", "c"], torch.zeros(2, 0), {"en": part([0, 1], 3), "de": part([0, 1], 4)})
    captions, sampler, _ = captions_and_sampler(corpus, paired, lessons_settings(SETTINGS))
    assert captions.lengths.tolist() == [1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [dataset.tolist() for dataset in sampler.datasets] == [[0, 1, 2], [3, 4], [[5, 7], [6, 8]]]


def test_a_model_of_one_language_is_validated_after_each_pass() -> None:
    part = LanguageCorpus(
        torch.ones(20, 1, dtype=torch.long), torch.ones(20, dtype=torch.long), np.arange(20)
    )
    corpus = Corpus([str(image) for image in range(20)], torch.zeros(20, 7), {"en": part})
    _, _, validate_every = captions_and_sampler(corpus, None, lessons_settings({**SETTINGS, "c2c": False}))
    assert validate_every == 3


def perfect(monkeypatch: pytest.MonkeyPatch, each: int, images: int) -> Corpus:
    """A corpus whose captions are embedded exactly where their images are."""
    part = LanguageCorpus(
        torch.ones(images * each, 1, dtype=torch.long),
        torch.ones(images * each, dtype=torch.long),
        np.arange(images).repeat(each),
    )
    monkeypatch.setattr(lessons, "embed_images", lambda model, corpus: torch.eye(images))
    monkeypatch.setattr(
        lessons,
        "embed_sentences",
        lambda model, language, part: torch.eye(images)[torch.from_numpy(part.image)],
    )
    return Corpus([str(image) for image in range(images)], torch.zeros(images, 7), {"en": part})


def test_validation_of_the_published_code_with_one_caption_of_each_image(
    model: RetrievalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten images and captions that match exactly; only images 0 and 5 are queries.

    Both find a caption at rank 1. Captions 0 and 5 find their image; 1 to 4 and 6 to 9 are equally far from
    both: the first image counts as nearer, and four of these captions are assumed to be its own.
    """
    corpus = perfect(monkeypatch, 1, 10)
    assert mean_recall_by_fives(model, corpus, "en") == pytest.approx((100 + 100 + 100 + 60 + 100 + 100) / 6)


def test_validation_is_the_same_if_images_have_five_captions(
    model: RetrievalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mean_recall_by_fives(model, perfect(monkeypatch, 5, 7), "en") == 100
    monkeypatch.undo()
    rng = np.random.default_rng(4)
    part = LanguageCorpus(
        torch.from_numpy(rng.integers(1, 10, (60, 3))), torch.full((60,), 3), np.arange(12).repeat(5)
    )
    corpus = Corpus(
        [str(image) for image in range(12)], torch.from_numpy(rng.normal(size=(12, 7))), {"en": part}
    )
    assert mean_recall_by_fives(model, corpus, "en") == pytest.approx(mean_recalls(model, corpus)["en"])


THINGS = {
    "en": ["dog", "cat", "car", "tree", "house", "bird", "boat", "horse"],
    "de": ["hund", "katze", "auto", "baum", "haus", "vogel", "boot", "pferd"],
}


@pytest.fixture(scope="module")
def selection_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of three of eight things, three English captions of each and one or two German ones."""
    folder = tmp_path_factory.mktemp("selected")
    rng = np.random.default_rng(0)
    rows, images, features = [], [], []
    for split, count in {"train": 40, "val": 15, "test": 12}.items():
        for number in range(count):
            things = rng.choice(8, 3, replace=False)
            images.append(f"{split}{number:02d}")
            features.append(np.isin(np.arange(8), things) + 0.05 * rng.normal(size=8))
            for language, each in (("en", 3), ("de", 1 + number % 2)):
                for _ in range(each):
                    caption = " ".join(
                        THINGS[language][thing] for thing in rng.permutation(things)[: rng.integers(1, 4)]
                    )
                    rows.append((images[-1], split, language, caption, "human", "", caption))
    table = caption_table([row[:-1] for row in rows]).assign(tokens=[row[-1] for row in rows])
    chosen = {}
    for language in THINGS:
        path = folder / f"part-{language}.csv"
        write_sentences(table[table["language"] == language], path)
        chosen[language] = SelectedLanguage(texts=[str(path)], tested_on=str(path), pair_texts=[str(path)])
    select_captions(SelectionSettings(languages=chosen, min_count=1, dimension=6), folder)
    write_features(folder / "features.h5", images, np.array(features), {"backbone": "eight things"})
    return folder


def inputs(selected: Path, languages: Sequence[str] = ("en", "de")) -> Inputs:
    sentences = [selected / f"{language}.csv" for language in languages]
    return Inputs(sentences, [], [path.with_suffix(".h5") for path in sentences], selected / "features.h5")


def train_selection(selected: Path, folder: Path, settings: dict[str, Any], pairs: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    paired = [selected / "pairs-en.csv", selected / "pairs-de.csv"] if pairs else []
    train_lessons(
        inputs(selected, settings["languages"]),
        paired,
        settings,
        "code",
        folder / "checkpoint.pt",
        folder / "curves.csv",
        folder / "model.pt",
    )
    return folder / "model.pt"


def test_a_training_learns_stops_and_is_evaluated(selection_folder: Path, tmp_path: Path) -> None:
    path = train_selection(selection_folder, tmp_path, with_tasks(hinge="sum", max_steps=2000))
    curves = pd.read_csv(tmp_path / "curves.csv")
    best = curves["val_sum"].idxmax()
    assert len(curves) < 200  # the training ended by patience
    assert len(curves) == best + 1 + 3
    assert curves["val_sum"].iloc[best] == pytest.approx(
        6 * (curves["val_mR_en"] + curves["val_mR_de"]).iloc[best]
    )
    model, saved = load_model(path)
    assert isinstance(model, RetrievalModel)
    assert saved.epoch == best + 1
    assert saved.training_captions == {"en": {"human": 120}, "de": {"human": 60}}
    assert (saved.training_steps, saved.training_groups) == (10 * len(curves), [40])
    table = universal(model)["en"].table.weight
    assert torch.equal(table, universal(model)["de"].table.weight)
    branches = count_parameters(model.branches) + count_parameters(model.image_branch)
    assert saved.parameters == branches + table[1:].numel()  # both languages read one table
    evaluate(
        path,
        selection_folder / "features.h5",
        inputs(selection_folder).words,
        inputs(selection_folder).sentences,
        EvaluateSettings(),
        tmp_path / "test.json",
        tmp_path / "ranks.csv.gz",
    )
    found = pd.read_json(tmp_path / "test.json", typ="series")["test"]
    # By chance, 1/12 of the images are first, and mR is about half.
    assert found["en"]["s2i_R@1"] > 3 * found["en"]["chance"]["s2i_R@1"]
    assert (found["en"]["sentences"], found["de"]["sentences"]) == (36, 18)


def test_training_makes_at_most_the_maximum_number_of_steps(selection_folder: Path, tmp_path: Path) -> None:
    """Validation follows every ten steps: of at most 29 steps, only 20 are made."""
    train_selection(selection_folder, tmp_path, with_tasks(max_steps=29, patience=9))
    assert len(pd.read_csv(tmp_path / "curves.csv")) == 2


@pytest.mark.parametrize("steps", [1, 17, 30])
@pytest.mark.parametrize("languages", [["en"], ["en", "de"]])
def test_a_killed_training_resumes_to_the_same_bits(
    selection_folder: Path, tmp_path: Path, languages: list[str], steps: int
) -> None:
    settings = with_tasks(max_steps=50, divide_learning_rate_every=1 if len(languages) == 1 else None)
    settings |= {"languages": languages, "stop_on": languages, "c2c": len(languages) > 1}
    whole = train_selection(selection_folder, tmp_path / "whole", settings)
    with killed_after(steps):
        train_selection(selection_folder, tmp_path / "killed", settings)
    again = train_selection(selection_folder, tmp_path / "killed", settings)
    assert sha256(again) == sha256(whole)
    assert (tmp_path / "killed/curves.csv").read_bytes() == (tmp_path / "whole/curves.csv").read_bytes()

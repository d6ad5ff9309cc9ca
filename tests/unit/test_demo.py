"""The demo: grammars that are data, scenes, pictures, the two data sets and the dictionaries."""

import hashlib
import re
import shlex
from itertools import chain, cycle, product
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pipeline import cli
from pipeline.common.errors import InputError
from pipeline.datasets.split import read_split, write_split
from pipeline.datasets.table import caption_table, read_captions, write_captions
from pipeline.demo.backgrounds import HEIGHT, WIDTH, draw_background
from pipeline.demo.concepts import concepts
from pipeline.demo.datasets import data_sets, split_of
from pipeline.demo.drawing import draw_scene_image
from pipeline.demo.grammar import Language, language, read_language
from pipeline.demo.pictures import draw_demo
from pipeline.demo.plans import Mention, Plan, draw_plan
from pipeline.demo.scenes import Group, Scene, draw_scene
from pipeline.demo.sentences import demo_captions
from pipeline.stages import STAGES
from pipeline.translation.dictionary import read_dictionaries

LANGUAGES = ("en", "de", "fr", "cs", "zh", "ja")
DICTIONARIES = Path(__file__).parents[2] / "pipeline/demo/data/dictionaries"


def combinations(always: str, *choices: tuple[str, ...]) -> list[frozenset[str]]:
    return [frozenset([*always.split(), *filter(None, options)]) for options in product(*choices)]


# The slots that plans of each frame can fill: what a language's templates must be able to say.
DOING = ("", "pose", "activity")
FRAMES = {
    "single": [
        *combinations("subject", ("", "activity"), ("", "background")),
        *combinations("subject pose background"),
    ],
    "relation": combinations("subject relation object", DOING, ("", "third"), ("", "background")),
    "list": combinations("subject object", ("", "third"), ("", "background")),
}


def all_captions(grammar: Language, plan: Plan) -> set[str]:
    return {grammar.caption(plan, Random(seed)) for seed in range(300)}


def mention(noun: str, number: int = 1, **attributes: str) -> Mention:
    return {"noun": noun, "number": str(number), **attributes}


DOG_BY_CAR = Plan(
    "relation",
    {"subject": mention("dog", 2, size="small", colour="white"), "object": mention("car", colour="red")},
    {"relation": "in_front_of"},
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "Two small white dogs are in front of a red car."),
        ("de", "Zwei kleine weiße Hunde vor einem roten Auto."),
        ("fr", "Deux petits chiens blancs devant une voiture rouge."),
        ("cs", "Dva malí bílí psi jsou před červeným autem."),
        ("zh", "两只白色的小狗在一辆红色的汽车前面。"),
        ("ja", "赤い車の前に二匹の小さな白い犬がいる。"),
    ],
)
def test_a_plan_is_expressed_with_the_agreement_of_each_language(code: str, expected: str) -> None:
    assert expected in all_captions(language(code), DOG_BY_CAR)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_word_is_rendered_in_every_template_of_a_language(code: str) -> None:
    """Every noun in every number, with every attribute, in all roles of all frames."""
    grammar, kinds, random = language(code), concepts().kinds, Random(code)
    for frame, templates in grammar.frames.items():
        fillers = {*grammar.words, *chain.from_iterable(FRAMES[frame])}
        assert set(re.findall(r"\{(\w+)", " ".join(templates))) <= fillers
    things = list(product(kinds["noun"], kinds["number"]))
    plans = list(chain.from_iterable(product([frame], slots) for frame, slots in FRAMES.items()))
    others = {kind: cycle(kinds[kind]) for kind in ("relation", "pose", "activity", "background")}
    attributes = cycle([*product(["colour"], kinds["colour"]), *product(["size"], kinds["size"])])
    for (noun, number), (frame, slots) in product(things, plans):
        roles = sorted(slots - set(others))
        beside = [(noun, number), *random.sample(things, len(roles) - 1)]
        mentions = {
            role: mention(name, int(count), **dict([next(attributes)]))
            for role, (name, count) in zip(roles[::-1], beside, strict=True)
        }
        words = {kind: next(others[kind]) for kind in sorted(slots & set(others))}
        caption = grammar.caption(Plan(frame, mentions, words), random)
        assert not set(caption) & set("{}[]@∅"), caption
        assert not re.search(r"\b(s [sšzž]|v [fž])", caption), caption  # Czech says se and ve
        assert "  " not in caption and caption[-2] != " "


def test_a_plan_contains_only_what_the_scene_has_and_every_plan_is_drawn() -> None:
    random, drawn = Random(5), set()
    for _ in range(1000):
        scene = draw_scene(random)
        plan = draw_plan(scene, random)
        drawn.add((plan.frame, frozenset(plan.slots)))
        for mention in plan.mentions.values():
            group = next(group for group in scene.groups if group.kind == mention["noun"])
            assert mention["number"] == str(group.count)
            assert mention.get("colour", group.colour) == group.colour
            assert mention.get("size", group.size) == group.size
        assert plan.words.get("background", scene.background) == scene.background
    assert drawn == {(frame, frozenset(slots)) for frame, every in FRAMES.items() for slots in every}


def test_the_relation_is_reversed_with_the_roles() -> None:
    scene = Scene("beach", (Group("dog"), Group("car")), "left_of")
    random, seen = Random(1), set()
    for _ in range(400):
        plan = draw_plan(scene, random)
        if plan.frame == "relation":
            seen.add((plan.mentions["subject"]["noun"], plan.words["relation"]))
    assert seen == {("dog", "left_of"), ("dog", "beside"), ("car", "right_of"), ("car", "beside")}


def test_a_relation_is_visible_in_the_picture() -> None:
    """The green turtle's pixels are in the left half, the red car's in the right one; the nearer is lower."""
    pair = Group("turtle", colour="green"), Group("car", colour="red")
    for seed, relation in product(range(5), ("left_of", "behind", "in_front_of")):
        scene = Scene("snow", pair, relation)
        pixels = np.asarray(draw_scene_image(scene, Random(seed)), dtype=int)
        red = (pixels[..., 0] > 180) & (pixels[..., 1] < 110) & (pixels[..., 2] < 110)
        green = (pixels[..., 1] > 110) & (pixels[..., 0] < 120) & (pixels[..., 2] < 90)
        assert red.sum() > 500 and green.sum() > 300
        axis, middle = (1, WIDTH / 2) if relation == "left_of" else (0, 0.7 * HEIGHT)
        first, second = (red, green) if relation == "in_front_of" else (green, red)
        assert np.nonzero(first)[axis].mean() < middle < np.nonzero(second)[axis].mean()


@pytest.mark.parametrize("name", concepts().backgrounds)
def test_backgrounds_are_drawn_and_vary(name: str) -> None:
    first, second = draw_background(name, Random(0)), draw_background(name, Random(1))
    assert first.size == (WIDTH, HEIGHT) and first.mode == "RGB"
    assert np.asarray(first).std() > 10
    assert not np.array_equal(np.asarray(first), np.asarray(second))


def test_backgrounds_look_different_and_a_forest_is_green_above_brown_ground() -> None:
    forest = np.asarray(draw_background("forest", Random(0)), dtype=int)
    assert (np.diff(forest[[0, -1], :, :2].mean(1))[:, 0] > 0).tolist() == [True, False]  # green above red
    names = list(concepts().backgrounds)
    assert len({draw_background(name, Random(0)).tobytes() for name in names}) == len(names)


def test_every_object_and_activity_is_drawn() -> None:
    empty = np.asarray(draw_scene_image(Scene("desert", ()), Random(0)), dtype=int)
    pictured = [Group(kind) for kind, thing in concepts().objects.items() if thing.glyph]
    pictured += [Group("woman", activity=activity) for activity in concepts().activities]
    for group in pictured:
        picture = np.asarray(draw_scene_image(Scene("desert", (group,)), Random(0)), dtype=int)
        changed = np.abs(picture - empty).sum(axis=2) > 90
        assert changed.sum() > 400, group
        assert not changed[:12].any() and not changed[:, :12].any() and not changed[:, -12:].any(), group


def test_a_language_without_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"xx\.yaml"):
        read_language(tmp_path / "xx.yaml")


def digest(folder: Path, captions: Path) -> str:
    files = [*sorted(folder.iterdir()), captions, captions.with_name("split.csv")]
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def make(folder: Path, dataset: str, seed: int = 0, scenes: int = 36) -> tuple[Path, Path]:
    """Draw a data set; its captions in all languages come as one table."""
    images, captions = folder / "images", folder / "captions.csv"
    draw_demo(dataset, images, seed, scenes)
    write_split(split_of(dataset, scenes), folder / "split.csv")
    codes = data_sets()[dataset]["languages"]
    tables = [caption_table(demo_captions(dataset, code, seed, scenes)) for code in codes]
    write_captions(pd.concat(tables), captions)
    return images, captions


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = digest(*make(tmp_path / "a", "multi30k"))
    assert digest(*make(tmp_path / "b", "multi30k")) == first
    assert digest(*make(tmp_path / "c", "multi30k", seed=1)) != first


def test_multi30k_has_its_languages_and_splits(tmp_path: Path) -> None:
    images, captions = make(tmp_path, "multi30k")
    table = read_captions(captions)
    assert table.drop_duplicates("image")["split"].value_counts().to_dict() == {
        "train": 24,
        "val": 4,
        "test": 8,
    }
    per_image = table.groupby(["image", "language"]).size().unstack()
    assert (per_image == {"en": 5, "de": 5, "fr": 1, "cs": 1}).all(axis=None)
    assert table.groupby("language")["source_language"].unique().map(list).to_dict() == {
        "en": [""], "de": [""], "fr": ["en"], "cs": ["en"],
    }  # fmt: skip
    lengths = table.assign(words=table["caption"].str.split().str.len()).query("language == 'en'")
    assert lengths.groupby("image")["words"].nunique().mean() > 3.5  # each caption says something else
    assert {path.stem for path in images.iterdir()} == set(table["image"])
    assert read_split(tmp_path / "split.csv") == dict(zip(table["image"], table["split"], strict=True))
    assert Image.open(images / "multi30k-0001.jpg").size == (WIDTH, HEIGHT)


def test_mscoco_has_japanese_and_chinese_on_parts_of_training(tmp_path: Path) -> None:
    _, captions = make(tmp_path, "mscoco", scenes=150)
    table = read_captions(captions)
    sizes = table.groupby(["image", "language"]).size().unstack(fill_value=0)
    assert set(sizes["en"]) == {5} and set(sizes["ja"]) == {0, 5} and set(sizes["zh"]) == {0, 1, 2}
    split = table.drop_duplicates("image").set_index("image")["split"]
    training, others = sizes[split == "train"] > 0, sizes[split != "train"] > 0
    assert others.all(axis=None)
    both = training["ja"] & training["zh"]
    assert training["ja"].sum() == 21 and training["zh"].sum() == 34 and both.sum() == 4  # of 100 images


def test_wrong_requests_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "mine.jpg").write_bytes(b"mine")
    with pytest.raises(InputError, match="empty or new"):
        make(tmp_path, "multi30k")
    for dataset, scenes, message in (("flickr", 36, "flickr"), ("multi30k", 8, "9 or more")):
        with pytest.raises(InputError, match=message):
            draw_demo(dataset, tmp_path / "new", 0, scenes)
        with pytest.raises(InputError, match=message):
            demo_captions(dataset, "en", 0, scenes)
    with pytest.raises(InputError, match=r"xx\.yaml"):
        demo_captions("multi30k", "xx", 0, 36)
    assert [path.name for path in tmp_path.rglob("*.*")] == ["mine.jpg"]


@pytest.mark.parametrize("code", [path.stem.removeprefix("en-") for path in DICTIONARIES.iterdir()])
def test_the_demos_dictionaries_have_the_words_of_its_english_grammar(code: str) -> None:
    words = read_dictionaries([DICTIONARIES / f"en-{code}.txt"], "en", code)
    english = language("en").lexicon
    things = {form for noun in chain(*english["noun"].values()) for form in noun.forms.values()}
    assert {form for form in things if " " not in form} | {"in", "and", "behind", "two"} <= words.keys()


def run(stage: str, options: str) -> None:
    """Run a stage as its command line does."""
    cli.run(STAGES[stage], shlex.split(options))


def test_the_commands_write_their_files(tmp_path: Path) -> None:
    images, split, captions = tmp_path / "images", tmp_path / "split.csv", tmp_path / "en.csv"
    run("draw-demo", f"--dataset mscoco --scenes 9 --output {images}")
    scenes = """'{"source": "demo", "dataset": "mscoco", "seed": 0, "scenes": 9}'"""
    run("split", f"--settings {scenes} --output {split}")
    assert [path.stem for path in sorted(images.iterdir())] == list(read_split(split))
    run("read-captions", f"--settings {scenes} --split {split} --language en --output {captions}")
    assert len(read_captions(captions)) == 45


def test_a_language_that_the_data_set_does_not_name_describes_every_image() -> None:
    table = caption_table(demo_captions("multi30k", "ja", 0, 36))
    assert len(table) == table["image"].nunique() == 36
    assert set(table["source_language"]) == {"en"}

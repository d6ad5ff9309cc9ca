"""The configuration: all mistakes are reported together; a stage gets what it depends on and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from pipeline.common.block import Block
from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.configuration import Configuration
from pipeline.settings.merge import merge
from pipeline.settings.paths import check_paths
from pipeline.settings.schema import schema
from pipeline.tables.cells import cells
from pipeline.training.settings import LessonsSettings, TrainSettings

CONFIG = Path(__file__).parents[2] / "config"


def load(**user: object) -> Configuration:
    return reading.load({"scale": "demo", **user})


@pytest.mark.parametrize("file", sorted(CONFIG.glob("*-*.yaml")), ids=lambda file: file.stem)
def test_the_files_for_configfile_are_valid_in_any_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the files that the command at its top names before it; they need no file that a clone lacks."""
    monkeypatch.chdir(tmp_path)
    settings: dict[str, Any] = {}
    for name in dict.fromkeys(re.findall(r"config/([\w-]+\.yaml)", file.read_text().partition("\n#\n")[0])):
        settings = merge(settings, read_yaml(CONFIG / name))
    assert "$" not in file.read_text().replace("$WORKFLOW", "")
    found = load(**settings)
    check_paths(found)
    assert not str(found.images.list).startswith("./")
    assert found.scale == ("flickr8k" if file.stem.startswith("flickr8k-") else "demo")


def test_an_empty_block_empties_pairs_weights_and_origins_and_no_other() -> None:
    """SMALR has one weight of the classifier for all data sets, even if MULE has several."""
    authors = load(**read_yaml(CONFIG / "authors-code.yaml"))
    chosen = [
        stage_settings.experiment_settings(authors, "mscoco", name, 0).classifier.weight
        for name in ("mule-full", "smalr")
    ]
    assert chosen == [1e-5, 1e-6]
    pairs = {"en-zh": {"provider": "google"}}
    below = {"translation": {"pairs": pairs, "cache": "c"}, "model": {"hidden_size": 3}}
    found = merge(below, {"translation": {"pairs": {}}, "model": {}})
    assert found == {"translation": {"pairs": {}, "cache": "c"}, "model": {"hidden_size": 3}}


def test_another_provider_replaces_one_and_its_keys() -> None:
    below = {"default": {"provider": "marian", "model": "m"}, "pairs": {"en-zh": {"provider": "files"}}}
    found = merge(
        {"translation": below},
        {"translation": {"default": {"provider": "google"}, "pairs": {"en-zh": {"origin": "mine"}}}},
    )
    assert found["translation"] == {
        "default": {"provider": "google"},
        "pairs": {"en-zh": {"provider": "files", "origin": "mine"}},
    }


def test_all_mistakes_are_reported_together_with_what_to_do() -> None:
    with pytest.raises(InputError) as caught:
        load(trainig={}, training={"epochs": 0, "lerning_rate": 1}, images={"crops": 3})
    message = str(caught.value)
    assert "unknown key 'trainig', did you mean 'training'?" in message
    assert "training.epochs: found 0: Input should be greater than or equal to 1" in message
    assert "training.lerning_rate: unknown key 'lerning_rate', did you mean 'learning_rate'?" in message
    assert "images.crops: found 3" in message


@pytest.mark.parametrize("path", sorted(CONFIG.glob("*.yaml")), ids=lambda path: path.name)
def test_the_schema_for_editors_accepts_the_files(path: Path) -> None:
    validator = Draft202012Validator(schema())
    values = read_yaml(path)
    if path.name == "experiments.yaml":
        values = {"experiments": values}
    assert [error.message for error in validator.iter_errors(values)] == []


def test_every_key_says_what_it_means() -> None:
    """Blocks say it themselves, in their docstring."""

    def without(kind: type[Block], above: str = "") -> Iterator[str]:
        for key, field in kind.model_fields.items():
            of_block = [one for one in (field.annotation, *get_args(field.annotation)) if is_block(one)]
            if not (field.description or field.title or of_block):
                yield f"{above}{key}"
            for inner in of_block:
                yield from without(inner, f"{above}{key}.")

    assert list(without(Configuration)) == []


def is_block(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Block) and bool(kind.__doc__)


def test_numbers_from_the_command_line_are_numbers() -> None:
    """Snakemake passes --config seeds=[0,1] training={learning_rate: 1e-3} as text."""
    found = load(seeds=["0", "1"], training={"learning_rate": "1e-3", "repeat_captions": "true"})
    assert found.seeds == [0, 1]
    assert found.training.learning_rate == 0.001
    assert found.training.repeat_captions is True


def experiment(settings: Configuration, name: str) -> TrainSettings | LessonsSettings:
    return stage_settings.experiment_settings(settings, "multi30k", name, 0)


ON_VGG = {"on-vgg": {"branches": "shared", "captions": "human", "features": "vgg"}}


def test_a_feature_set_is_merged_over_the_main_one() -> None:
    settings = load(images={"sets": {"vgg": {"crop": 96}}}, experiments=ON_VGG)
    main, vgg = (settings.images.feature_settings(name) for name in (None, "vgg"))
    assert vgg == main.model_copy(update={"crop": 96, "crops": 1})
    assert experiment(settings, "on-vgg").features == vgg
    assert experiment(settings, "mule-nc") == experiment(load(), "mule-nc")
    assert experiment(settings, "mule-nc").features == main


def test_an_experiment_without_its_features_is_left_out_with_the_reason() -> None:
    rows = [
        {"row": 1, "method": "MULE", "experiment": "mule-full"},
        {"row": 2, "method": "on VGG", "experiment": "on-vgg"},
    ]
    user = {"experiments": ON_VGG, "tables": {"mine": {"columns": {"multi30k": ["en"]}, "rows": rows}}}
    here, lacking = (load(scale=scale, **user) for scale in ("demo", "flickr8k"))
    assert "on-vgg" in stage_settings.table_settings(here, "mine").trained["multi30k"]
    assert stage_settings.table_settings(here, "mine").left_out == []
    of = stage_settings.table_settings(lacking, "mine")
    assert [cell.experiment for cell in cells(of)] == ["mule-full"]
    reason = "the configuration has no features vgg (images.sets)"
    assert of.left_out == [f"row 2, on VGG: {reason}"]
    assert stage_settings.claim_settings(lacking).left_out["on-vgg"] == reason


def own(**changes: object) -> dict[str, Any]:
    return {"source": "custom", "captions": "c.csv", "images": "photos", "languages": ["en", "sw"], **changes}


def test_an_evaluation_records_what_training_started_from() -> None:
    """The settings of the training itself do not have these keys."""
    changes: dict[str, dict[str, Any]] = {
        "mule-full": {"pretraining": {"epochs": 9}},
        "smalr": {"assignment": {"pairs": "different"}},
        "bilingual": {"lessons": {"sampling_seed": 9}},
    }
    before = load()
    for name, change in changes.items():
        after = load(**change)
        one, other = (
            stage_settings.evaluation_settings(each, "multi30k", name, 0) for each in (before, after)
        )
        assert one != other
        train = [stage_settings.experiment_settings(each, "multi30k", name, 0) for each in (before, after)]
        assert train[0] == train[1]
    plain = stage_settings.evaluation_settings(before, "multi30k", "mule-one-en", 0)
    assert plain.as_values() == {}


@pytest.mark.parametrize(("own", "expected"), [({}, 3), ({"sentences_per_image": 1}, 1)])
def test_a_pretraining_samples_as_the_training_where_it_does_not_say(
    own: dict[str, int], expected: int
) -> None:
    settings = load(scale="paper", training={"sentences_per_image": 3}, pretraining=own)
    pretraining = stage_settings.pretraining_settings(settings, "multi30k", "mule-full", 0)
    assert pretraining.training.sentences_per_image == expected


def test_languages_are_in_the_order_of_the_data_set() -> None:
    """Batches are drawn and losses summed in that order, whatever order an experiment names them in."""
    made = {"two": {"branches": "shared", "captions": "human", "languages": ["cs", "en"]}}
    assert load(experiments=made).experiments_on("multi30k")["two"].languages == ["en", "cs"]


def test_translated_columns_of_a_users_table_are_marked() -> None:
    rows = [{"row": 1, "method": "ten", "experiment": "mule-ten"}]
    of = load(tables={"mine": {"columns": {"multi30k": ["en", "ar"]}, "rows": rows}})
    assert stage_settings.table_settings(of, "mine").caption_origins["multi30k"]["ar"] == "dictionary"


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_one_file_sets_everything_as_in_the_authors_code(scale: str) -> None:
    """At every scale each of its keys reaches the training; MSCOCO has a weight of its own, and no groups."""
    authors = read_yaml(CONFIG / "authors-code.yaml")
    settings = load(**{**authors, "scale": scale})
    assert settings.words.casing == "last"
    for dataset, data in settings.datasets.items():
        chosen = stage_settings.experiment_settings(settings, dataset, "mule-full", 0)
        found = chosen.as_values()
        pretraining = stage_settings.pretraining_settings(settings, dataset, "mule-full", 0)
        assert pretraining.training.sentences_per_image == 2
        for name in authors.keys() - {"words", "classifier", "pretraining"}:
            keys = authors[name].keys() - {"image_groups"}
            assert {key: found[name][key] for key in keys} == {key: authors[name][key] for key in keys}
        assert chosen.groups == []
        assert chosen.classifier.weight == {"multi30k": 1e-6, "mscoco": 1e-5}[data.stands_for or ""]


def test_norwegian_is_a_language_although_yaml_reads_its_code_as_false(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "training: {repeat_captions: no}\ndatasets: {mine: {source: custom, captions: a.csv, images: a, "
        "languages: [en, no], caption_origins: {no: google}}}\n"
    )
    found = load(**read_yaml(path))
    assert found.training.repeat_captions is False
    assert found.datasets["mine"].languages == ["en", "no"]
    assert found.datasets["mine"].caption_origins == {"no": "google"}


@pytest.mark.parametrize(
    ("changed", "unchanged", "different"),
    [
        ({"neighborhood": {"weight": 2.0}}, ["embn-en", "parallel-embn", "mule-embn"], "mule-nc"),
        ({"classifier": {"weight": 1e-5}}, ["embn-en", "mule-nc"], "mule-lc"),
        ({"pretraining": {"epochs": 1}}, ["embn-en", "mule-nc", "mule-full"], None),
        ({"lessons": {"patience": 1}}, ["mule-full", "vse-en"], "bilingual"),
        ({"experiments": {"mule-nc": {"settings": {"model": {"dropout": 0.1}}}}}, ["mule-nc-lc"], "mule-nc"),
    ],
)
def test_what_an_experiment_does_not_use_does_not_reach_it(
    changed: dict[str, Any], unchanged: list[str], different: str | None
) -> None:
    before, after = load(), load(**changed)
    for name in unchanged:
        assert experiment(before, name) == experiment(after, name), name
    if different:
        assert experiment(before, different) != experiment(after, different)


def test_precomputed_features_belong_to_the_set_that_names_them() -> None:
    settings = load(images={"features": "main.h5", "sets": {"own": {"features": "own.h5"}}})
    sets = settings.images.feature_sets()
    assert [sets[name].features for name in (None, "vgg", "own")] == ["main.h5", None, "own.h5"]
    assert settings.images.feature_settings("own").as_values().keys() == {"backbone", "dimension"}


def test_rows_are_added_to_a_table_without_repeating_it() -> None:
    mine = {"row": 20, "method": "mine", "single_model": "Y", "experiment": "mule-embn"}
    user = {"table2": {"add_rows": [mine]}}
    usual, table = load().tables["table2"], load(tables=user).tables["table2"]
    assert table == usual.model_copy(update={"rows": [*usual.rows, table.rows[-1]]})
    assert user == {"table2": {"add_rows": [mine]}}
    assert table.rows[-1].as_values() == mine


def test_five_lines_make_a_table_of_ones_own_data() -> None:
    settings = load(datasets={"birds": own()})
    table = settings.tables["birds"]
    assert (settings.report, table.columns) == (["birds"], {"birds": ["en", "sw"]})
    shown = [(row.row, row.method, row.single_model, row.experiment) for row in table.rows]
    assert shown == [
        (1, "EmbN", "N", "embn"),
        (2, "PARALLEL-EmbN", "Y", "parallel-embn"),
        (3, "MULE full", "Y", "mule-full"),
    ]
    rows = [{"experiment": "embn"}, {"row": 7, "experiment": "smalr"}]
    mine = {"columns": {"birds": ["en"]}, "rows": rows, "add_rows": [{"experiment": "mule-nc"}]}
    written = load(datasets={"birds": own()}, tables={"mine": mine})
    assert written.report == ["mine"] and "birds" not in written.tables
    found = [(row.row, row.method) for row in written.tables["mine"].rows]
    assert found == [(1, "embn"), (7, "smalr"), (8, "mule-nc")]


SHARED = {"branches": "shared", "captions": "human"}
VSE = {"model": {"encoder": "vse", "word_vectors": "scratch"}}
TWO_PARTS = {"parts": ["translation", "comparable"], "tested_on": "comparable", "captions_per_image": 1}
EXPERIMENTS: list[tuple[dict[str, Any], str]] = [  # each contradicts itself
    ({**SHARED, "settings": {"model": {"similarity": "order"}}}, "order needs ranking: true"),
    ({**SHARED, "settings": {"model": {**VSE["model"], "recurrent": "mean"}}}, "found mean"),
    ({**SHARED, "c2c": True}, "c2c: true needs selection: given"),
    ({**SHARED, "selection": {"en": TWO_PARTS}}, "selection.en.captions_per_image"),
]
CHANGES_OF_LESSONS: list[tuple[dict[str, Any], str]] = [  # of an experiment with a selection
    ({"languages": ["en", "fr"]}, "selection: 'fr', one of its languages, is missing"),
    ({"reduction": "frequency-10"}, "selection: given needs reduction: left out"),
    ({"languages": ["en"], "c2c": True}, "c2c: pairs of captions are of two languages"),
    ({"settings": {"lessons": {"divide_learning_rate_every": 15}}}, "is for models of one language"),
]


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        *(("mine", *mistake) for mistake in EXPERIMENTS),
        *(("bi-comparable", *mistake) for mistake in CHANGES_OF_LESSONS),
    ],
)
def test_an_experiment_that_contradicts_itself_is_refused(
    name: str, keys: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=rf"experiments\.{name}") as refused:
        load(experiments={name: keys})
    assert words in str(refused.value)


def table(*rows: dict[str, Any], **columns: list[str]) -> dict[str, Any]:
    """A configuration with a table of these columns and rows."""
    numbered = [{"row": number, "method": "mine", **row} for number, row in enumerate(rows, 1)]
    return {"tables": {"mine": {"columns": columns or {"multi30k": ["en"]}, "rows": numbered}}}


def added(**row: Any) -> dict[str, Any]:
    return {"tables": {"table2": {"add_rows": [{"method": "mine", "experiment": "mule-full", **row}]}}}


def translated(**provider: str) -> dict[str, Any]:
    return {"translation": {"default": {"provider": "marian", **provider}}}


def dataset(name: str, **keys: Any) -> dict[str, Any]:
    return {"datasets": {name: keys}}


LOANS = {"ko": {"dataset": "mscooc", "origin": "google"}}
PICTURES = {"source": "demo", "languages": ["en"], "stands_for": "mscoco"}
CONTRADICTIONS: list[tuple[dict[str, Any], list[str]]] = [
    (dataset("multi30k", languages=["en"], groups=[["en", "fr"]]), ["multi30k.groups: 'fr'"]),
    (dataset("birds", **own(sample_size=10)), ["birds.sample_size", "source custom"]),
    (dataset("fish", source="custom", languages=["en"], images="photos"), ["datasets.fish", "'captions'"]),
    (dataset("fish", **own(stands_for="multi30k")), ["stands_for: fish stands for multi30k too"]),
    (dataset("mine", **own(captions="{language}.csv")), ["mine.captions", "`split`"]),
    ({"scale": "paper", **dataset("multi30k", split="flickr30k")}, ["multi30k.split: found 'flickr30k'"]),
    (
        dataset("multi30k", translated_languages=["ko"], borrowed_translations=LOANS),
        ["multi30k.borrowed_translations.ko.dataset", "did you mean 'mscoco'?"],
    ),
    ({"images": {"crop": 300}}, ["images.crop: 300", "resize"]),
    (translated(model="opus-mt-en-de"), ["translation.default", "one target language only"]),
    (translated(model="{source}{target}", prefix=">>fra<<"), [">>fra<<", "one target language only"]),
    (table({"experiment": "mule-ful"}), ["did you mean 'mule-full'?"]),
    (table({"experiment": "mule-full", "queries": "translated"}), ["need a model of one language"]),
    (table({"experiment": "embn", "consistency": "average"}), ["consistency needs two"]),
    (table({"experiment": "bert-embn", "consistency": "average"}), ["captions that are prepared"]),
    (table({"experiment": "multilingual-en", "consistency": "average"}), ["captions that are prepared"]),
    ({"experiments": {"embn-en": {**SHARED}}}, ["the name of embn's model for en"]),
    (
        table({"experiment": "smalr-hem", "queries": "original", "consistency": "average"}),
        ["leave `queries` out"],
    ),
    (table({"experiment": "mule-full"}, multi30k=["en", "fr", "fr"]), ["'fr']: one of them twice"]),
    (table({"experiment": "mule-full"}, multi30k=["en", "sw"]), ["has no language 'sw'"]),
    (table({"experiment": "mule-full"}, multi3k=["en"]), ["did you mean 'multi30k'?"]),
    (
        table({"experiment": "mule-full", "columns": {"multi30k": ["en"]}}, multi30k=["de"], mscoco=["en"]),
        ["rows.0.columns.multi30k: the table has no language 'en'"],
    ),
    (
        {**table({"experiment": "mule-full"}, pictures=["en"]), **dataset("pictures", **PICTURES)},
        ["no data set 'pictures'"],
    ),
    (added(row=1), ["rows.11.row: found 1", "also the number of rows.0"]),
    (added(row=20, experiment="nobody"), ["rows.11.experiment: no experiment 'nobody'"]),
]


@pytest.mark.parametrize(("user", "words"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_refused(user: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        load(**user)
    assert all(word in str(refused.value) for word in words), refused.value

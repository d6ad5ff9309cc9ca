"""The configuration: all mistakes are reported together; a stage gets what it depends on and nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from pipeline import settings as configuration
from pipeline.common.block import Block
from pipeline.common.errors import InputError
from pipeline.settings import Configuration
from pipeline.settings.schema import schema
from pipeline.tables.cells import cells
from pipeline.training.settings import LessonsSettings, TrainSettings

CONFIG = Path(__file__).parents[2] / "config"


def load(**user: object) -> Configuration:
    return configuration.load({"scale": "demo", **user}, CONFIG)


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_the_scales_are_valid(scale: str) -> None:
    assert load(scale=scale).scale == scale


@pytest.fixture
def flickr8k_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths that the files of the small version name by environment variables."""
    for name in ("MIRROR", "FLICKR8K", "DICTIONARIES"):
        monkeypatch.setenv(f"MULTILINGUAL_{name}", str(tmp_path))
    (tmp_path / "features-resnet50.h5").touch()
    (tmp_path / "images.csv").touch()


@pytest.mark.parametrize("file", sorted(CONFIG.glob("*-*.yaml")), ids=lambda file: file.stem)
@pytest.mark.usefixtures("flickr8k_paths")
def test_the_files_for_configfile_are_valid(file: Path) -> None:
    flickr8k = file.stem.startswith("flickr8k-")
    below = configuration.read(CONFIG / "flickr8k-small.yaml") if flickr8k else {}
    settings = load(**configuration.merge(below, configuration.read(file)))
    assert settings.scale == ("flickr8k" if flickr8k else "demo")


def test_an_empty_block_empties_pairs_weights_and_origins_and_no_other() -> None:
    """SMALR has one weight of the classifier for all data sets, even if MULE has several."""
    authors = load(**configuration.read(CONFIG / "authors-code.yaml"))
    chosen = [
        configuration.experiment_settings(authors, "mscoco", name, 0).classifier.weight
        for name in ("mule-full", "smalr")
    ]
    assert chosen == [1e-5, 1e-6]
    pairs = {"en-zh": {"provider": "google"}}
    below = {"translation": {"pairs": pairs, "cache": "c"}, "model": {"hidden_size": 3}}
    found = configuration.merge(below, {"translation": {"pairs": {}}, "model": {}})
    assert found == {"translation": {"pairs": {}, "cache": "c"}, "model": {"hidden_size": 3}}


def test_another_provider_replaces_one_and_its_keys() -> None:
    below = {"default": {"provider": "marian", "model": "m"}, "pairs": {"en-zh": {"provider": "files"}}}
    found = configuration.merge(
        {"translation": below},
        {"translation": {"default": {"provider": "google"}, "pairs": {"en-zh": {"origin": "mine"}}}},
    )
    assert found["translation"] == {
        "default": {"provider": "google"},
        "pairs": {"en-zh": {"provider": "files", "origin": "mine"}},
    }


def test_the_paper_scale_has_the_papers_sizes() -> None:
    paper = load(scale="paper")
    sizes = {"universal_dim": 512, "multimodal_dim": 512, "hidden_size": 1024, "recurrent": "lstm"}
    assert paper.model.model_copy(update=sizes) == paper.model
    assert paper.triplets.as_values() == {"margin": 0.05, "num_hard_negatives": 10, "distance": "euclidean"}
    assert paper.images.backbone == "resnet152.tv_in1k"
    assert (paper.images.resize, paper.images.crop, paper.images.crops) == (512, 448, 10)
    assert (paper.training.batch_images, paper.training.epochs) == (450, 20)
    assert paper.classifier.weight == 1e-6


def test_scale_flickr8k_has_the_papers_sizes_and_rates_on_other_data() -> None:
    paper, flickr8k = load(scale="paper"), load(scale="flickr8k")
    assert {key for key in Configuration.model_fields if getattr(paper, key) != getattr(flickr8k, key)} == {
        "scale", "datasets", "images", "translation", "words", "muse", "bert", "report",
    }  # fmt: skip
    assert flickr8k.images == paper.images.model_copy(update={"sets": {"vgg": None, "resnet50": None}})
    assert flickr8k.words == paper.words.model_copy(update={"vectors": "multi30k"})
    assert flickr8k.bert == paper.bert.model_copy(update={"model": "pretrain"})
    assert flickr8k.muse == "align"
    google = {"dataset": "flickr8kcn", "origin": "google"}
    assert flickr8k.datasets["multi30k"].as_values() == {
        **paper.datasets["multi30k"].as_values(),
        "split": "flickr8k",
        "images": "flickr8k",
        "borrowed_translations": {"zh": google, "ja": google},
    }
    mscoco = paper.datasets["mscoco"]
    kept = ("stands_for", "languages", "translated_languages", "borrowed_translations", "max_caption_length")
    assert flickr8k.datasets["flickr8kcn"].as_values() == {
        **{key: getattr(mscoco, key) for key in kept},
        "source": "flickr8kcn",
        "images": "flickr8k",
        "caption_origins": {"ja": "google"},
        "groups": [],
    }


@pytest.mark.usefixtures("flickr8k_paths")
def test_a_combination_of_constraints_is_what_its_row_says() -> None:
    flickr8k = small_flickr8k("small", "photographs")
    rows = flickr8k.tables["constraints"].rows
    parts = [row.method.removesuffix(" (Full)").split("+")[1:] for row in rows]
    assert sorted(map(len, parts)) == [0, 1, 1, 1, 2, 2, 2, 3]
    for row, words in zip(rows, parts, strict=True):
        experiment = flickr8k.experiments[row.experiment]
        found = {"NC": experiment.neighborhood, "LC": experiment.classifier, "LP": experiment.pretraining}
        assert [word for word, used in found.items() if used] == words


def small_flickr8k(*names: str) -> Configuration:
    user: dict[str, Any] = {}
    for name in names:
        user = configuration.merge(user, configuration.read(CONFIG / f"flickr8k-{name}.yaml"))
    return load(**user)


@pytest.mark.usefixtures("flickr8k_paths")
def test_rows_about_smalrs_embedding_differ_in_nothing_else() -> None:
    flickr8k = small_flickr8k("small", "small-smalr")

    def differing(kind: Callable[..., Block], first: str, second: str) -> set[str]:
        one, other = (kind(flickr8k, "multi30k", name, 0).as_values() for name in (first, second))
        return {key for key in one | other if one.get(key) != other.get(key)}

    trained, assigned = configuration.experiment_settings, configuration.assignment_settings
    assert differing(trained, "hem-word-vectors", "smalr-hem") == {"experiment", "embedding", "hybrid"}
    assert differing(trained, "smalr-la-different", "smalr-la") == {"experiment"}
    assert differing(assigned, "smalr-la-different", "smalr-la") == {"experiment", "assignment"}


def authors_code(scale: str) -> Configuration:
    return load(**{**configuration.read(CONFIG / "authors-code.yaml"), "scale": scale})


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_one_file_sets_everything_as_in_the_authors_code(scale: str) -> None:
    """What their code does if the paper says something else, or nothing (`docs/mule.md`)."""
    settings = authors_code(scale)
    model, training = settings.model, settings.training
    found = {
        "cell": model.recurrent,
        "begun": model.recurrent_init,
        "learning_rate_decay": training.learning_rate_decay,
        "distance": settings.triplets.distance,
        "regularised toward": settings.word_regularizer.regularize_toward,
        "lambda2 applied": settings.classifier.weight_applied,
        "classifier's mean over": settings.classifier.mean_over,
        "u averages": model.universal_mean,
        "sentences per image": (training.sentences_per_image, training.repeat_captions),
        "batch of": training.images_in_batch,
        "casing": settings.words.casing,
        "momentum of TensorFlow": round(1 - model.batch_norm_momentum, 9),
        "epoch of": training.epoch_unit,
    }
    assert found == {
        "cell": "gru_reset_before",
        "begun": "tensorflow",
        "learning_rate_decay": 1.0,
        "distance": "euclidean",
        "regularised toward": "previous_epoch",
        "lambda2 applied": "twice",
        "classifier's mean over": "languages",
        "u averages": "padded",
        "sentences per image": (2, True),
        "batch of": "sampled_by_sentence",
        "casing": "last",
        "momentum of TensorFlow": 0.1,
        "epoch of": "sentences",
    }
    for dataset, data in settings.datasets.items():
        chosen = configuration.experiment_settings(settings, dataset, "mule-full", 0)
        assert chosen.groups == []
        weight = {"multi30k": 1e-6, "mscoco": 1e-5}[data.stands_for or ""]
        assert (chosen.classifier.weight, chosen.classifier.weight_applied) == (weight, "twice")


@pytest.mark.parametrize("scale", ["demo", "flickr8k", "paper"])
def test_an_epoch_is_a_pass_over_sentences_in_training_and_pretraining(scale: str) -> None:
    settings = load(scale=scale)
    for cut in (configuration.experiment_settings, configuration.pretraining_settings):
        assert cut(settings, "multi30k", "mule-full", 0).training.epoch_unit == "sentences"


def test_images_are_drawn_by_groups_only_with_human_captions() -> None:
    """MULE, supplement: three groups of MSCOCO's images; with translations every image has every language."""
    settings = load(scale="paper")
    three = [["en"], ["en", "ja"], ["en", "zh"]]
    for name, experiment in settings.experiments_on("mscoco").items():
        if experiment.selection:  # experiments of Lessons, which sample captions
            continue
        alone = len(experiment.languages) == 1 and experiment.captions != "augmented"
        human = experiment.captions == "human" or alone
        expected = three if human and experiment.vectors != "characters" else []  # LIWE has no groups
        for cut in (configuration.experiment_settings, configuration.pretraining_settings):
            assert cut(settings, "mscoco", name, 0).groups == expected, name


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
    values = configuration.read(path)
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


def test_contradictions_between_keys() -> None:
    with pytest.raises(InputError) as caught:
        load(
            datasets={"multi30k": {"languages": ["en"], "groups": [["en", "fr"]]}},
            images={"crop": 300},
            tables={"mine": {"paper": "mule", "table": 2, "columns": {}, "rows": [
                {"row": 1, "method": "m", "experiment": "mule-ful"},
                {"row": 2, "method": "m", "experiment": "mule-full", "queries": "translated"},
            ]}},
        )  # fmt: skip
    message = str(caught.value)
    assert "datasets.multi30k.groups: 'fr' is not among its languages" in message
    assert "images.crop: 300 is larger than resize, 146" in message
    assert "no experiment 'mule-ful', did you mean 'mule-full'?" in message
    assert "translated queries need a model of one language" in message


def test_norwegian_is_a_language_although_yaml_reads_its_code_as_false(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "training: {repeat_captions: no}\ncaption_origins: {no: google}\ncolumns: {mine: [en, no]}\n"
    )
    found = configuration.read(path)
    assert found["training"] == {"repeat_captions": False}
    assert found["caption_origins"] == {"no": "google"}
    assert found["columns"] == {"mine": ["en", "no"]}
    mine = {"source": "custom", "captions": "c.csv", "images": "i", "languages": ["en", False]}
    settings = load(
        datasets={"mine": {**mine, "caption_origins": {False: "google"}, "groups": [["en", False]]}}
    )
    assert settings.datasets["mine"].languages == ["en", "no"]
    assert settings.datasets["mine"].caption_origins == {"no": "google"}
    assert settings.datasets["mine"].groups == [["en", "no"]]
    assert settings.training.repeat_captions is False


def test_impossible_splits_are_reported() -> None:
    own = {"source": "custom", "captions": "mine/{language}.csv", "images": "mine", "languages": ["en"]}
    with pytest.raises(InputError) as caught:
        load(scale="paper", datasets={"mine": own, "multi30k": {"split": "flickr30k"}})
    assert "datasets.mine.captions: a file for each language needs `split`" in str(caught.value)
    assert "datasets.multi30k.split: found 'flickr30k', expected multi30k or flickr8k" in str(caught.value)
    given = load(datasets={"mine": {**own, "split": "mine/split.csv"}})
    assert given.datasets["mine"].split == "mine/split.csv"


def test_numbers_from_the_command_line_are_numbers() -> None:
    """Snakemake passes --config seeds=[0,1] training={learning_rate: 1e-3} as text."""
    found = load(seeds=["0", "1"], training={"learning_rate": "1e-3", "repeat_captions": "true"})
    assert found.seeds == [0, 1]
    assert found.training.learning_rate == 0.001
    assert found.training.repeat_captions is True


def experiment(settings: Configuration, name: str) -> TrainSettings | LessonsSettings:
    return configuration.experiment_settings(settings, "multi30k", name, 0)


def test_what_an_experiment_does_not_use_does_not_reach_it() -> None:
    usual, changed = (
        load(),
        load(neighborhood={"weight": 2.0}, classifier={"weight": 1e-5}, pretraining={"epochs": 1}),
    )
    for name in ("embn-en", "parallel-embn", "mule-embn"):
        assert experiment(usual, name) == experiment(changed, name)
    assert experiment(usual, "mule-nc") != experiment(changed, "mule-nc")


def test_an_experiment_may_have_its_own_settings() -> None:
    changed = load(experiments={"mule-nc": {"settings": {"training": {"learning_rate": 5e-4}}}})
    assert experiment(changed, "mule-nc").training.learning_rate == 5e-4
    assert experiment(changed, "mule-nc-lc") == experiment(load(), "mule-nc-lc")


ON_VGG = {"on-vgg": {"branches": "shared", "captions": "human", "features": "vgg"}}


def test_a_feature_set_is_merged_over_the_main_one() -> None:
    settings = load(images={"sets": {"vgg": {"crop": 96}}}, experiments=ON_VGG)
    main, vgg = (settings.images.feature_settings(name) for name in (None, "vgg"))
    assert vgg == main.model_copy(update={"crop": 96, "crops": 1})
    assert experiment(settings, "on-vgg").features == vgg
    assert experiment(settings, "mule-nc") == experiment(load(), "mule-nc")
    assert experiment(settings, "mule-nc").features == main


def test_the_paper_scale_has_vgg_features_as_published() -> None:
    vgg = load(scale="paper", images={"weights": "mine.pth"}).images.feature_settings("vgg")
    assert (vgg.backbone, vgg.weights, vgg.dimension) == ("vgg19.tv_in1k", "timm", 4096)
    assert (vgg.resize, vgg.crop, vgg.crops) == (256, 224, 10)


def test_precomputed_features_belong_to_the_set_that_names_them() -> None:
    settings = load(images={"features": "main.h5", "sets": {"own": {"features": "$HOME/own.h5"}}})
    sets = settings.images.feature_sets()
    assert [sets[name].features for name in (None, "vgg")] == ["main.h5", None]
    assert sets["own"].features.endswith("/own.h5")
    assert "$" not in str(sets["own"].features)
    assert settings.images.feature_settings("own").as_values().keys() == {"backbone", "dimension"}
    assert settings.images.feature_settings("vgg").crops == 1


def test_an_experiment_without_its_features_is_left_out_with_the_reason() -> None:
    rows = [
        {"row": 1, "method": "MULE", "experiment": "mule-full"},
        {"row": 2, "method": "on VGG", "experiment": "on-vgg"},
    ]
    user = {"experiments": ON_VGG, "tables": {"mine": {"columns": {"multi30k": ["en"]}, "rows": rows}}}
    here, lacking = (load(scale=scale, **user) for scale in ("demo", "flickr8k"))
    assert "on-vgg" in configuration.table_settings(here, "mine").trained["multi30k"]
    assert configuration.table_settings(here, "mine").left_out == []
    of = configuration.table_settings(lacking, "mine")
    assert [cell.experiment for cell in cells(of)] == ["mule-full"]
    reason = "the configuration has no features vgg (images.sets)"
    assert of.left_out == [f"row 2, on VGG: {reason}"]
    assert configuration.claim_settings(lacking).left_out["on-vgg"] == reason


def test_one_model_per_language() -> None:
    names = load().experiments_on("mscoco")
    assert [name for name in names if name.startswith("embn-")][:3] == ["embn-en", "embn-zh", "embn-ja"]
    assert names["embn-zh"].languages == ["zh"]
    assert names["mule-full"].languages == ["en", "zh", "ja"]


def test_training_settings_do_not_reach_pretraining() -> None:
    usual, changed = load(), load(training={"learning_rate": 0.5, "epochs": 1}, model={"hidden_size": 7})
    assert configuration.pretraining_settings(usual, "multi30k", "mule-full", 0) == (
        configuration.pretraining_settings(changed, "multi30k", "mule-full", 0)
    )


def own(**changes: object) -> dict[str, Any]:
    return {"source": "custom", "captions": "c.csv", "images": "photos", "languages": ["en", "sw"], **changes}


def test_a_custom_data_set_needs_few_keys() -> None:
    settings = load(datasets={"birds": own()})
    data = settings.datasets["birds"]
    assert settings.stands_for("birds") == "birds"
    assert (data.caption_origins, data.groups, data.max_caption_length) == ({}, [], 40)


def test_a_data_set_has_the_keys_of_its_source_and_no_others() -> None:
    with pytest.raises(InputError) as caught:
        load(
            datasets={
                "birds": own(sample_size=10),
                "fish": {
                    "source": "custom",
                    "languages": ["en"],
                    "images": "photos",
                    "stands_for": "multi30k",
                },
                "coco": {
                    **own(
                        source="mscoco", images="mscoco", sample_size=10, split_seed=0, test_images="test.txt"
                    ),
                    "val_images": None,
                },
            },
            tables={
                "table2": {"columns": {"birs": ["en"]}},
                "mine": {
                    "columns": {"birds": ["en", "fr"]},
                    "rows": [{"row": 1, "method": "m", "experiment": "embn"}],
                },
            },
        )
    message = str(caught.value)
    assert "datasets.birds.sample_size: source custom has no such key" in message
    assert "datasets.fish: 'captions' is missing, which source custom needs" in message
    assert "datasets.multi30k.stands_for: fish stands for multi30k too" in message
    assert "datasets.coco: test_images and val_images go together; give both or neither" in message
    assert "datasets.coco.captions: source mscoco has no such key" in message
    assert "tables.table2.columns: no data set 'birs', did you mean 'birds'?" in message
    assert "tables.mine.columns.birds: the data set has no language 'fr'" in message


def test_a_scale_may_change_an_experiment() -> None:
    few, published = (load(scale=scale).experiments["order"] for scale in ("demo", "paper"))
    assert published.settings.training.batch_images == 128
    assert few.settings.training.batch_images == 32
    assert few.settings.ranking == published.settings.ranking
    assert few.settings.ranking.model_dump(exclude_unset=True) == {"margin": 0.05}


def test_encoders_and_losses_that_do_not_fit_are_reported_together() -> None:
    vse = {"encoder": "vse", "word_vectors": "scratch"}
    wrong = {
        "a": {"branches": "shared", "captions": "human", "settings": {"model": {"similarity": "order"}}},
        "b": {"branches": "shared", "captions": "human", "settings": {"model": {**vse, "recurrent": "mean"}}},
        "c": {"branches": "shared", "captions": "human", "neighborhood": True, "settings": {"model": vse}},
        "d": {"branches": "shared", "captions": "human", "vectors": "muse", "settings": {"model": vse}},
    }
    with pytest.raises(InputError) as raised:
        load(experiments=wrong)
    told = str(raised.value)
    assert "experiments.a: model.similarity: order needs ranking: true" in told
    assert "experiments.b: model.encoder: vse needs model.recurrent: lstm or gru; found mean" in told
    assert "experiments.c: model.encoder: vse needs neighborhood: false; found true" in told
    assert "experiments.d: model.word_vectors: scratch needs vectors: fasttext; found muse" in told


def test_rows_are_added_to_a_table_without_repeating_it() -> None:
    """After the table's own; their numbers must be new, and the user's settings are not changed."""
    mine = {"row": 20, "method": "mine", "single_model": "Y", "experiment": "mule-embn"}
    user = {"table2": {"add_rows": [mine]}}
    usual = load().tables["table2"]
    table = load(tables=user).tables["table2"]
    assert table == usual.model_copy(update={"rows": [*usual.rows, table.rows[-1]]})
    assert user == {"table2": {"add_rows": [mine]}}
    assert table.rows[-1].as_values() == mine
    wrong = [{**mine, "row": 1}, {**mine, "row": 21, "experiment": "nobody"}, {**mine, "row": 1}]
    with pytest.raises(InputError) as caught:
        load(tables={"table2": {"add_rows": wrong}})
    message = str(caught.value)
    assert "tables.table2.add_rows.0.row: found 1, which is also the number of rows.0" in message
    assert "tables.table2.add_rows.1.experiment: no experiment 'nobody'" in message
    assert "tables.table2.add_rows.2.row: found 1, which is also the number of rows.0" in message
    with pytest.raises(InputError, match=r"tables.table2\.add_rows\.0\.experiment: Field required"):
        load(tables={"table2": {"add_rows": [{"row": 20, "method": "mine"}]}})


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
            configuration.evaluation_settings(each, "multi30k", name, 0) for each in (before, after)
        )
        assert one.preparation != other.preparation
        train = [configuration.experiment_settings(each, "multi30k", name, 0) for each in (before, after)]
        assert train[0] == train[1]
    plain = configuration.evaluation_settings(before, "multi30k", "mule-one-en", 0)
    assert plain.as_values() == {"threads": 1, "model": {"encoder": "embn"}, "embedding": "universal"}


def _row(experiment: str, **keys: str) -> dict[str, Any]:
    table = {"add_rows": [{"row": 20, "method": "mine", "experiment": experiment, **keys}]}
    return {"tables": {"table4": table}}


@pytest.mark.parametrize(
    ("message", "user"),
    [
        ("translated queries need a model of one language", _row("embn", queries="translated")),
        ("translated queries need a model of one language", _row("embn-human+mt", queries="translated")),
        ("embn has one language; consistency needs two", _row("embn", consistency="average")),
        ("embn-en has one language; consistency needs two", _row("embn-en", consistency="average")),
        (
            "found ['en', 'fr', 'fr']: one of them twice",
            {"tables": {"table4": {"columns": {"multi30k": ["en", "fr", "fr"]}}}},
        ),
        (
            "translation.default: model 'opus-mt-en-de' with prefix '' serves one target language only",
            {"translation": {"default": {"provider": "marian", "model": "opus-mt-en-de"}}},
        ),
        (
            "with prefix '>>fra<<' serves one target language only",
            {
                "translation": {
                    "default": {"provider": "marian", "model": "{source}{target}", "prefix": ">>fra<<"}
                }
            },
        ),
        (
            "columns: no data set 'pictures'; known are mscoco, multi30k",
            {
                "datasets": {"pictures": {"source": "demo", "languages": ["en"], "stands_for": "mscoco"}},
                "tables": {"table4": {"columns": {"pictures": ["en"]}}},
            },
        ),
        (
            "experiments.drawn.selection.en.captions_per_image: captions are sampled in each part",
            {
                "experiments": {
                    "drawn": {
                        "branches": "shared",
                        "captions": "human",
                        "selection": {
                            "en": {
                                "parts": ["translation", "comparable"],
                                "tested_on": "comparable",
                                "captions_per_image": 1,
                            }
                        },
                    }
                }
            },
        ),
        (
            "experiments.sentences: embedding: hybrid needs vectors: fasttext or muse; found bert",
            {
                "experiments": {
                    "sentences": {
                        "embedding": "hybrid",
                        "branches": "shared",
                        "captions": "human",
                        "vectors": "bert",
                    }
                }
            },
        ),
        (
            "tables.table4.add_rows.0: leave `queries` out, consistency uses original queries",
            _row("smalr-hem", queries="original", consistency="average"),
        ),
    ],
)
def test_settings_that_would_give_mislabelled_numbers_are_refused(message: str, user: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        load(**user)
    assert message in str(refused.value)


def test_languages_are_in_the_order_of_the_data_set() -> None:
    """Batches are drawn and losses summed in that order, whatever order an experiment names them in."""
    made = {"two": {"branches": "shared", "captions": "human", "languages": ["cs", "en"]}}
    assert load(experiments=made).experiments_on("multi30k")["two"].languages == ["en", "cs"]


@pytest.mark.parametrize(
    "names",
    [
        ["mule-ten", "mule-ten-frequency-5", "mule-ten-pca-50", "mule-ten-dictionary-5"],  # Figure 3
        ["mule-ten", "mule-own", "mule-one-en"],  # Figure 1b
    ],
)
def test_points_of_a_figure_have_one_model_also_with_the_authors_settings(names: list[str]) -> None:
    """The authors' code pads sentences."""
    authors = load(**configuration.read(CONFIG / "authors-code.yaml"))
    models = [configuration.experiment_settings(authors, "multi30k", name, 0).model for name in names]
    assert all(model == models[0] for model in models)


def test_captions_of_origin_human_are_human(tmp_path: Path) -> None:
    of = load(datasets={"multi30k": {"caption_origins": {"de": "human", "fr": "google"}}})
    human = configuration.table_settings(of, "smalr/table2").human or {}
    assert human["multi30k"] == ["en", "de", "cs"]


def test_translated_columns_of_a_users_table_are_marked() -> None:
    rows = [{"row": 1, "method": "ten", "experiment": "mule-ten"}]
    of = load(tables={"mine": {"columns": {"multi30k": ["en", "ar"]}, "rows": rows}})
    assert configuration.table_settings(of, "mine").caption_origins["multi30k"]["ar"] == "dictionary"

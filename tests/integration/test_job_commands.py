"""The commands of jobs have the files of their language, data set, scale and seed, and their settings.

They are read from dry runs; nothing is made. Stages check little of this: vectors of another language
or captions of another part are valid files too.
"""

import json
import re
import shlex
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from project import Project, copy_of_project

pytestmark = pytest.mark.integration

Options = dict[str, list[str]]

FACEBOOK = "work/sources/dl.fbaipublicfiles.com"
MULTI30K = ["en", "de", "fr", "cs"]
MSCOCO = ["en", "zh", "ja"]
TRANSLATED = ["de", "fr", "cs", "ar", "af", "ko", "ru"]  # languages that MSCOCO's English is translated into


def options_of(project: Project, *targets: str) -> dict[str, Options]:
    """Values of the options of each job that a dry run announces, by the file that the job makes."""
    done = project.snakemake("-n", "-p", *targets)
    assert done.returncode == 0, done.stdout
    commands = r"^Shell command: (?:exec )?python -m (?:pipeline|search) \S+ (.*?) > \S+ 2>&1"
    found: dict[str, Options] = {}
    for command in re.findall(commands, done.stdout, re.M):
        options: Options = {}
        for word in shlex.split(command):
            if word.startswith("--"):
                name, equals, value = word.removeprefix("--").partition("=")
                values = options.setdefault(name, [])
                values += [value] if equals else []
            else:
                values.append(word)
        for name in ("output", "table", "outputs"):
            if name in options:
                found[options[name][0]] = options
                break
    return found


def settings(options: Options) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(options["settings"][0])
    return found


def each(pattern: str, languages: list[str]) -> list[str]:
    """Paths in which a language replaces *."""
    return [pattern.replace("*", language) for language in languages]


PAPER: dict[str, Any] = {
    "scale": "paper",
    "seeds": [3, 4],
    "lessons": {"sampling_seed": 5, "min_count": 6},
    "datasets": {"mscoco": {"split_seed": 7, "sample_size": 12}},
    "translation": {"default": {"provider": "dictionary"}},
}
TEN = "work/paper/mscoco/experiments/mule-ten-dictionary-5/seed4"
MUSE = "work/paper/multi30k/experiments/muse-full/seed4"
EQUAL_STEPS = "work/paper/multi30k/experiments/embn-equal-steps-fr/seed4"
LESSONS = [
    "multi-comparable-c2c",
    "bi-comparable-c2c-as-code",
    "multilingual-comparable-c2c-fr",
    "bi-overlap-c2c-as-code",
    "bi-disjoint",
]


@pytest.fixture(scope="module")
def project_with_answers(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of scale paper that has the data available on request."""
    project = copy_of_project(tmp_path_factory.mktemp("paper"))
    for name in ("flickr30k", "coco-cn"):
        (project.folder / "on-request" / name).mkdir(parents=True)
    (project.folder / "on-request/coco-cn/imageid.human-written-caption.txt").touch()
    return project


@pytest.fixture(scope="module")
def paper(project_with_answers: Project) -> dict[str, Options]:
    project_with_answers.configure(**PAPER)
    lessons = [f"work/paper/multi30k/experiments/{name}/seed4/test-original.json" for name in LESSONS]
    return options_of(
        project_with_answers,
        f"{TEN}/test-original.json",
        f"{MUSE}/test-original.json",
        f"{EQUAL_STEPS}/model.pt",
        *lessons,
        "results/table1.csv",
        "results/lessons/table1.csv",
        "results/smalr/figure1b.csv",
        "work/paper/multi30k/translation-quality/fr-en.csv",
    )


def test_a_split_is_sampled_as_configured(paper: dict[str, Options]) -> None:
    drawn = paper["work/paper/mscoco/split.csv"]
    assert settings(drawn) == {"source": "mscoco", "sample_size": 12, "split_seed": 7}
    assert drawn["requested"] == ["on-request/coco-cn"] and "image-list" not in drawn
    assert settings(paper["work/paper/multi30k/split.csv"]) == {"source": "multi30k", "split": "multi30k"}


def test_captions_are_read_with_the_files_on_request_and_of_the_splits_images(
    paper: dict[str, Options],
) -> None:
    for code in MSCOCO:
        read = paper[f"work/paper/mscoco/captions/{code}.csv"]
        assert read["language"] == [code]
        assert read["split"] == ["work/paper/mscoco/split.csv"]
        assert read.get("requested") == (["on-request/coco-cn"] if code == "zh" else None)


def test_listed_images_replace_sampling_and_custom_captions_have_a_seed(
    project_with_answers: Project,
) -> None:
    mine = project_with_answers.folder / "mine"
    mine.mkdir()
    captions = "".join(f"{number}.png,{code},a dog\n" for number in range(30) for code in ("en", "sw"))
    (mine / "captions.csv").write_text("image,language,caption\n" + captions)
    for name in ("test", "val", "all"):
        (mine / f"{name}.csv").write_text("image\n1.png\n")
    own = {"source": "custom", "captions": "mine/captions.csv", "images": "mine", "languages": ["en", "sw"]}
    lists = {"test_images": "mine/test.csv", "val_images": "mine/val.csv", "sample_size": 12, "split_seed": 7}
    project_with_answers.configure(
        scale="paper", datasets={"mscoco": lists, "mine": {**own, "split_seed": 9}}
    )
    jobs = options_of(project_with_answers, "work/paper/mscoco/split.csv", "work/paper/mine/split.csv")
    named = {"test_images": "mine/test.csv", "val_images": "mine/val.csv"}
    assert settings(jobs["work/paper/mscoco/split.csv"]) == {"source": "mscoco", **named}
    of_table = {"source": "custom", "captions": "mine/captions.csv", "split_seed": 9}
    assert settings(jobs["work/paper/mine/split.csv"]) == of_table


def test_each_data_set_has_its_own_photographs(paper: dict[str, Options]) -> None:
    mscoco, multi30k = (paper[f"work/paper/{name}/images.csv"] for name in ("mscoco", "multi30k"))
    assert mscoco["images"] == ["work/photographs/train2014", "work/photographs/val2014"]
    assert multi30k["images"] == ["on-request/flickr30k"]
    assert mscoco["split"] == ["work/paper/mscoco/split.csv"]
    assert "flickr-names" in multi30k and "flickr-names" not in mscoco


def test_each_language_has_its_own_published_vectors(paper: dict[str, Options]) -> None:
    for code in [*MSCOCO, *TRANSLATED]:
        words = paper[f"work/paper/mscoco/words/augmented/{code}.h5"]
        assert words["vectors-file"] == [f"{FACEBOOK}/fasttext/vectors-crawl/cc.{code}.300.vec.gz"]
        assert settings(words)["vectors"] == "file"
    for code in MULTI30K:
        words = paper[f"work/paper/multi30k/words/human/muse/{code}.h5"]
        assert words["vectors-file"] == [f"{FACEBOOK}/arrival/vectors/wiki.multi.{code}.vec"]
        assert words["sentences"] == [f"work/paper/multi30k/tokens/{code}.csv"]
        assert (words["caption-origin"], words["translations"]) == (["human"], [])


def test_a_vocabulary_is_built_from_its_languages_captions_and_translations(
    paper: dict[str, Options],
) -> None:
    """Translations from English replace the captions that a language lacks, and are added to the others."""
    folder = "work/paper/mscoco"
    for code in [*MSCOCO, *TRANSLATED]:
        words = paper[f"{folder}/words/augmented/{code}.h5"]
        own = code in MSCOCO
        assert words["sentences"] == [
            f"{folder}/{f'tokens/{code}' if own else f'translations/en-{code}'}.csv"
        ]
        assert words["caption-origin"] == ["human" if own else "dictionary"]
        added = [f"{folder}/augmented/en-{code}.csv"] if code in ("zh", "ja") else []
        assert words["translations"] == added


def test_words_are_reduced_with_their_own_dictionary_to_english(paper: dict[str, Options]) -> None:
    folder = "work/paper/mscoco/words/augmented"
    for code in [*MSCOCO[1:], *TRANSLATED]:
        reduced = paper[f"{folder}/dictionary-5/{code}.h5"]
        assert reduced["words"] == [f"{folder}/{code}.h5"]
        assert reduced["english"] == [f"{folder}/en.h5"]
        whole = paper[f"{folder}/{code}.h5"]  # words are counted in the captions that it was built from
        for name in ("language", "captions", "sentences", "caption-origin", "translations"):
            assert reduced[name] == whole[name]
        assert reduced["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-{code}.txt"]


def test_a_model_reads_its_vocabularies_sentences_features_and_seed(paper: dict[str, Options]) -> None:
    folder = "work/paper/mscoco"
    reduced = each(f"{folder}/words/augmented/dictionary-5/*.h5", [*MSCOCO[1:], *TRANSLATED])
    evaluated, trained = paper[f"{TEN}/test-original.json"], paper[f"{TEN}/model.pt"]
    for job in (evaluated, trained):
        assert job["words"] == [f"{folder}/words/augmented/en.h5", *reduced]
        assert job["features"] == [f"{folder}/features.h5"]
        assert job["sentences"] == [
            *each(f"{folder}/tokens/*.csv", MSCOCO),
            *each(f"{folder}/translations/en-*.csv", TRANSLATED),
        ]
    assert trained["translations"] == each(f"{folder}/augmented/en-*.csv", ["zh", "ja"])
    assert trained["pretrained"] == [f"{TEN}/pretrained.pt"]
    assert settings(trained)["seed"] == settings(paper[f"{TEN}/pretrained.pt"])["seed"] == 4
    assert evaluated["translated-queries"] == []
    aligned = each("work/paper/multi30k/words/human/muse/*.h5", MULTI30K)
    assert paper[f"{MUSE}/test-original.json"]["words"] == aligned


def test_a_model_is_trained_with_the_steps_of_another_where_it_is_configured(
    paper: dict[str, Options],
) -> None:
    (steps,) = paper[f"{EQUAL_STEPS}/model.pt"]["steps"]
    assert settings(paper[steps])["experiment"] == "parallel-embn"
    assert paper[f"{TEN}/model.pt"]["steps"] == []


def test_a_dictionary_translates_the_captions_of_its_pair(paper: dict[str, Options]) -> None:
    folder = "work/paper/mscoco"
    for code in ("zh", "ko"):
        translated = paper[f"{folder}/translations/en-{code}.csv"]
        assert translated["sentences"] == [f"{folder}/tokens/en.csv"]
        assert translated["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-{code}.txt"]
        own = [f"{folder}/tokens/{code}.csv"] if code == "zh" else None
        assert translated.get("target-sentences") == own
    measured = paper["work/paper/multi30k/translation-quality/fr-en.csv"]
    assert measured["target-sentences"] == ["work/paper/multi30k/tokens/en.csv"]
    assert measured["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-fr.txt"]


@pytest.mark.parametrize(
    ("experiment", "language", "texts", "tested_on", "half"),
    [
        ("multi-comparable-c2c", "de", ["drawn/1-seed5/comparable"], "comparable", None),
        ("bi-comparable-c2c-as-code", "en", ["drawn/1-seed5/comparable"], "comparable", None),
        ("multi-comparable-c2c", "fr", ["translation"], "translation", None),
        ("multilingual-comparable-c2c-fr", "en", ["translation", "comparable"], "comparable", None),
        ("multilingual-comparable-c2c-fr", "cs", ["translation"], "translation", None),
        ("bi-overlap-c2c-as-code", "de", ["comparable"], "comparable", ("halves-seed5-de", "first")),
        ("bi-disjoint", "en", ["comparable"], "comparable", ("halves-seed5", "first")),
        ("bi-disjoint", "de", ["comparable"], "comparable", ("halves-seed5", "second")),
    ],
)
def test_lessons_selects_the_parts_of_its_experiments(
    paper: dict[str, Options],
    experiment: str,
    language: str,
    texts: list[str],
    tested_on: str,
    half: tuple[str, str] | None,
) -> None:
    folder = "work/paper/multi30k"
    selected = settings(paper[f"{folder}/selected/{experiment}"])
    drawn, which = half or (None, "first")
    # The public code pairs the captions of all images, or of another sample.
    pairs = {"bi-overlap-c2c-as-code": "comparable", "bi-comparable-c2c-as-code": "drawn/1-seed6/comparable"}
    paired_part = pairs.get(experiment)
    assert selected["languages"][language] == {
        "texts": [f"{folder}/parts/{part}/{language}.csv" for part in texts],
        "tested_on": f"{folder}/parts/{tested_on}/{language}.csv",
        **({"halves": f"{folder}/drawn/{drawn}.csv"} if drawn else {}),
        "half": which,
        **({"pair_texts": [f"{folder}/parts/{paired_part}/{language}.csv"]} if paired_part else {}),
    }
    assert selected["min_count"] == 6
    trained = paper[f"{folder}/experiments/{experiment}/seed4/model.pt"]
    assert trained["features"] == [f"{folder}/features-resnet50.h5"]
    languages = list(selected["languages"])
    assert trained["words"] == each(f"{folder}/selected/{experiment}/*.h5", languages)
    paired = each(f"{folder}/selected/{experiment}/pairs-*.csv", languages)
    assert trained["pairs"] == (paired if paired_part else [])
    assert settings(trained)["seed"] == 4


def test_samples_of_lessons_have_the_configured_seed(paper: dict[str, Options]) -> None:
    folder = "work/paper/multi30k"
    drawn = paper[f"{folder}/parts/drawn/1-seed5/comparable/de.csv"]
    assert drawn["part"] == [f"{folder}/parts/comparable/de.csv"]
    assert (drawn["captions-per-image"], drawn["seed"]) == (["1"], ["5"])
    own, shared = (paper[f"{folder}/drawn/halves-seed5{name}.csv"] for name in ("-de", ""))
    assert (own["seed"], own["language"]) == (["5"], ["de"])
    assert shared["seed"] == ["5"] and "language" not in shared


def test_counted_tables_read_the_text_that_they_name(paper: dict[str, Options]) -> None:
    counted = paper["work/results/paper/table1.csv"]["captions"]
    assert counted == [
        *each("multi30k=work/paper/multi30k/captions/*.csv", MULTI30K),
        *each("mscoco=work/paper/mscoco/captions/*.csv", MSCOCO),
    ]
    overlap = paper["work/results/paper/lessons/table1.csv"]
    text = {
        name: [
            re.sub(r"=.*/data/(task\d)/tok/train[.]lc[.]norm[.]tok", r" \1", path) for path in overlap[name]
        ]
        for name in ("translation", "comparable")
    }
    assert text == {
        "translation": each("* task1.*", MULTI30K),
        "comparable": [f"{code} task2.{number}.{code}" for code in ("en", "de") for number in range(1, 6)],
    }


def test_a_figures_points_have_models_of_all_seeds(paper: dict[str, Options]) -> None:
    figure = paper["work/results/paper/smalr/figure1b.csv"]
    folders = [str(Path(path).parent) for path in figure["models"]]
    assert figure["models"] == [f"{folder}/model.pt" for folder in folders]
    assert figure["evaluations"] == [f"{folder}/test-original.json" for folder in folders]
    assert [folder[-1] for folder in folders] == ["3", "4"] * (len(folders) // 2)


SMALR = "work/flickr8k/multi30k/experiments/smalr/seed3"
CHINESE = "work/flickr8k/flickr8kcn"
PARTS = {  # an experiment of a user, trained like the experiments of Lessons
    "branches": "shared",
    "captions": "human",
    "languages": ["zh", "ja"],
    "selection": {
        "zh": {"parts": ["comparable"], "tested_on": "comparable"},
        "ja": {"parts": ["translation"], "tested_on": "translation"},
    },
    "settings": {"model": {"encoder": "vse", "word_vectors": "scratch"}},
}


@pytest.fixture(scope="module")
def flickr8k(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Options]:
    project = copy_of_project(tmp_path_factory.mktemp("flickr8k"))
    project.configure(
        scale="flickr8k",
        seeds=[3],
        translation={"pairs": {"de-en": {"provider": "google"}}},
        experiments={"parts": PARTS},
    )
    return options_of(
        project,
        f"{SMALR}/test-learned.json",
        f"{CHINESE}/experiments/mule-full-human+mt/seed3/test-original.json",
        f"{CHINESE}/experiments/embn-en/seed3/test-translated.json",
        f"{CHINESE}/experiments/muse-embn/seed3/test-original.json",
        f"{CHINESE}/translation-quality/ja-en.csv",
        *each(f"{CHINESE}/augmented/en-*.csv", ["ja", "zh"]),
        f"{CHINESE}/experiments/parts/seed3/test-original.json",
        f"{CHINESE}/experiments/mule-full/seed3/index",
        "results/smalr/parameters.csv",
    )


def test_borrowed_translations_are_those_of_the_borrowers_images(flickr8k: dict[str, Options]) -> None:
    for code in ("zh", "ja"):
        borrowed = flickr8k[f"work/flickr8k/multi30k/translations/en-{code}.csv"]
        assert (borrowed["provider"], borrowed["origin"]) == (["files"], ["google"])
        assert borrowed["captions"] == [f"{CHINESE}/captions/{code}.csv"]
        assert borrowed["images"] == ["work/flickr8k/multi30k/split.csv"]
    published = flickr8k[f"{CHINESE}/translations/en-zh.csv"]
    assert published["captions"] == [f"{CHINESE}/captions/zh.csv"] and "images" not in published


def test_vectors_are_trained_on_multi30ks_text_if_it_has_the_language(flickr8k: dict[str, Options]) -> None:
    """The text leaves out captions that any data set of the scale validates or tests with."""
    for code in [*MULTI30K, "zh", "ja", "ar", "af", "ko", "ru"]:
        words = flickr8k[f"work/flickr8k/multi30k/words/augmented/{code}.h5"]
        of_text = code in MULTI30K
        assert settings(words)["vectors"] == ("multi30k" if of_text else "train")
        folder = "work/flickr8k/text" if of_text else "work/flickr8k/multi30k/text"
        assert words["vectors-file"] == [f"{folder}/{code}.bin"]
    for code, origin in (("zh", "google"), ("ar", "dictionary")):  # the provider of all its captions
        trained = flickr8k[f"work/flickr8k/multi30k/text/{code}.bin"]
        assert (trained["language"], trained["caption-origin"]) == ([code], [origin])
    for code in MULTI30K:
        text = flickr8k[f"work/flickr8k/text/{code}.csv"]
        assert text["splits"] == ["work/flickr8k/multi30k/split.csv", f"{CHINESE}/split.csv"]
    assert settings(flickr8k["work/flickr8k/multi30k/split.csv"])["split"] == "flickr8k"


def test_captions_that_were_translated_keep_their_origin(flickr8k: dict[str, Options]) -> None:
    """Flickr8K-CN's Japanese is Google's, as are the Chinese and Japanese that Multi30K borrows."""
    japanese, chinese = (flickr8k[f"{CHINESE}/words/human+mt/{code}.h5"] for code in ("ja", "zh"))
    assert (japanese["caption-origin"], chinese["caption-origin"]) == (["google"], ["human"])
    for source, target, origin in (("ja", "en", "google"), ("zh", "en", "human"), ("en", "ja", "human")):
        assert flickr8k[f"{CHINESE}/translations/{source}-{target}.csv"]["source-origin"] == [origin]
        added = flickr8k.get(f"{CHINESE}/augmented/{source}-{target}.csv", {})
        assert added.get("caption-origin") == (["google"] if target == "ja" else None)
    for code, origin in (("de", "human"), ("zh", "google"), ("ja", "google"), ("ru", "dictionary")):
        assert flickr8k[f"work/flickr8k/multi30k/words/augmented/{code}.h5"]["caption-origin"] == [origin]


def test_parts_of_a_data_set_contain_only_its_own_captions(flickr8k: dict[str, Options]) -> None:
    """Chinese captions are human, Google's or Baidu's; Japanese captions are only Google's."""
    for code, part, origin in (("zh", "comparable", "human"), ("ja", "translation", "google")):
        made = flickr8k[f"{CHINESE}/parts/{part}/{code}.csv"]
        assert (made["sentences"], made["origin"]) == ([f"{CHINESE}/tokens/{code}.csv"], [origin])
    assert settings(flickr8k[f"{CHINESE}/experiments/parts/seed3/model.pt"])["caption_origins"] == {
        "ja": "google"
    }


def test_an_index_has_only_own_captions_of_test_images(flickr8k: dict[str, Options]) -> None:
    """As for the recalls: Flickr8K-CN has Google's and Baidu's Chinese in the same table."""
    made = flickr8k[f"{CHINESE}/experiments/mule-full/seed3/index"]
    assert made["original"] == [] and made["split"] == [f"{CHINESE}/split.csv:test"]
    assert made["sentences"] == each(f"{CHINESE}/tokens/*.csv", ["en", "zh", "ja"])


def test_a_model_trained_with_translations_uses_both_directions(
    flickr8k: dict[str, Options],
) -> None:
    trained = flickr8k[f"{CHINESE}/experiments/mule-full-human+mt/seed3/model.pt"]
    assert trained["translations"] == each(
        f"{CHINESE}/translations/*.csv", ["zh-en", "ja-en", "en-zh", "en-ja"]
    )
    assert trained["words"] == each(f"{CHINESE}/words/human+mt/*.h5", MSCOCO)
    for code, pairs in (("en", ["zh-en", "ja-en"]), ("zh", ["en-zh"]), ("ja", ["en-ja"])):
        words = flickr8k[f"{CHINESE}/words/human+mt/{code}.h5"]
        assert words["translations"] == each(f"{CHINESE}/translations/*.csv", pairs)


def test_vectors_are_aligned_to_english_whose_vectors_stay(flickr8k: dict[str, Options]) -> None:
    folder = f"{CHINESE}/words/human"
    evaluated = flickr8k[f"{CHINESE}/experiments/muse-embn/seed3/test-original.json"]
    assert evaluated["words"] == [f"{folder}/en.h5", *each(f"{folder}/muse/*.h5", ["zh", "ja"])]
    for code in ("zh", "ja"):
        aligned = flickr8k[f"{folder}/muse/{code}.h5"]
        assert aligned["words"] == [f"{folder}/{code}.h5"] and aligned["english"] == [f"{folder}/en.h5"]
        assert aligned["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-{code}.txt"]


def test_published_aligned_vectors_are_files_where_other_vectors_are_trained(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    project.configure(scale="demo", muse="file")
    folder = "work/demo/multi30k/words/human"
    found = options_of(project, f"{folder}/muse/de.h5", f"{folder}/de.h5")
    assert [settings(found[f"{folder}/{name}.h5"])["vectors"] for name in ("muse/de", "de")] == [
        "file",
        "train",
    ]


def test_queries_are_translated_from_all_other_languages(flickr8k: dict[str, Options]) -> None:
    evaluated = flickr8k[f"{CHINESE}/experiments/embn-en/seed3/test-translated.json"]
    assert evaluated["words"] == [f"{CHINESE}/words/human/en.h5"]
    assert evaluated["sentences"] == each(f"{CHINESE}/tokens/*.csv", MSCOCO)
    assert evaluated["translated-queries"] == each(f"{CHINESE}/translations/*-en.csv", ["zh", "ja"])


def test_queries_reach_another_language_via_english(flickr8k: dict[str, Options]) -> None:
    """Borrowed translations do not say which query they translate, so queries are translated again."""
    folder = "work/flickr8k/multi30k/translations"
    onward = flickr8k[f"{folder}/queries/de-ja.csv"]
    assert (onward["source"], onward["target"]) == (["en"], ["ja"])
    assert onward["sentences"] == [f"{folder}/de-en.csv"]
    assert (onward["provider"], onward["source-origin"]) == (["dictionary"], ["google"])
    assert flickr8k[f"{folder}/de-en.csv"]["provider"] == ["google"]
    assert flickr8k[f"{folder}/en-de.csv"]["provider"] == ["dictionary"]
    assert onward["dictionaries"] == [f"{FACEBOOK}/arrival/dictionaries/en-ja.txt"]
    direct = flickr8k[f"{folder}/queries/en-ja.csv"]
    assert direct["sentences"] == ["work/flickr8k/multi30k/tokens/en.csv"]
    assert direct["source-origin"] == ["human"]
    assert onward["splits"] == direct["splits"] == ["val", "test"]
    asked = flickr8k[f"{SMALR}/test-learned.json"]
    assert asked["translated-queries"][:5] == [
        *each(f"{folder}/en-*.csv", ["de", "fr", "cs"]),
        *each(f"{folder}/queries/en-*.csv", ["zh", "ja"]),
    ]
    # Four languages with captions, each translated into nine others.
    assert len(asked["translated-queries"]) == 4 * 9
    assert settings(asked)["kind"] == "learned"


def test_a_hybrid_model_starts_from_its_assignment(flickr8k: dict[str, Options]) -> None:
    trained = flickr8k[f"{SMALR}/model.pt"]
    (entries,) = trained["pretrained"]
    assigned = flickr8k[entries]
    assert entries.startswith("work/flickr8k/multi30k/assignments/") and "/seed3/" in entries
    assert (assigned["translations"], assigned["words"]) == (trained["translations"], trained["words"])
    assert trained["translations"] == each("work/flickr8k/multi30k/augmented/en-*.csv", ["de", "fr", "cs"])
    for code in ("de", "cs"):
        augmented = flickr8k[f"work/flickr8k/multi30k/augmented/en-{code}.csv"]
        assert augmented["sentences"] == [f"work/flickr8k/multi30k/tokens/{code}.csv"]
        assert augmented["translations"] == [f"work/flickr8k/multi30k/translations/en-{code}.csv"]


def test_parameters_are_counted_with_the_augmented_vocabularies_of_ten_languages(
    flickr8k: dict[str, Options],
) -> None:
    ten = [*MULTI30K, "zh", "ja", "ar", "af", "ko", "ru"]
    counted = flickr8k["work/results/flickr8k/smalr/parameters.csv"]
    assert counted["words"] == each("work/flickr8k/multi30k/words/augmented/*.h5", ten)
    assert counted["characters"] == each("work/flickr8k/multi30k/spelled/augmented/*.h5", ten)


def test_translation_quality_compares_captions_of_the_pair(flickr8k: dict[str, Options]) -> None:
    measured = flickr8k[f"{CHINESE}/translation-quality/ja-en.csv"]
    assert measured["captions"] == each(f"{CHINESE}/captions/*.csv", ["ja", "en"])
    assert measured["target-sentences"] == [f"{CHINESE}/tokens/en.csv"]


DEMO = "work/demo/multi30k"
MINE: dict[str, Any] = {
    "scale": "demo",
    "seeds": [3, 4],
    "tables": {
        "mine": {
            "columns": {"multi30k": ["en", "de"], "mscoco": ["ja"]},
            "rows": [
                {"row": 1, "method": "MULE full", "experiment": "mule-full"},
                {"row": 2, "method": "EmbN", "experiment": "embn-en", "queries": "translated"},
            ],
        },
        "berts": {
            "columns": {"multi30k": ["de"]},
            "rows": [{"row": 1, "method": "BERT", "experiment": "bert-parallel-embn"}],
        },
    },
    "report": ["mine", "berts", "table1"],
}


@pytest.fixture(scope="module")
def report_options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Options]:
    project = copy_of_project(tmp_path_factory.mktemp("report"))
    project.configure(**MINE)
    return options_of(project, "results/report.html", "results/compare/multi30k/embn-vs-mule-full.csv")


def test_a_table_has_the_evaluations_of_its_cells_with_all_seeds(report_options: dict[str, Options]) -> None:
    """An English model is evaluated with English captions and with translations from another language."""
    assert report_options["work/results/demo/mine.csv"]["evaluations"] == [
        f"work/demo/{name}/seed{seed}/test-{queries}.json"
        for name, seed, queries in [
            *(("mscoco/experiments/embn-en", seed, "translated") for seed in (3, 4)),
            *(("mscoco/experiments/mule-full", seed, "original") for seed in (3, 4)),
            *(("multi30k/experiments/embn-en", 3, queries) for queries in ("original", "translated")),
            *(("multi30k/experiments/embn-en", 4, queries) for queries in ("original", "translated")),
            *(("multi30k/experiments/mule-full", seed, "original") for seed in (3, 4)),
        ]
    ]


def test_an_experiment_with_one_model_per_language_is_compared_in_all(
    report_options: dict[str, Options],
) -> None:
    compared = report_options["work/results/demo/compare/multi30k/embn-vs-mule-full.csv"]
    folder = f"{DEMO}/experiments"
    names = {"first": [f"embn-{code}" for code in MULTI30K], "second": ["mule-full"]}
    for side, experiments in names.items():
        assert compared[side] == [
            f"{folder}/{name}/seed{seed}/test-original.json" for name in experiments for seed in (3, 4)
        ]


@pytest.mark.parametrize(
    ("number", "dataset", "languages"), [(3, "multi30k", MULTI30K), (4, "mscoco", MSCOCO)]
)
def test_a_figure_shows_the_first_seed_on_its_own_data_set(
    report_options: dict[str, Options], number: int, dataset: str, languages: list[str]
) -> None:
    figure, folder = report_options[f"work/results/demo/figure{number}.html"], f"work/demo/{dataset}"
    assert figure["model"] == [f"{folder}/experiments/mule-full/seed3/model.pt"]
    assert figure["features"] == [f"{folder}/features.h5"]
    assert figure["images"] == [f"{folder}/images.csv"]
    assert figure["words"] == each(f"{folder}/words/human/*.h5", languages)
    assert figure["sentences"] == each(f"{folder}/tokens/*.csv", languages)


def test_a_report_names_its_own_tables_and_captions(report_options: dict[str, Options]) -> None:
    report = report_options["work/results/demo/report.html"]
    assert report["comparisons"] == [
        f"{name}=work/results/demo/comparison/{name}.csv" for name in ("mine", "berts", "table1")
    ]
    assert report["captions"] == [
        *each("multi30k *=work/demo/multi30k/captions/*.csv", MULTI30K),
        *each("mscoco *=work/demo/mscoco/captions/*.csv", MSCOCO),
    ]
    assert "claims" not in report  # no table is of a paper


def test_everything_that_a_report_shows_is_published_next_to_it_and_in_its_scales_folder(
    report_options: dict[str, Options],
) -> None:
    shown = ["mine.csv", "berts.csv", "comparison/table1.csv", "figure3.html", "figure4.html", "report.html"]
    shown += ["compare/multi30k/embn-vs-mule-full.csv"]  # which is asked for as well
    copied = {
        made: options["files"][0] for made, options in report_options.items() if made.startswith("results/")
    }
    assert copied == {
        **{f"results/{name}": f"results/demo/{name}" for name in shown},
        **{f"results/demo/{name}": f"work/results/demo/{name}" for name in shown},
    }


def test_a_reports_times_include_all_jobs_behind_it(report_options: dict[str, Options]) -> None:
    """Only jobs that ran count: a model that is not pretrained has no such job, and no time."""
    jobs = set(settings(report_options["work/results/demo/report.html"])["jobs"])
    trained = [
        ("mule-full", ["original"]),
        ("embn-en", ["original", "translated"]),
        ("bert-parallel-embn", ["original"]),
    ]
    expected = {
        f"multi30k/{name}"
        for name in (
            "split",
            "draw-demo",
            "find-images",
            "extract-features",
            "merge-features",
            "import-features",
            "pretrain-bert",
        )
    }
    for code in MULTI30K:
        expected |= {
            f"multi30k/{stage}-{code}"
            for stage in ("read-captions", "write-demo-captions", "tokenize", "build-vocabulary-human")
        }
        expected |= {f"train-word-vectors-{code}", f"multi30k/train-caption-vectors-{code}"}
        expected.add(f"multi30k/embed-captions-{code}")
    expected |= {f"multi30k/translate-{code}-en" for code in MULTI30K if code != "en"}
    for name, queries in trained:
        for seed in (3, 4):
            stages = [
                "pretrain",
                "train",
                *(f"evaluate-{asked}" for asked in ["original", *queries]),
            ]
            expected |= {f"multi30k/{name}-{seed}-{stage}" for stage in stages}
    assert {job for job in jobs if not job.startswith("mscoco/")} - {
        "train-word-vectors-ja",
        "train-word-vectors-zh",
    } == (expected)


def test_a_reports_times_include_queries_that_are_combined_with_their_translations(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path)
    row = {"row": 1, "method": "CLC", "experiment": "mule-full", "consistency": "average"}
    table = {"columns": {"multi30k": ["en", "de"]}, "rows": [row]}
    project.configure(**{**MINE, "seeds": [0], "tables": {"clc": table}, "report": ["clc"]})
    jobs = set(settings(options_of(project, "results/report.html")["work/results/demo/report.html"])["jobs"])
    translated = {job.rpartition("translate-")[2] for job in jobs if "translate-" in job}
    from_others = {f"queries-{one}-{other}" for one, other in permutations(["de", "fr", "cs"], 2)}
    assert translated == from_others | {f"en-{code}" for code in ("de", "fr", "cs")} | {
        "de-en",
        "fr-en",
        "cs-en",
    }
    assert "multi30k/mule-full-0-evaluate-average" in jobs


def test_without_own_training_captions_vectors_are_trained_on_translations(
    tmp_path: Path,
) -> None:
    project = copy_of_project(tmp_path)
    own = {"source": "custom", "captions": "mine/captions.csv", "images": "mine", "languages": ["en", "de"]}
    (tmp_path / "mine").mkdir()
    lines = [f"{split}.png,{code},a dog,{split}" for split in ("val", "test") for code in ("en", "de")]
    text = "\n".join(["image,language,caption,split", "a.png,en,a dog,train", *lines])
    (tmp_path / "mine/captions.csv").write_text(text)
    row = {"row": 1, "method": "MT", "experiment": "mule-full-mt"}
    table = {"columns": {"mine": ["de"]}, "rows": [row]}
    mine = {"scale": "demo", "datasets": {"mine": own}, "tables": {"mt": table}}
    project.configure(**mine)
    folder = "work/demo/mine"
    words = f"{folder}/words/mt/de.h5"
    assert "vectors-file" not in options_of(project, words)[words]
    (tmp_path / "mine/captions.csv").write_text(text.replace("a.png,en,", "a.png,de,"))  # who translates?
    assert "mine: en: no train image has a caption" in project.snakemake("-n", words).stdout
    (tmp_path / "mine/captions.csv").write_text(text)
    table["rows"] = [row, {"row": 2, "method": "Both", "experiment": "mule-full-human+mt"}]
    project.configure(**mine)
    assert "mine: de: no train image has a caption" in project.snakemake("-n", words).stdout
    (tmp_path / "mine/captions.csv").write_text(text + "\na.png,de,ein Hund,train")
    assert options_of(project, words)[words]["vectors-file"] == [f"{folder}/text/de.bin"]
    table["rows"] = [row]  # whichever tables there are
    project.configure(**mine)
    assert options_of(project, words)[words]["vectors-file"] == [f"{folder}/text/de.bin"]


def test_own_data_are_not_translated_by_the_demos_dictionary(tmp_path: Path) -> None:
    """It has the demo's 298 words; other scales use MUSE's dictionary."""
    project = copy_of_project(tmp_path)
    own = {"source": "custom", "captions": "mine/captions.csv", "images": "mine", "languages": ["en", "de"]}
    (tmp_path / "mine").mkdir()
    lines = [f"{image}.png,{code},a dog" for image in range(9) for code in ("en", "de")]
    (tmp_path / "mine/captions.csv").write_text("\n".join(["image,language,caption", *lines]))
    project.configure(scale="demo", datasets={"mine": own})
    tables = [f"work/demo/{dataset}/translations/en-de.csv" for dataset in ("mine", "multi30k")]
    made = options_of(project, *tables)
    assert [made[table]["dictionaries"] for table in tables] == [
        ["work/sources/dl.fbaipublicfiles.com/arrival/dictionaries/en-de.txt"],
        ["work/demo/dictionaries/en-de.txt"],
    ]


def test_a_users_bert_is_read_again_if_one_of_its_files_is_overwritten(tmp_path: Path) -> None:
    """The folder's modification time does not show it."""
    project = copy_of_project(tmp_path)
    project.configure(**{**MINE, "report": ["berts"], "bert": {"model": "./mine/bert"}})
    store, weights = f"{DEMO}/bert/de.h5", tmp_path / "mine/bert/model.safetensors"
    for file in (weights, tmp_path / DEMO / "tokens/de.csv", tmp_path / store):
        file.parent.mkdir(parents=True)
        file.write_text(file.name)
    assert project.would_run(store) == {}
    weights.write_text("other weights")
    assert project.would_run(store) == {"embed_captions": 1}
    assert options_of(project, store)[store]["model"] == ["./mine/bert"]


def test_captions_are_read_again_if_a_file_in_their_folder_is_overwritten(tmp_path: Path) -> None:
    """The folder's modification time does not show it."""
    project = copy_of_project(tmp_path)
    project.configure(**PAPER)
    split, captions = (
        "work/paper/mscoco/split.csv",
        tmp_path / "on-request/coco-cn/texts/imageid.human-written-caption.txt",
    )
    published = (
        "images.cocodataset.org/annotations/annotations_trainval2014.zip",
        "github.com/yahoojapan/YJCaptions/raw/master/yjcaptions26k.zip",
    )
    for file in (captions, *(tmp_path / "work/sources" / name for name in published), tmp_path / split):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name)
    (captions.parent / "readme.txt").write_text("of no concern")
    assert project.would_run(split) == {}
    captions.write_text("other captions")
    assert project.would_run(split) == {"split": 1}
    assert options_of(project, split)[split]["requested"] == ["on-request/coco-cn"]

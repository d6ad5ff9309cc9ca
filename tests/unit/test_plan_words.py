"""Which vectors, vocabularies and translations a model reads, and which initial weights and steps."""

from pathlib import Path

import pytest
from plans import ADDED, FACEBOOK, MSCOCO, MULTI30K, TEN, each, plan_of

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.plan import captions, search, training, translation, words
from pipeline.plan.code import code_of
from pipeline.plan.plan import Plan
from pipeline.stages import STAGES

TRANSLATED = ["de", "fr", "cs", *ADDED]  # languages that MSCOCO's English is translated into
CHINESE = "work/flickr8k/flickr8kcn"


def test_each_language_has_its_own_published_vectors(paper: Plan) -> None:
    for code in [*MSCOCO, *TRANSLATED]:
        file = f"{FACEBOOK}/fasttext/vectors-crawl/cc.{code}.300.vec.gz"
        assert words.fasttext_vectors(paper, "mscoco", code) == [file]
        assert words.word_settings(paper, code).vectors == "file"
    for code in MULTI30K:
        assert words.muse_vectors(paper, code) == f"{FACEBOOK}/arrival/vectors/wiki.multi.{code}.vec"
    with pytest.raises(InputError, match=r"no published vectors .*wiki.multi.zh.vec.*, or set muse to align"):
        words.muse_vectors(paper, "zh")


def test_aligned_vectors_are_published_or_aligned_to_the_english_vectors(demo: Plan) -> None:
    published = plan_of(muse="file")
    assert words.datasets_with_muse(published, "file") == "multi30k|mscoco"
    assert words.datasets_with_muse(published, "align") == "(?!)"
    assert words.datasets_with_muse(demo, "align") == "multi30k|mscoco"
    folder = "work/demo/mscoco/words/human"
    aligned = words.vocabularies(demo, "mscoco", "muse-full")
    assert aligned == [f"{folder}/en.h5", *each(f"{folder}/muse/*.h5", ["zh", "ja"])]  # English stays
    assert words.vocabularies(published, "mscoco", "muse-full") == each(f"{folder}/muse/*.h5", MSCOCO)
    assert words.english_dictionary(demo, "mscoco", "zh") == "work/demo/dictionaries/en-zh.txt"


def test_a_vocabulary_is_built_from_its_languages_captions_and_translations(paper: Plan) -> None:
    """Translations from English replace the captions that a language lacks, and are added to the others."""
    folder = "work/paper/mscoco"
    for code in [*MSCOCO, *TRANSLATED]:
        own = code in MSCOCO
        table = f"{folder}/{f'tokens/{code}' if own else f'translations/en-{code}'}.csv"
        assert words.sentences(paper, "mscoco", code) == [table]
        assert captions.caption_origin(paper, "mscoco", code) == ("human" if own else "dictionary")
        added = [f"{folder}/augmented/en-{code}.csv"] if code in ("zh", "ja") else []
        assert words.added_translations(paper, "mscoco", code, "augmented") == added
        assert words.added_translations(paper, "mscoco", code, "human") == []


def test_vocabularies_have_the_captions_and_the_reduction_of_their_experiment(
    demo: Plan, paper: Plan
) -> None:
    folder, ten = "work/demo/mscoco", [*MSCOCO, *TRANSLATED]
    for experiment, pattern, languages in (
        ("mule-full", "words/human/*.h5", MSCOCO),
        ("mule-full-mt", "words/mt/*.h5", MSCOCO),
        ("bert-parallel-embn", "bert/*.h5", MSCOCO),
        ("liwe-s-ten", "spelled/augmented/*.h5", ten),
        ("mule-ten-pca-50", "words/augmented/pca-50/*.h5", ten),
    ):
        assert words.vocabularies(demo, "mscoco", experiment) == each(f"{folder}/{pattern}", languages)
    reduced = each("work/paper/mscoco/words/augmented/dictionary-5/*.h5", [*MSCOCO[1:], *TRANSLATED])
    whole = "work/paper/mscoco/words/augmented/en.h5"
    assert words.vocabularies(paper, "mscoco", "mule-ten-dictionary-5") == [whole, *reduced]


def test_vectors_are_trained_on_multi30ks_text_if_it_has_the_language(flickr8k: Plan) -> None:
    for code in TEN:
        of_text = code in MULTI30K
        assert words.word_settings(flickr8k, code).vectors == ("multi30k" if of_text else "train")
        folder = "work/flickr8k/text" if of_text else "work/flickr8k/multi30k/text"
        assert words.fasttext_vectors(flickr8k, "multi30k", code) == [f"{folder}/{code}.bin"]
    for code in MULTI30K:
        texts = captions.multi30k_text(flickr8k, code)
        assert any(path.endswith(f".{code}.gz") for path in texts)


def test_without_own_training_captions_vectors_are_trained_on_translations(tmp_path: Path) -> None:
    own = {
        "source": "custom",
        "captions": str(tmp_path / "c.csv"),
        "images": "mine",
        "languages": ["en", "de"],
    }
    lines = [f"{split}.png,{code},a dog,{split}" for split in ("val", "test") for code in ("en", "de")]
    text = "\n".join(["image,language,caption,split", "a.png,en,a dog,train", *lines])
    (tmp_path / "c.csv").write_text(text)

    def plan(*experiments: str) -> Plan:
        rows = [{"row": row, "method": name, "experiment": name} for row, name in enumerate(experiments, 1)]
        table = {"columns": {"mine": ["de"]}, "rows": rows}
        return plan_of(datasets={"mine": own}, tables={"mt": table})

    of_translations = plan("mule-full-mt")
    captions.check_coverage(of_translations)
    assert words.fasttext_vectors(of_translations, "mine", "de") == []
    assert words.fasttext_vectors(of_translations, "mine", "en") == ["work/demo/mine/text/en.bin"]
    assert words.fasttext_vectors(of_translations, "multi30k", "de") == ["work/demo/multi30k/text/de.bin"]
    with pytest.raises(InputError, match="mine: de: no train image has a caption"):
        captions.check_coverage(plan("mule-full-mt", "mule-full-human+mt"))
    (tmp_path / "c.csv").write_text(text.replace("a.png,en,", "a.png,de,"))  # who translates?
    with pytest.raises(InputError, match="mine: en: no train image has a caption"):
        captions.check_coverage(plan("mule-full-mt"))
    (tmp_path / "c.csv").write_text(text + "\na.png,de,ein Hund,train")
    for experiments in (
        ["mule-full-mt", "mule-full-human+mt"],
        ["mule-full-mt"],
    ):  # whichever tables there are
        assert words.fasttext_vectors(plan(*experiments), "mine", "de") == ["work/demo/mine/text/de.bin"]
    (warning, *_) = captions.coverage_warnings(plan("mule-full-mt"))
    assert "datasets.mine: fewer than 50 test images (en 1, de 1)" in warning


def test_captions_that_were_translated_keep_their_origin(flickr8k: Plan) -> None:
    """Flickr8K-CN's Japanese is Google's, as are the Chinese and Japanese that Multi30K borrows."""
    for dataset, code, origin in (
        ("flickr8kcn", "ja", "google"), ("flickr8kcn", "zh", "human"), ("multi30k", "de", "human"),
        ("multi30k", "zh", "google"), ("multi30k", "ja", "google"), ("multi30k", "ru", "dictionary"),
    ):  # fmt: skip
        assert captions.caption_origin(flickr8k, dataset, code) == origin
    for source, target, origin in (("ja", "en", "google"), ("zh", "en", "human"), ("en", "ja", "human")):
        options = translation.of_captions(flickr8k, "flickr8kcn", source, target).options
        assert f"--source-origin={origin}" in options
    for experiment, origins in (
        ("mule-full", {"ja": "google"}),
        ("mule-ten", {"ja": "google", **dict.fromkeys(TRANSLATED, "dictionary")}),
    ):
        settings = configuration.experiment_settings(flickr8k.settings, "flickr8kcn", experiment, 3)
        assert settings.caption_origins == origins


def test_a_model_reads_its_sentences_features_and_translations(paper: Plan) -> None:
    folder, ten = "work/paper/mscoco", ("mscoco", "mule-ten-dictionary-5")
    every = [*each(f"{folder}/tokens/*.csv", MSCOCO), *each(f"{folder}/translations/en-*.csv", TRANSLATED)]
    assert training.sentences(paper, *ten) == every
    assert training.evaluated_sentences(paper, *ten, "original") == every
    assert training.features(paper, *ten) == f"{folder}/features.h5"
    assert training.translations(paper, *ten) == each(f"{folder}/augmented/en-*.csv", ["zh", "ja"])
    assert training.translated_queries(paper, *ten, "original") == []


def test_a_model_trained_with_translations_uses_both_directions(flickr8k: Plan) -> None:
    pairs = ["zh-en", "ja-en", "en-zh", "en-ja"]
    found = training.translations(flickr8k, "flickr8kcn", "mule-full-human+mt")
    assert found == each(f"{CHINESE}/translations/*.csv", pairs)
    for code, into in (("en", ["zh-en", "ja-en"]), ("zh", ["en-zh"]), ("ja", ["en-ja"])):
        added = words.added_translations(flickr8k, "flickr8kcn", code, "human+mt")
        assert added == each(f"{CHINESE}/translations/*.csv", into)
    assert training.translations(flickr8k, "flickr8kcn", "mule-full") == []


def test_without_english_nothing_is_translated() -> None:
    own = {"source": "custom", "captions": "c.csv", "images": "mine", "languages": ["de", "fr"]}
    with pytest.raises(
        InputError, match=r"mule-full-human[+]mt trains on translations, and mine has no captions"
    ):
        training.translations(plan_of(datasets={"mine": own}), "mine", "mule-full-human+mt")


def test_an_assignment_is_learned_from_what_its_model_reads(flickr8k: Plan) -> None:
    (entries,) = training.initial_weights(flickr8k, "multi30k", "smalr", 3)
    digest = Path(entries).parts[-3]
    assert entries == f"work/flickr8k/multi30k/assignments/{digest}/seed3/entries.pt"
    files = training.assignment_inputs(flickr8k, "multi30k", digest)
    assert files == {
        "sentences": training.sentences(flickr8k, "multi30k", "smalr"),
        "translations": each("work/flickr8k/multi30k/augmented/en-*.csv", ["de", "fr", "cs"]),
        "words": each("work/flickr8k/multi30k/words/augmented/*.h5", TEN),
    }


def test_code_is_that_of_the_modules_that_an_experiment_uses(demo: Plan) -> None:
    """Models of the same parts share it; a stage has its own."""
    mule, other, smalr, liwe = "mule-full", "mule-nc", "smalr", "liwe-s-ten"
    for name in ("pretrain", "evaluate"):
        found = [code_of(demo, STAGES[name], "multi30k", each) for each in (mule, other, smalr, liwe)]
        assert found[0] == found[1] and len({*found}) == 3
    sources = {code_of(plan_of(scale=scale), STAGES["split"], "multi30k", "") for scale in ("demo", "paper")}
    assert len(sources) == 2


def test_a_bert_is_a_folder_of_the_workflow_of_the_user_or_a_model_of_the_hub(
    tmp_path: Path, demo: Plan
) -> None:
    folder = "work/demo/multi30k/bert/model"
    assert (words.bert_model(demo, "multi30k"), words.bert_files(demo, "multi30k")) == (folder, [folder])
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "folder").mkdir()
    own = plan_of(bert={"model": str(tmp_path)})
    assert words.bert_model(own, "multi30k") == str(tmp_path)
    assert words.bert_files(own, "multi30k") == [str(tmp_path / "model.safetensors")]
    hub = plan_of(bert={"model": "bert-base-multilingual-cased"})
    assert words.bert_model(hub, "multi30k") == "bert-base-multilingual-cased"
    assert words.bert_files(hub, "multi30k") == []


def test_models_that_read_whole_vocabularies_can_be_searched_with(demo: Plan) -> None:
    assert search.searchable_model(demo, "multi30k", "mule-full", 4) == (
        "work/demo/multi30k/experiments/mule-full/seed4/model.pt"
    )
    for experiment in ("bert-parallel-embn", "mule-ten-pca-50", "multi-comparable"):
        with pytest.raises(InputError, match=f"{experiment} cannot be searched with"):
            search.searchable_model(demo, "multi30k", experiment, 0)

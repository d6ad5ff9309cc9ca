"""Parameters at the paper's size with the words of real captions in ten languages.

    python -m benchmarks.vocabularies --mirror FOLDER --dictionaries FOLDER

FOLDER has published files at HOST/PATH of their URLs (docs/full-size.md), dictionaries `en-XX.txt`. Words are
those of Multi30K's training captions, as published tokens: all five captions in English and German, one in
French and Czech; of Flickr8K-CN's in Chinese, and of Flickr8k's Japanese translations. Words that human
captions lack come from a dictionary, the first translation of every English word: those added in French and
Czech, all in Arabic, Afrikaans, Korean and Russian. A dictionary inflects nothing, so machine translations
would have more words. Words without a published vector are counted too.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from pipeline import settings as configuration
from pipeline.datasets.flickr8k import flickr8k_split
from pipeline.datasets.select import original_captions
from pipeline.datasets.sources.flickr8kcn import flickr8kcn_captions
from pipeline.datasets.sources.multi30k import FOLDER
from pipeline.datasets.table import caption_table
from pipeline.datasets.tokenize import with_tokens
from pipeline.models.sizes import at_test_time, count
from pipeline.tables.smalr_parameters import count_combiner
from pipeline.training.settings import TrainSettings

CONFIG = Path(__file__).parents[1] / "config"
TEN = ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")
MOST = 20_000_000  # "fewer than 20M" (SMALR, Section 5)

Words = dict[str, set[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--dictionaries", type=Path, required=True)
    arguments = parser.parse_args()
    words = {**multi30k_words(arguments.mirror), **flickr8k_words(arguments.mirror)}
    words = with_translations(words, arguments.dictionaries)
    counts = {language: len(words[language]) for language in TEN}
    print(f"{sum(counts.values()):,} words:", ", ".join(f"{key} {count:,}" for key, count in counts.items()))
    for line in report(counts):
        print(line)


def multi30k_words(mirror: Path) -> Words:
    """Words of Multi30K's training captions in its four languages, from its published tokens."""
    every = [f"task2/tok/train.lc.norm.tok.{number}.{{}}" for number in range(1, 6)]
    files = {"en": every, "de": every, "fr": ["task1/tok/train.lc.norm.tok.{}"]}
    files["cs"] = files["fr"]
    return {
        language: words_of(
            line
            for name in names
            for line in (mirror / FOLDER / name.format(language)).read_text(encoding="utf-8").splitlines()
        )
        for language, names in files.items()
    }


def flickr8k_words(mirror: Path) -> Words:
    """Words of Flickr8k's training captions: human ones in Chinese, translated ones in Japanese."""
    split = {image: name for image, name in flickr8k_split(mirror).items() if name == "train"}
    words = {}
    for language, origin in (("zh", "human"), ("ja", "google")):
        table = original_captions(caption_table(flickr8kcn_captions(mirror, language, split)), origin)
        words[language] = words_of(with_tokens(table, language)["tokens"])
    return words


def words_of(sentences: Iterable[str]) -> set[str]:
    return {word.lower() for sentence in sentences for word in sentence.split()}


def with_translations(words: Words, dictionaries: Path) -> Words:
    """The words; languages with too few captions also get translations of English words."""
    every = dict(words)
    for language in ("fr", "cs", "ar", "af", "ko", "ru"):
        first: dict[str, str] = {}
        for line in (dictionaries / f"en-{language}.txt").read_text(encoding="utf-8").splitlines():
            english, translation = line.split(maxsplit=1)
            first.setdefault(english, translation.lower())
        reached = {part for word in words["en"] if word in first for part in first[word].split()}
        every[language] = every.get(language, set()) | reached
    return every


def report(counts: dict[str, int]) -> list[str]:
    """What follows for MULE and SMALR with ten languages, one line for each."""
    paper = configuration.load({"scale": "paper"}, CONFIG)

    def settings(name: str) -> TrainSettings:
        return configuration.train_settings(paper, "multi30k", name, 0)

    of = settings("smalr")
    assert of.hybrid
    mule = count(settings("mule-ten"), counts)
    whole = sum(mule.values())
    latent = sum(max(0, number - of.hybrid.frequent_words) for number in counts.values())
    entries = min(latent, of.hybrid.latent_entries)
    most = sum(count(of, counts, entries).values())
    without = count(of, counts)
    combiner, fewest = count_combiner(len(counts), paper.consistency.hidden), sum(without.values())
    return [
        f"MULE {whole:,}, of which word tables and their layers "
        f"{100 * (mule['words'] + mule['layers']) / whole:.1f}%",
        f"SMALR {most:,} with {entries:,} entries for {latent:,} words, {fewest:,} without any; "
        f"MULE to SMALR {whole / most:.2f}, without entries {whole / fewest:.2f}",
        f"SMALR has 20 million with {(MOST - fewest) // of.model.universal_dim:,} entries",
        f"at test time {sum(at_test_time(without).values()) + combiner:,}, of which CLC-C {combiner}",
    ]


if __name__ == "__main__":
    main()

"""Every file of a project, relative to the folder in which Snakemake runs. Each path is written once.

Rules use a path with its wildcards; the plan fills them in (`Plan.path`). Results are in `Plan.results`.
"""

import os
from pathlib import Path

from pipeline.demo.source import SOURCE as DEMO


def own(path: str) -> str:
    """A file that belongs to this repository, which may be another folder than that of the project."""
    return os.path.relpath(Path(__file__).parents[2] / path)


SOURCES_TABLE = own("workflow/sources.csv")
CLAIMS = own("config/claims/{paper}.yaml")
PAPERS = own("config/papers")  # their printed numbers

# Published files, HOST/PATH of their URLs as in workflow/sources.csv, and photographs unpacked from archives.
SOURCES = "work/sources"
SOURCE_FILE = SOURCES + "/{file}"
PHOTOGRAPHS = "work/photographs/{archive}"

# Files that the demo's pictures are made from, and its bilingual dictionaries.
DEMO_CONCEPTS, DEMO_DATASETS, _ = map(own, DEMO.project_files)
DEMO_DICTIONARY = own("pipeline/demo/data/dictionaries/en-{language}.txt")

# Of a run. The cache and the checkpoints: what a killed job continues from.
RUN = "work/{run}"
LOGS = "work/logs/{run}"
PREFETCHED_MODELS = RUN + "/prefetched-models.txt"
TEXT = RUN + "/text/{language}.csv"  # Multi30K's published captions in a language
TEXT_VECTORS = RUN + "/text/{language}.bin"  # FastText vectors that are trained on them
TRANSLATOR = RUN + "/translators/{source}-{target}"  # trained on human translations of captions
FEATURE_CACHE = RUN + "/partial/features"  # data sets may share photographs
PRETRAINING_CHECKPOINT = RUN + "/checkpoints/{dataset}-{experiment}-{seed}-pretraining.pt"
ASSIGNMENT_CHECKPOINT = RUN + "/checkpoints/{dataset}-assignment-{digest}-{seed}.pt"
CHECKPOINT = RUN + "/checkpoints/{dataset}-{experiment}-{seed}.pt"
TRANSLATOR_CHECKPOINT = RUN + "/checkpoints/translator-{source}-{target}.pt"

# Of a data set.
DATASET = RUN + "/{dataset}"
SPLIT = DATASET + "/split.csv"
DEMO_IMAGES = DATASET + "/images"  # the demo's drawings
IMAGES = DATASET + "/images.csv"  # the file of each image
CAPTIONS = DATASET + "/captions/{language}.csv"
TOKENS = DATASET + "/tokens/{language}.csv"

# Features. `suffix` is empty for the main set, `-vgg` for the set vgg.
FEATURES = DATASET + "/features{suffix}.h5"
FAILED_IMAGES = DATASET + "/failed{suffix}.csv"
SHARD = DATASET + "/shards{suffix}/{shard}.csv"

# Translations. A query is a validation or test caption; it is listed with the caption that it translates.
# `queried` is `queries/` for queries, or empty.
TRANSLATED = DATASET + "/translations/{queried}{source}-{target}.csv"
TRANSLATIONS, QUERIES = (TRANSLATED.replace("{queried}", each) for each in ("", "queries/"))
TRANSLATION_QUALITY = DATASET + "/translation-quality/{source}-{target}.csv"

# Word and sentence vectors. `captions` is what an experiment trains on: human, human+mt, mt, augmented.
CAPTION_VECTORS = DATASET + "/text/{language}.bin"  # FastText vectors that are trained on its captions
# Vocabularies; `kind` is `muse/` for vectors aligned to English, `spelled/` for characters, or empty.
BUILT_WORDS = DATASET + "/words/{captions}/{kind}{language}.h5"
WORDS, ALIGNED_WORDS, CHARACTERS = (BUILT_WORDS.replace("{kind}", each) for each in ("", "muse/", "spelled/"))
REDUCED_WORDS = DATASET + "/words/{captions}/{reduction}/{language}.h5"
BERT = DATASET + "/bert/model"  # the small BERT that is pretrained on the captions
SENTENCE_VECTORS = DATASET + "/bert/{language}.h5"

# Lessons.
PART = DATASET + "/parts/{part}/{language}.csv"
SELECTION = DATASET + "/selected/{experiment}"  # captions, pairs and words of an experiment

# Of an experiment's model with one seed.
EXPERIMENT = DATASET + "/experiments/{experiment}/seed{seed}"
MODEL = EXPERIMENT + "/model.pt"
CURVES = EXPERIMENT + "/curves.csv"
PRETRAINED = EXPERIMENT + "/pretrained.pt"
EVALUATION = EXPERIMENT + "/test-{queries}.json"
RANKS = EXPERIMENT + "/test-{queries}-ranks.csv.gz"
INDEX = EXPERIMENT + "/index.h5"  # of test images, for searching
EVENTS = RUN + "/tensorboard/{dataset}/{experiment}/seed{seed}"

# An assignment of words to the latent vocabulary (SMALR), which experiments share: `digest` is that of its
# settings without the seed (`assignment_settings`).
ASSIGNMENT = DATASET + "/assignments/{digest}/seed{seed}"
ENTRIES = ASSIGNMENT + "/entries.pt"  # the entries of the latent vocabulary, and the entry of each word
ASSIGNMENT_TABLE = ASSIGNMENT + "/assignment.csv"  # word, language, entry

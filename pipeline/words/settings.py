"""Settings of vocabularies, word vectors and sentence vectors."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pipeline.common.block import LARGEST, Block, Count, PathText, Rate, Seed, Unique
from pipeline.datasets.settings import LanguageCode, Origins

Captions = Literal["human", "human+mt", "mt", "augmented"]


class Words(Block):
    """The source of the word vectors."""

    vectors: Literal["train", "multi30k", "file"] = "file"
    """train (FastText on the data set's own training captions in the language, whatever translations an
    experiment adds), multi30k (in its languages, FastText on all its published captions except those of
    held-out images; in others, as train) or file (published cc.XX.300 vectors)
    """
    dimension: Count = 300
    """length of a word vector"""
    tokens: Count = 8_000_000
    """tokens that FastText is trained on, over all passes. A small corpus needs many passes: after 10 over
    the 4,627 Czech captions of Flickr8k, all vectors are nearly parallel (mean cosine of two words 1.00);
    after 50 they are not (0.41)
    """
    casing: Literal["lowercase", "last"] = "lowercase"
    """lowercase (the exact lower-case row, else the most frequent casing), or last as in the authors' code"""
    seed: Seed = 0
    """seed of trained word vectors"""
    subword_buckets: Count = 200_000
    """rows that FastText's subwords share; FastText's own 2,000,000 take 2.4 GB of memory"""


class WordSettings(Words):
    """What word vectors depend on: the block `words`, and keys that are not in the configuration.

    A stage that is run by hand trains vectors: it has no file unless it is given one.
    """

    vectors: Literal["train", "multi30k", "file"] = "train"
    """train, multi30k or file"""
    max_word_length: Count | None = None
    """characters of a word whose code points LIWE reads in place of a vector; null: vectors"""


class BertPretraining(Block):
    """A small BERT, pretrained on the training captions."""

    layers: Count = 4
    """transformer layers"""
    hidden_size: Count = 192
    """size of a token's hidden state"""
    heads: Count = 3
    """attention heads"""
    vocabulary_size: Count = 8000
    """word pieces"""
    steps: Count = 3000
    """optimisation steps"""
    batch_size: Count = 64
    """captions in a batch"""
    learning_rate: Rate = 5.0e-4
    """learning rate of AdamW"""
    seed: Seed = 0
    """seed of weights, order and masks"""

    def contradictions(self) -> Iterator[str]:
        if self.hidden_size % self.heads:
            yield f".hidden_size: found {self.hidden_size}, expected a multiple of heads, {self.heads}"


Part = Literal["translation", "comparable"]
Layer = Annotated[int, Field(le=-1)]
Tokens = Annotated[int, Field(ge=3, le=LARGEST)]


class Bert(Block):
    """The frozen BERT whose sentence vectors some experiments read."""

    model: PathText = "google-bert/bert-base-multilingual-cased"
    """pretrain (a small one on the training captions), a folder, or a name on the Hugging Face hub"""
    layer: Layer = -2
    """the layer that is pooled, -1 for the last, -2 for the second last"""
    max_tokens: Tokens = 25
    """maximum number of tokens that BERT reads of a caption, including [CLS] and [SEP]"""
    pretraining: BertPretraining = Field(default_factory=BertPretraining)
    """of the small BERT, where `model` is pretrain"""


class BertSettings(BertPretraining):
    """What the pretraining of a small BERT depends on."""

    caption_origins: Origins
    max_tokens: Tokens
    threads: Count


class SentenceVectorSettings(Block):
    """What frozen sentence vectors depend on besides their BERT."""

    layer: Layer
    max_tokens: Tokens
    threads: Count


class SelectionRules(Block):
    """What decides which captions *Lessons*' experiments read."""

    min_count: Count = 4
    """minimum number of occurrences in a language's training captions; rarer words are UNK"""
    sampling_seed: Seed = 0
    """seed for sampling captions and halves"""
    halves: Literal["shared", "per_language"] = "shared"
    """shared (the same halves in all languages), or per_language (separate halves for each) as in the public
    code
    """
    pairs_of: Literal["selected", "all_images", "sampled_again"] = "selected"
    """selected (pairs of the selected captions); as in the public code all_images (of the halved images too),
    or sampled_again (of another sample of captions)
    """


class CaptionSelection(Block):
    """Which captions of a language an experiment of *Lessons* uses."""

    parts: Annotated[list[Part], Field(min_length=1), Unique]
    """parts of the data that are trained and validated on: translation, comparable, or both"""
    tested_on: Part
    """translation or comparable: the part that provides the test captions"""
    captions_per_image: Count | None = None
    """captions of each image; others are left out; by default all are used"""
    images: Literal["all", "first", "second"] = "all"
    """all, or a half of the training images: first or second"""


class SelectionRecord(SelectionRules):
    """The selection of captions that a model of *Lessons* was trained on."""

    languages: dict[LanguageCode, CaptionSelection]


class SelectionSettings(SelectionRecord):
    """What *Lessons*' selection of captions depends on."""

    dimension: Count

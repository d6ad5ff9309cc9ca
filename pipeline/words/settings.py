"""Settings of vocabularies, word vectors and sentence vectors."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pipeline.common.block import LARGEST, Block, Count, PathText, Rate, Seed
from pipeline.datasets.settings import LanguageCode, Origins


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
    minimum_passes: Count = 20
    """passes over the captions, however many tokens these are: after 4 over the 145,755 English captions of
    Multi30K the mean cosine of two words is 0.57
    """
    minimum_subword: Count = 3
    """characters of FastText's shortest subwords"""
    maximum_subword: Count = 6
    """characters of FastText's longest subwords"""


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


class SelectedLanguage(Block):
    """What *Lessons*' captions of a language are selected from, as paths.

    texts: sentence tables whose training and validation captions are taken, all together. tested_on: the
    table of the test captions. halves: CSV of columns image, half; None: all training images.
    half: the half whose training captions are taken. pair_texts: tables whose training captions of all
    images form the pairs of captions; None: the selected captions do.
    """

    texts: list[str]
    tested_on: str
    halves: str | None = None
    half: Literal["first", "second"] = "first"
    pair_texts: list[str] | None = None


class SelectionSettings(Block):
    """What *Lessons*' selection of captions depends on."""

    languages: dict[LanguageCode, SelectedLanguage]
    min_count: Count
    dimension: Count

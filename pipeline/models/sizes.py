"""Counts of trainable parameters, of models in memory or from sizes only.

Padding's row of a word table does not count, unless it is trained.
"""

from collections.abc import Mapping

import torch

from pipeline.models.embedding import Sizes
from pipeline.models.losses.loss import add_layers
from pipeline.models.model import RetrievalModel, count_parameters
from pipeline.models.settings import ModelSettings

WORD_VECTOR = 300  # numbers of a FastText vector
IMAGE_FEATURES = 2048  # numbers of an image's ResNet features
AT_TEST_TIME = ("sentences", "images")

Counts = dict[str, int]


def count(settings: ModelSettings, words: Mapping[str, int], shared: int = 0) -> Counts:
    """The trainable parameters of a model by part (`RetrievalModel.count`), from its sizes only.

    Args:
        settings: of a training. words: size of each language's vocabulary, without padding.
        shared: latent entries in use, or characters.
    """
    ids = {language: number + 1 for language, number in words.items()}
    sizes = Sizes(ids, WORD_VECTOR, IMAGE_FEATURES, shared + 1)
    with torch.device("meta"):
        model = RetrievalModel(settings, sizes)
        add_layers(model, settings)
    return model.count()


def at_test_time(counts: Counts) -> Counts:
    """Parameters needed for a query if the universal vectors of all words are precomputed."""
    return {name: counts[name] for name in AT_TEST_TIME}


def count_bert(word_pieces: int) -> int:
    """Parameters of BERT-base (Devlin et al. 2019) with a vocabulary."""
    from transformers import BertConfig, BertModel

    with torch.device("meta"):
        return count_parameters(BertModel(BertConfig(vocab_size=word_pieces)))

"""Pretraining of the linear layers into the universal embedding (LP; MULE, "Implementation Details")."""

import logging
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn import functional as F

from pipeline.common.torch_files import write_torch
from pipeline.models.embedding import Sizes, embedding_class
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.settings import Triplets
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.batches import Batch
from pipeline.training.data import Inputs, training_data
from pipeline.training.loop import Job, train_steps, training_device
from pipeline.training.objective import batch_segments
from pipeline.training.settings import PretrainSettings
from pipeline.words.corpus import Corpus

log = logging.getLogger("pipeline")


def pretrain(
    settings: PretrainSettings,
    sentences: Sequence[Path],
    words: Sequence[Path],
    checkpoint: Path,
    output: Path,
    code: str,
    translations: Sequence[Path] = (),
) -> None:
    """Pretrain the linear layers into the universal embedding with word tables frozen (LP).

    Args:
        settings: JSON: what the pretraining depends on besides its files, as `snakemake -np` prints it.
        sentences: tokenised tables with the data set's own captions.
        words: one vocabulary per language.
        checkpoint: file from which a killed run resumes.
        output: weights of the layers to write.
        translations: tokenised tables with translated captions.
    """
    inputs = Inputs(sentences, translations, words)
    job = Job(checkpoint, [output], inputs.fingerprint(settings, code))
    if job.restore_outputs():
        return
    device = training_device(settings.seed, settings.training)
    data = training_data(inputs, settings)
    corpus, batches, epochs = data.corpus.to(device), data.batches, settings.training.epochs
    embedding = embedding_class(settings)(settings, Sizes.of(data.vocabularies))
    assert isinstance(embedding, UniversalEmbedding)
    embedding.begin(data.vocabularies, {})
    embedding.pad_to(data.longest)
    for language in embedding.languages:
        embedding[language].table.requires_grad_(False)
    state = train_steps(
        job,
        embedding.to(device),
        lambda step: pretraining_terms(embedding, corpus, batches.batch(step), settings.triplets),
        seed=settings.seed,
        steps=epochs * batches.steps,
        validate_every=batches.steps,
        rate=lambda step: settings.training.learning_rate,
    )
    loss, margin = state.curves[-1]["loss"], settings.triplets.margin
    if loss >= margin:
        log.warning(
            "NC's loss, %.4g, has not come below its margin, %g: perhaps all sentences lie at one point; try "
            "more pretraining.epochs, or pretraining.sentences_per_image: 1",
            loss,
            margin,
        )
    layers = {name: value for name, value in embedding.state_dict().items() if ".projection." in name}
    write_torch(layers, output)
    job.keep_outputs()


def pretraining_terms(
    embedding: UniversalEmbedding, corpus: Corpus, batch: Batch, triplets: Triplets
) -> dict[str, torch.Tensor]:
    """The neighbourhood constraints on u only (MULE: pretraining MULE with paired sentences)."""
    sentences = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    universal = F.normalize(embedding.read(sentences).means, dim=-1)
    return {"neighborhood": neighborhood_loss([universal], batch_segments(batch), triplets)}

"""Training of one experiment (MULE, "Implementation Details")."""

import logging
import math
from collections.abc import Sequence
from pathlib import Path

from pipeline.evaluation.inputs import add_features, evaluation_corpus
from pipeline.models.losses.loss import add_layers, losses
from pipeline.models.model import RetrievalModel, count_parameters, load_model, new_model
from pipeline.training.best_epoch import validate, write_best
from pipeline.training.data import Inputs, TrainingData, training_data
from pipeline.training.loop import Job, State, train_steps, training_device
from pipeline.training.objective import training_terms
from pipeline.training.settings import TrainSettings
from pipeline.words.corpus import Corpus

log = logging.getLogger("pipeline")


def train(
    settings: TrainSettings,
    features: Path,
    sentences: Sequence[Path],
    words: Sequence[Path],
    checkpoint: Path,
    curves: Path,
    output: Path,
    code: str,
    translations: Sequence[Path] = (),
    pretrained: Sequence[Path] = (),
    events: Path | None = None,
    steps_of: Sequence[Path] = (),
) -> None:
    """Train one experiment and keep its best epoch, by the mean mR on validation.

    Args:
        settings: JSON: what the training depends on besides its files, as `snakemake -np` prints it.
        features: image features.
        sentences: tokenised tables with the data set's own captions.
        words: one vocabulary per language.
        checkpoint: file from which a killed run resumes.
        curves: CSV to write, one row per epoch; during training it has the rows so far.
        output: model to write.
        translations: tokenised tables with translated captions.
        pretrained: output of `pretrain` or `assign`, if the experiment has such a pretraining.
        events: folder for TensorBoard's event files.
        steps_of: model of another experiment, if an epoch takes as many steps as its epochs.
    """
    pretraining, other_model = (next(iter(files), None) for files in (pretrained, steps_of))
    inputs = Inputs(sentences, translations, words, features, pretraining, other_model)
    job = Job(checkpoint, [curves, output], inputs.fingerprint(settings, code), curves, events)
    if job.restore_outputs():
        return
    device = training_device(settings.seed, settings.training)
    steps = load_model(other_model)[1].training_steps // settings.training.epochs if other_model else None
    data = training_data(inputs, settings, steps)
    validation = evaluation_corpus(data.originals, data.vocabularies, settings, "val")
    add_features(validation, features, settings.features)
    model = new_model(settings, data.vocabularies, pretraining, validation.features.shape[1])
    add_layers(model, settings)
    model.universal.pad_to(data.longest)
    log.info(
        "%d images, captions %s; %d parameters, %d of them in sentence branches",
        len(data.corpus.images),
        ", ".join(f"{language} {len(part.image)}" for language, part in data.corpus.languages.items()),
        count_parameters(model),
        count_parameters(model.branches),
    )
    data.corpus, validation = data.corpus.to(device), validation.to(device)
    state = train_experiment(job, model.to(device), data, validation, settings)
    write_best(
        output, model, state, settings, features, data.vocabularies,
        training_captions=data.captions,
        training_translations=data.translations,
        training_groups=[len(group) for group in data.batches.groups],
    )  # fmt: skip
    job.keep_outputs()


def train_experiment(
    job: Job, model: RetrievalModel, data: TrainingData, validation: Corpus, settings: TrainSettings
) -> State:
    """Train a model; with LIWE an epoch is a number of steps, after which it is validated."""
    training, liwe, pass_steps = settings.training, settings.liwe, data.batches.steps
    validate_every = liwe.validate_every if liwe else pass_steps
    steps = -(-training.epochs * pass_steps // validate_every) * validate_every

    def rate(step: int) -> float:
        if not liwe:
            return training.learning_rate * math.pow(training.learning_rate_decay, step // pass_steps)
        has_decayed = step >= liwe.learning_rate_decay_after
        return training.learning_rate * (liwe.learning_rate_decay if has_decayed else 1.0)

    def validate_epoch() -> dict[str, float]:
        for loss in losses(settings).values():
            loss.after_epoch(model)
        return validate(model, validation)

    return train_steps(
        job,
        model,
        lambda step: training_terms(
            model, data.corpus, data.batches.batch(step), settings, step, step / steps
        ),
        seed=settings.seed,
        steps=steps,
        validate_every=validate_every,
        rate=rate,
        validate=validate_epoch,
        score="val_mR",
        max_grad_norm=training.max_grad_norm,
    )

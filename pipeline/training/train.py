"""Training of one experiment (MULE, "Implementation Details")."""

import logging
from collections.abc import Sequence
from pathlib import Path

import torch

from pipeline import registry
from pipeline.images.store import store_attributes
from pipeline.models.losses.loss import add_layers, losses
from pipeline.models.model import RetrievalModel, count_parameters, new_model
from pipeline.training.adam import Adam
from pipeline.training.batches import Batch
from pipeline.training.best_epoch import BestModel, validate
from pipeline.training.data import Inputs, TrainingData, training_data
from pipeline.training.driver import Job, RunAndWriter, run_job
from pipeline.training.loop import Run, Validation
from pipeline.training.monitor import Monitor
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
    steps: Sequence[Path] = (),
) -> None:
    """Train one experiment, keep the epoch with the best mean mR on validation, write model and curves.

    Args:
        settings: JSON: what the training depends on besides its files, as `snakemake -np` prints it.
        features: image features.
        sentences: tokenised tables with the data set's own captions.
        words: one vocabulary per language.
        checkpoint: file from which a killed run resumes.
        curves: CSV to write, one row per epoch. During training, the rows so far are in a file next to it.
        output: model to write.
        translations: tokenised tables with translated captions.
        pretrained: output of `pretrain` or `assign`, if the experiment has such a pretraining.
        events: folder for TensorBoard's event files.
        steps: output of `count-steps`, if an epoch takes as many steps as another experiment's.
    """
    pretraining, steps_file = (next(iter(files), None) for files in (pretrained, steps))
    inputs = Inputs(sentences, translations, words, features, pretraining, steps_file)

    def start(device: torch.device) -> RunAndWriter[Batch]:
        data = training_data(inputs, settings).to(device)
        numbers = data.corpus.features.shape[1]
        model = new_model(settings, data.vocabularies, inputs.pretrained, numbers)
        add_layers(model, settings)
        model.universal.pad_to(data.longest)
        _log_sizes(model, data.corpus, settings)
        run = training_run(model.to(device), data, settings, Monitor(curves, events))
        groups = [len(group) for group in data.batches.groups]
        best = BestModel(
            settings,
            data.vocabularies,
            store_attributes(features),
            data.validation,
            data.captions,
            data.translations,
            groups,
        )
        return run, lambda: best.write(run, curves, output)

    job = Job(checkpoint, [curves, output], inputs.fingerprint(settings, code))
    run_job(job, settings.seed, settings.training, start, settings.training.precision)


def training_run(
    model: RetrievalModel, data: TrainingData, settings: TrainSettings, monitor: Monitor
) -> Run[Batch]:
    """The run of an experiment."""
    training, steps = settings.training, data.batches.steps
    decay = training.learning_rate_decay
    run = Run(
        model=model,
        optimizer=Adam(model.parameters(), training.learning_rate, training.max_grad_norm),
        batches=data.batches,
        epochs=training.epochs,
        terms=lambda batch, moment: training_terms(model, data.corpus, batch, settings, moment),
        schedule=lambda rate, step: rate * decay if step and step % steps == 0 else rate,
        validate=lambda epoch: _after_epoch(model, data.validation, settings),
        monitor=monitor,
    )
    adapt = registry.trainer(settings)
    adapted_run: Run[Batch] = registry.load(adapt)(run, settings) if adapt else run
    return adapted_run


def _after_epoch(model: RetrievalModel, validation: Corpus, settings: TrainSettings) -> Validation:
    for loss in losses(settings).values():
        loss.after_epoch(model)
    return validate(model, validation)


def _log_sizes(model: RetrievalModel, corpus: Corpus, settings: TrainSettings) -> None:
    captions = ", ".join(
        f"{language} {len(one_language.image):,}" for language, one_language in corpus.languages.items()
    )
    log.info(
        "%s %s seed %d: %s images, captions %s; %s parameters, %s of them in sentence branches",
        settings.dataset,
        settings.experiment,
        settings.seed,
        f"{len(corpus.images):,}",
        captions,
        f"{count_parameters(model):,}",
        f"{count_parameters(model.branches):,}",
    )

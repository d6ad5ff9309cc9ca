"""Steps of an epoch, for experiments that are trained for as many as another (`steps_of`)."""

import json
from collections.abc import Sequence
from pathlib import Path

from pipeline.common.files import atomic_write
from pipeline.training.data import Inputs, training_data
from pipeline.training.settings import CountedSettings


def count_steps(
    settings: CountedSettings,
    features: Path,
    sentences: Sequence[Path],
    words: Sequence[Path],
    output: Path,
    translations: Sequence[Path] = (),
) -> None:
    """Write the steps of an epoch of an experiment, without training it.

    Args:
        settings: JSON: what the number depends on besides its files, as `snakemake -np` prints it.
        features: image features; captions of images that failed there do not count.
        sentences: tokenised tables with the data set's own captions.
        words: one vocabulary per language; captions without a known word do not count.
        output: JSON to write, with `steps`.
        translations: tokenised tables with translated captions.
    """
    batches = training_data(Inputs(sentences, translations, words, features), settings).batches
    with atomic_write(output) as temporary:
        temporary.write_text(json.dumps({"steps": batches.steps}) + "\n")

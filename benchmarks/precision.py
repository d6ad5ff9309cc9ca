"""What a precision of training does to validation mR, beside what another seed does, and its time.

    python -m benchmarks.precision [--precisions float32 bfloat16] [--seeds 0 1 2] [--configfile FILE]

Pretrains and trains one experiment on own captions, once for each seed and precision, as the rules do, on the
GPU if there is one. What its data need must have been made: `snakemake results/table2.csv`, with the same
configfile, makes it. On a CPU bfloat16 can be tried, too, though `pipeline train` refuses it there: linear
layers are rounded as on a GPU, recurrent layers are exact, where a GPU has TF32.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import yaml

from pipeline.configuration import experiment_settings, load, overlaid, pretraining_settings
from pipeline.errors import InputError
from pipeline.models.saved import load_model
from pipeline.training import train as training
from pipeline.training.precision import set_precision
from pipeline.training.train import Inputs, pretrain, train

ROOT = Path(__file__).parents[1]

Runs = dict[str, list[dict[str, float]]]  # by precision, one a seed: mR by language


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configfile", type=Path, help="as given to snakemake")
    parser.add_argument("--dataset", default="multi30k")
    parser.add_argument("--experiment", default="mule-full")
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"], help="the first compares")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="two at least")
    parser.add_argument("--settings", type=yaml.safe_load, default={}, help="YAML to lay over the training's")
    arguments = parser.parse_args()
    if len(arguments.seeds) < 2:
        parser.error("--seeds: a spread needs two")
    if "tf32" in arguments.precisions and not torch.cuda.is_available():
        parser.error("--precisions: tf32 needs a GPU, and there is none here")
    try:
        compare(run(arguments))
    except InputError as error:
        sys.exit(f"error: {error}")


def run(arguments: argparse.Namespace) -> Runs:
    """Train with every seed and precision, and print what each gave."""
    user: dict[str, Any] = {}
    for path in (ROOT / "config" / "config.yaml", arguments.configfile):
        user = overlaid(user, (yaml.safe_load(path.read_text()) or {}) if path else {})
    settings = load(user, ROOT / "config")
    found: Runs = {precision: [] for precision in arguments.precisions}
    for seed in arguments.seeds:
        for precision in arguments.precisions:
            begun = time.perf_counter()
            validation = trained(settings, arguments, seed, precision)
            seconds = time.perf_counter() - begun
            validation["mean"] = statistics.mean(validation.values())
            found[precision].append(validation)
            values = "  ".join(f"{language} {value:.1f}" for language, value in validation.items())
            print(f"seed {seed}  {precision:9}  {values}  {seconds:.0f} s", flush=True)
    return found


def trained(
    settings: dict[str, Any], arguments: argparse.Namespace, seed: int, precision: str
) -> dict[str, float]:
    """Validation mR of each language after training with one seed and precision."""
    asked = overlaid(arguments.settings, {"training": {"precision": precision}})
    chosen = overlaid(experiment_settings(settings, arguments.dataset, arguments.experiment, seed), asked)
    data = ROOT / "work" / settings["scale"] / arguments.dataset
    inputs = Inputs(
        [data / "tokens" / f"{language}.csv" for language in chosen["languages"]],
        [],
        [data / "words" / "human" / f"{language}.h5" for language in chosen["languages"]],
        data / "features.h5",
    )
    with tempfile.TemporaryDirectory() as name, patch.object(training, "set_precision", tried_anywhere):
        folder = Path(name)
        if settings["experiments"][arguments.experiment].get("pretraining"):
            before = pretraining_settings(settings, arguments.dataset, arguments.experiment, seed)
            pretrain(inputs, before, "", folder / "pretraining", folder / "pretrained.pt")
            inputs.pretrained = folder / "pretrained.pt"
        train(inputs, chosen, "", folder / "checkpoint", folder / "curves.csv", folder / "model.pt")
        return load_model(folder / "model.pt")[1].validation


def tried_anywhere(precision: str, device: torch.device) -> None:
    """Set the precision, without the refusal of bfloat16 on a CPU."""
    set_precision("float32" if device.type == "cpu" else precision, device)


def compare(found: Runs) -> None:
    """Print, for each language, every precision's mean and standard deviation, and the difference's size."""
    first, *others = found
    print(f"\n{'validation mR':13}", *(f"{precision:>15}" for precision in found))
    for language in found[first][0]:
        values = {precision: [run[language] for run in runs] for precision, runs in found.items()}
        print(f"{language:13}", *(f"{summary(runs):>15}" for runs in values.values()))
        for other in others:
            difference = statistics.mean(values[other]) - statistics.mean(values[first])
            spread = statistics.stdev(values[first])
            verdict = "within" if abs(difference) <= spread else "beyond"
            print(f"  {other} - {first}: {difference:+.2f}, {verdict} the spread of seeds {spread:.2f}")


def summary(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    main()

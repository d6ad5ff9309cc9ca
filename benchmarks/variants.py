"""What a setting of training changes in validation mR, compared with what a seed changes: one change per
variant.

    python -m benchmarks.variants --configfile FILE --variant NAME YAML [--variant NAME YAML ...]

Pretrains and trains one experiment for each seed, once as configured and once with each variant's YAML laid
over it, as the rules do, on the GPU if there is one. The files that the experiment reads must have been made;
with the same configfile, `snakemake work/SCALE/DATASET/experiments/EXPERIMENT/seed0/model.pt` makes them.
Runs are kept in --folder: a killed comparison resumes, and a further variant or seed trains only what is new.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from pipeline import registry as parts
from pipeline.common.errors import InputError, raise_together
from pipeline.digest import digest
from pipeline.models.model import load_model
from pipeline.plan import training as planned
from pipeline.plan.plan import Plan
from pipeline.plan.words import vocabularies
from pipeline.settings.configuration import Configuration
from pipeline.settings.merge import merge
from pipeline.settings.reading import load
from pipeline.settings.stages import assignment_settings, pretraining_settings, train_settings
from pipeline.training.assign import assign
from pipeline.training.pretrain import pretrain
from pipeline.training.train import train

ROOT = Path(__file__).parents[1]
BASE = "as configured"

Settings = dict[str, Any]
Recalls = dict[str, float]  # validation mR by language, and their mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="as given to snakemake")
    parser.add_argument("--dataset", default="multi30k")
    parser.add_argument("--experiment", default="mule-full")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="two at least")
    parser.add_argument(
        "--variant", nargs=2, action="append", default=[], metavar=("NAME", "YAML"), help="what it changes"
    )
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--folder", type=Path, default=ROOT / "work" / "variants", help="keeps every run")
    arguments = parser.parse_args()
    variants = {BASE: {}, **{name: yaml.safe_load(text) for name, text in arguments.variant}}
    try:
        print(table(train_all(user_configuration(arguments.configfile), variants, arguments)))
    except InputError as error:
        sys.exit(f"error: {error}")


def user_configuration(paths: Sequence[Path]) -> Settings:
    """What these files set over the usual configuration, the last one uppermost."""
    user: Settings = {}
    for path in (ROOT / "config" / "config.yaml", *paths):
        user = merge(user, yaml.safe_load(path.read_text()) or {})
    return user


def train_all(
    settings: Settings, variants: Mapping[str, Settings], arguments: argparse.Namespace
) -> dict[str, list[Recalls]]:
    """Train every variant with every seed; validation recalls by variant, one for each seed."""
    with ProcessPoolExecutor(arguments.jobs) as pool:
        futures = {
            (name, seed): pool.submit(train_variant, settings, name, variant, seed, arguments)
            for seed in arguments.seeds
            for name, variant in variants.items()
        }
        done = {key: future.result() for key, future in futures.items()}
    return {name: [done[name, seed] for seed in arguments.seeds] for name in variants}


def train_variant(
    settings: Settings, name: str, variant: Settings, seed: int, arguments: argparse.Namespace
) -> Recalls:
    """Validation mR of each language after training one variant with one seed."""
    dataset, experiment = arguments.dataset, arguments.experiment
    changed = load(merge(settings, variant))
    settings_of_model = train_settings(changed, dataset, experiment, seed)
    _check_effect(load(settings), changed, name, arguments)
    plan = Plan(changed)
    of = plan, dataset, experiment
    sentences, translated = _files(planned.sentences(*of)), _files(planned.translations(*of))
    words, features = _files(vocabularies(*of)), _files([planned.features(*of)])
    folder = arguments.folder / changed.run / f"{dataset}-{experiment}" / name / f"seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    code = digest("train", *parts.of_training(settings_of_model))
    pretrained: list[Path] = []
    if changed.experiments_on(dataset)[experiment].pretraining:
        before = pretraining_settings(changed, dataset, experiment, seed)
        pretrained = [folder / "pretrained.pt"]
        checkpoint = folder / "pretraining.pt"
        pretrain(before, sentences, words, checkpoint, pretrained[0], code, translated)
    if settings_of_model.embedding == "hybrid":
        assigning = assignment_settings(changed, dataset, experiment, seed)
        pretrained, table = [folder / "entries.pt"], folder / "assignment.csv"
        checkpoint = folder / "assignment.pt"
        assign(assigning, sentences, words, checkpoint, pretrained[0], table, code, translated)
    written = folder / "training.pt", folder / "curves.csv", folder / "model.pt"
    files = features[0], sentences, words, *written
    train(
        settings_of_model, *files, code, translated, pretrained, steps_of=_files(planned.steps_of(*of, seed))
    )
    saved = load_model(folder / "model.pt")[1]
    recalls = {**saved.validation, "mean": statistics.mean(saved.validation.values())}
    text = "  ".join(f"{language} {value:.2f}" for language, value in recalls.items())
    print(f"seed {seed}  {name:20}  {text}  epoch {saved.epoch}", flush=True)
    return recalls


def _files(planned: Sequence[str]) -> list[Path]:
    """The files of the plan, whose paths begin in the repository; raises `InputError` if some are missing."""
    files = [ROOT / path for path in planned]
    missing = [path for path, file in zip(planned, files, strict=True) if not file.exists()]
    raise_together(
        missing, "Files that the experiment reads are missing; snakemake makes them by their name:"
    )
    return files


def _check_effect(
    base: Configuration, changed: Configuration, name: str, arguments: argparse.Namespace
) -> None:
    """Refuse a variant that changes nothing: the experiment may have its own value of the same key."""
    of = arguments.dataset, arguments.experiment, 0
    cuts = (train_settings, pretraining_settings, assignment_settings)
    if name != BASE and all(cut(base, *of) == cut(changed, *of) for cut in cuts):
        raise InputError(
            f"--variant {name!r}: changes nothing that {arguments.experiment} is trained with. The "
            "experiment has a value of its own (experiments.*.settings), or an earlier stage reads the key."
        )


def table(recalls: Mapping[str, Sequence[Recalls]]) -> str:
    """Markdown: mean and standard deviation of each variant, and its differences, paired by seed."""
    languages = list(recalls[BASE][0])
    lines = [f"| validation mR | {' | '.join(languages)} |", f"|---|{'---|' * len(languages)}"]
    for name, runs in recalls.items():
        cells = [summary([run[language] for run in runs]) for language in languages]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        if name != BASE:
            pairs = list(zip(runs, recalls[BASE], strict=True))
            cells = [
                summary([run[language] - base[language] for run, base in pairs], "+")
                for language in languages
            ]
            lines.append(f"| difference | {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(values: Sequence[float], sign: str = "") -> str:
    """Mean and standard deviation over seeds."""
    return f"{statistics.mean(values):{sign}.2f} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()

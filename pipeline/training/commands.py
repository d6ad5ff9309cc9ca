"""Commands of the training package."""

import argparse
from pathlib import Path

from pipeline.arguments import settings_dict_of
from pipeline.common.gpus import add_gpus, take_gpu


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `pretrain`, `assign`, `train` and `train-multitask`."""
    pretraining = subparsers.add_parser("pretrain", help="pretrain the universal embedding (LP)")
    _add_inputs(pretraining, "PretrainSettings")
    pretraining.set_defaults(run=_pretrain)
    assigning = subparsers.add_parser(
        "assign", help="assign words to entries of the latent vocabulary (HEM, LA)"
    )
    _add_inputs(assigning, "AssignSettings")
    assigning.add_argument("--table", type=Path, required=True, help="CSV to write: word, language, entry")
    assigning.set_defaults(run=_assign)
    training = subparsers.add_parser("train", help="train one experiment and keep its best epoch")
    _add_inputs(training, "TrainSettings")
    training.add_argument("--features", type=Path, required=True, help="image features")
    training.add_argument(
        "--pretrained", type=Path, nargs="*", default=[], help="output of `pretrain` or `assign`"
    )
    training.add_argument("--curves", type=Path, required=True, help="CSV to write, one row per epoch")
    training.add_argument("--events", type=Path, nargs="?", help="folder for TensorBoard's event files")
    training.set_defaults(run=_train)
    multitask = subparsers.add_parser("train-multitask", help="train one experiment of Lessons")
    multitask.add_argument(
        "--settings", type=settings_dict_of("training", "LessonsSettings"), required=True, help="JSON"
    )
    multitask.add_argument(
        "--sentences", type=Path, nargs="+", required=True, help="folder written by `select`"
    )
    multitask.add_argument(
        "--pairs", type=Path, nargs="*", default=[], help="captions from which pairs are formed instead"
    )
    multitask.add_argument("--words", type=Path, nargs="+", required=True, help="folder written by `select`")
    multitask.add_argument("--features", type=Path, required=True, help="image features")
    multitask.add_argument(
        "--checkpoint", type=Path, required=True, help="file from which a killed run resumes"
    )
    multitask.add_argument("--curves", type=Path, required=True, help="CSV to write, one row per validation")
    multitask.add_argument("--output", type=Path, required=True)
    add_gpus(multitask)
    multitask.set_defaults(run=_train_multitask)


def _add_inputs(parser: argparse.ArgumentParser, settings: str) -> None:
    parser.add_argument("--settings", type=settings_dict_of("training", settings), required=True, help="JSON")
    parser.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    parser.add_argument("--translations", type=Path, nargs="*", default=[], help="translated captions")
    parser.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary per language")
    parser.add_argument("--checkpoint", type=Path, required=True, help="file from which a killed run resumes")
    parser.add_argument("--output", type=Path, required=True)
    add_gpus(parser)


def _pretrain(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline import registry as parts
    from pipeline.digest import digest
    from pipeline.training.train import Inputs, pretrain

    inputs = Inputs(arguments.sentences, arguments.translations, arguments.words)
    code = digest("train", parts.of_model(arguments.settings))
    pretrain(inputs, arguments.settings, code, arguments.checkpoint, arguments.output)


def _assign(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline.digest import digest
    from pipeline.training.assign import assign
    from pipeline.training.train import Inputs

    inputs = Inputs(arguments.sentences, arguments.translations, arguments.words)
    files = arguments.checkpoint, arguments.output, arguments.table
    assign(inputs, arguments.settings, digest("assign"), *files)


def _train(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline import registry as parts
    from pipeline.digest import digest
    from pipeline.training.train import Inputs, train

    inputs = Inputs(
        arguments.sentences,
        arguments.translations,
        arguments.words,
        arguments.features,
        arguments.pretrained[0] if arguments.pretrained else None,
    )
    # The recall code chooses the epoch: no run that began with another one is gone on with, finished or not.
    settings = arguments.settings
    code = digest("train", parts.of_training(settings)) + digest("evaluate", parts.of_model(settings))
    checkpoint, curves, output = arguments.checkpoint, arguments.curves, arguments.output
    train(inputs, settings, code, checkpoint, curves, output, arguments.events)


def _train_multitask(arguments: argparse.Namespace) -> None:
    take_gpu(arguments.gpus)
    from pipeline.digest import digest
    from pipeline.training.multitask import train_multitask
    from pipeline.training.train import Inputs

    train_multitask(
        Inputs(arguments.sentences, [], arguments.words, arguments.features),
        arguments.pairs,
        arguments.settings,
        digest("train-multitask") + digest("evaluate"),  # as in `train`
        arguments.checkpoint,
        arguments.curves,
        arguments.output,
    )

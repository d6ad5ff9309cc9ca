"""The model card of a bundle (Mitchell et al. 2019), in Markdown."""

from collections.abc import Mapping
from typing import Any

from pipeline.common.rounding import tenths
from pipeline.tables.statistics import METRICS


def model_card(values: Mapping[str, Any]) -> str:
    """Markdown of the content of `model.json`: languages, recalls, data, backbone, licences."""
    record, settings = values["saved"], values["saved"]["settings"]
    run = f"scale {settings['scale']}, seed {settings['seed']}"
    paragraphs = [
        f"# {settings['experiment']} on {settings['dataset']} ({run})",
        "Embeds sentences of its languages and photographs in one space, to retrieve photographs for "
        "sentences and sentences for photographs. Trained by a reproduction of multilingual image-sentence "
        "retrieval (MULE, SMALR, Lessons learned). For research.",
        _use(settings["languages"]),
        "## Recalls",
        "On the test split, in percent, with the 95% bootstrap interval over test images in brackets. Image "
        "to sentence (i2s) and sentence to image (s2i) at 1, 5, 10, and their mean (mR). Other splits and "
        "other photographs give other recalls.",
        _recalls(values["test"], values["intervals"]),
        "## Trained on",
        _captions(record),
        "## Image features",
        _backbone(values["backbone"]),
        "## Licences of the data",
        "\n".join(f"- {licence['what']}: {licence['licence']}" for licence in values["data"])
        or "- not stated",
        "A model may repeat what its data say, including errors and prejudice. Captions describe what their "
        "writers saw. Nothing here identifies persons, and the model must not be used for that.",
    ]
    return "\n\n".join(paragraphs) + "\n"


def _use(languages: list[str]) -> str:
    return (
        "```python\nfrom search import load\n\n"
        f'model = load("this folder")  # languages: {", ".join(languages)}\n'
        f'model.embed_sentences(["..."], "{languages[0]}")\n```'
    )


def _recalls(test: Mapping[str, Any], intervals: Mapping[str, Any]) -> str:
    head = ["language", "images", "sentences", *METRICS, "mR of a random ranking"]
    rows = [
        [
            language,
            str(recalls["images"]),
            str(recalls["sentences"]),
            *(_with_interval(recalls[metric], intervals[language][metric]) for metric in METRICS),
            tenths(recalls["chance"]["mR"]),
        ]
        for language, recalls in test.items()
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _with_interval(value: float, interval: tuple[float, float]) -> str:
    return f"{tenths(value)} [{tenths(interval[0])}, {tenths(interval[1])}]"


def _captions(record: Mapping[str, Any]) -> str:
    lines = [
        f"- {language}: {_counts(origins)} captions"
        for language, origins in record["training_captions"].items()
    ]
    lines += [
        f"- of these, translations {pair}: {_counts(origins)}"
        for pair, origins in record["training_translations"].items()
    ]
    return "\n".join([*lines, f"- kept epoch: {record['epoch']}, by the mean mR on the validation split"])


def _counts(origins: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} ({origin})" for origin, count in origins.items())


def _backbone(backbone: Mapping[str, Any]) -> str:
    lines = [f"- {key}: {value}" for key, value in backbone.items()]
    if "weights_sha256" not in backbone:
        lines.append("- features were precomputed: this model embeds features, not photographs")
    return "\n".join(lines)

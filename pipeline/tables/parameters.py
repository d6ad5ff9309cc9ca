"""Parameters of the models at the papers' sizes (MULE, "Parameter Comparison"), counted on actual models.

Word tables are left out, as in the paper's sums: they grow with the vocabulary in every model.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipeline.models.settings import Model, ModelSettings
from pipeline.models.sizes import WORD_VECTOR, count, count_bert
from pipeline.tables.counted import MILLIONS, Row, parameter_lines, write_tables
from pipeline.tables.result_files import paper_table
from pipeline.training.settings import ParameterSettings

LANGUAGES = ("en", "de", "fr", "cs")  # Multi30K's languages
WORD_PIECES = 119_547  # the vocabulary of multilingual BERT


def write_parameters(settings: ParameterSettings, papers: Path, table: Path, comparison: Path) -> None:
    """Write the parameters of each model next to the paper's, also in the columns of a comparison.

    Args:
        settings: JSON: `scale`, `model`.
        papers: the paper's own numbers, config/papers/parameters.csv.
        table: CSV to write: columns model, counted, parameters, millions, paper, note.
        comparison: CSV to write, one number per line.
    """
    paper = paper_table(papers).set_index("method")["value"]
    rows = pd.DataFrame(lines_of_models(settings.model))
    rows["millions"] = (rows["parameters"] / 1e6).round(2)
    rows["paper"] = rows["model"].map(paper)
    numbers = rows.assign(metric=MILLIONS, value=rows["millions"])
    lines = parameter_lines(numbers, "parameters", settings.scale, "multi30k")
    columns = rows[["model", "counted", "parameters", "millions", "paper", "note"]]
    write_tables(columns, table, lines, comparison)


def lines_of_models(model: Model) -> Iterator[Row]:
    """Each model of the paper's comparison."""
    words = dict.fromkeys(LANGUAGES, 0)
    settings = ModelSettings(languages=list(LANGUAGES), model=model)
    of_mule = count(settings, words)
    separate = count(settings.model_copy(update={"branches": "separate"}), words)
    yield {
        "model": "Language branch",
        "counted": "sentence branch: recurrent layer and linear layer",
        "parameters": of_mule["sentences"],
        "note": "",
    }
    yield {
        "model": "PARALLEL-EmbN",
        "counted": f"{len(LANGUAGES)} sentence branches",
        "parameters": separate["sentences"],
        "note": "The paper multiplies a rounded 6.8M.",
    }
    yield {
        "model": "FC layer into the universal embedding",
        "counted": "linear layer of one language, weights and bias",
        "parameters": of_mule["layers"] // len(LANGUAGES),
        "note": f"The paper's 1.7M cannot be a layer from {WORD_VECTOR} to {model.universal_dim} numbers, "
        f"which has {WORD_VECTOR} x {model.universal_dim} + {model.universal_dim} parameters.",
    }
    yield {
        "model": "MULE EmbN",
        "counted": f"one sentence branch and {len(LANGUAGES)} linear layers",
        "parameters": of_mule["sentences"] + of_mule["layers"],
        "note": "The paper's 13.6M uses its 1.7M for each linear layer; by our count, MULE is even smaller.",
    }
    yield {
        "model": "ML BERT",
        "counted": "encoder of bert-base-multilingual-cased: 12 layers of 768, 119,547 word pieces",
        "parameters": count_bert(WORD_PIECES),
        "note": "110M is BERT-base with 30,522 word pieces of English; the multilingual vocabulary adds 68M.",
    }

"""Parameters of the models at the papers' sizes (MULE, "Parameter Comparison"), counted on actual models.

Word tables are left out, as in the paper's sums: they grow with the vocabulary in every model.
"""

from pathlib import Path

import pandas as pd

from pipeline.models.settings import Model, ModelSettings
from pipeline.models.sizes import WORD_VECTOR, count, count_bert
from pipeline.tables.counted import MILLIONS, parameter_lines, with_papers_numbers, write_tables
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
    counted = pd.DataFrame(_counts(settings.model), columns=["model", "counted", "parameters", "note"])
    rows = with_papers_numbers(counted, papers)
    rows["millions"] = (rows["parameters"] / 1e6).round(2)
    numbers = rows.assign(metric=MILLIONS, value=rows["millions"])
    lines = parameter_lines(numbers, "parameters", settings.scale, "multi30k")
    columns = rows[["model", "counted", "parameters", "millions", "paper", "note"]]
    write_tables(columns, table, lines, comparison)


def _counts(model: Model) -> list[tuple[str, str, int, str]]:
    """Each model of the paper's comparison: its name, what is counted, parameters, and a note."""
    words = dict.fromkeys(LANGUAGES, 0)
    settings = ModelSettings(languages=list(LANGUAGES), model=model)
    of_mule = count(settings, words)
    separate = count(settings.model_copy(update={"branches": "separate"}), words)
    layer = of_mule["layers"] // len(LANGUAGES)
    sizes = f"{WORD_VECTOR} x {model.universal_dim} + {model.universal_dim}"
    wrong_layer = (
        f"The paper's 1.7M cannot be a layer from {WORD_VECTOR} to {model.universal_dim} numbers, "
        f"which has {sizes} parameters."
    )
    smaller = "The paper's 13.6M uses its 1.7M for each linear layer; by our count, MULE is even smaller."
    pieces = "110M is BERT-base with 30,522 word pieces of English; the multilingual vocabulary adds 68M."
    branch, mule = of_mule["sentences"], of_mule["sentences"] + of_mule["layers"]
    bert = "encoder of bert-base-multilingual-cased: 12 layers of 768, 119,547 word pieces"
    return [
        ("Language branch", "sentence branch: recurrent layer and linear layer", branch, ""),
        (
            "PARALLEL-EmbN",
            "4 sentence branches",
            separate["sentences"],
            "The paper multiplies a rounded 6.8M.",
        ),
        (
            "FC layer into the universal embedding",
            "linear layer of one language, weights and bias",
            layer,
            wrong_layer,
        ),
        ("MULE EmbN", "one sentence branch and 4 linear layers", mule, smaller),
        ("ML BERT", bert, count_bert(WORD_PIECES), pieces),
    ]

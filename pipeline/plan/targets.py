"""Files in results/, as regular expressions for the rules that publish them."""

from pipeline import settings as configuration
from pipeline.plan.cells import table_names
from pipeline.plan.plan import Plan, either

# Results that no table of config/tables fills: with a comparison, as all those tables have, and without.
COMPARED = (*configuration.OTHER_TABLES, "claims")
SINGLE = (
    *("counts.csv", "translation-quality.csv"),
    *("figure3.html", "figure4.html", "report.html", "lessons/figure3.svg"),
    *("smalr/figure1b.svg", "smalr/figure3.svg"),
)


def compared_results(plan: Plan) -> str:
    """A regular expression of the results that have a comparison, without `.csv`."""
    return f"{table_names(plan)}|{either(COMPARED)}"


def single_results(plan: Plan) -> str:
    """A regular expression of the results that have no comparison."""
    compared = rf"compare/(?:{either(plan.datasets)})/[a-z0-9+-]+-vs-[a-z0-9+-]+"
    return f"{either(SINGLE)}|{compared}[.]csv"

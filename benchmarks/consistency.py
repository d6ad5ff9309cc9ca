"""What the learning rate of CLC-C does: trained on one half of the validation images, tested on the other.

    python -m benchmarks.consistency --configfile FILE ... --experiment smalr --seeds 0 1 2 --rates 1e-3 1e-2

Prints for each rate the mR of CLC-C minus the mR of CLC-A by language, the mean over both halves and all
seeds, and the largest share of the weights that a language has. No test caption is read. The files that CLC-A
reads must have been made, with the same configfiles, by
`snakemake work/SCALE/DATASET/experiments/EXPERIMENT/seedN/test-average.json`.
"""

import argparse
import statistics
import sys
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.variants import CONFIG, ROOT, user_configuration
from pipeline.common.errors import InputError
from pipeline.evaluation.consistency import QueriesWithTranslations, read_translations
from pipeline.evaluation.inputs import original_sentences, read_vocabularies
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import recalls
from pipeline.models.consistency import Combiner, ScoredQueries, fit
from pipeline.models.model import ModelRecord, load_model
from pipeline.models.settings import Consistency
from pipeline.plan import paths
from pipeline.plan import training as planned
from pipeline.plan.plan import Plan, published_sources
from pipeline.plan.words import vocabularies
from pipeline.settings import load

Scored = dict[str, ScoredQueries]  # by language


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="as given to snakemake")
    parser.add_argument("--dataset", default="multi30k")
    parser.add_argument("--experiment", default="smalr")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--rates", nargs="+", type=float, default=[1e-3, 3e-3, 1e-2, 3e-2])
    arguments = parser.parse_args()
    try:
        settings = load(user_configuration(arguments.configfile), CONFIG)
        plan = Plan(settings, CONFIG, published_sources(ROOT / paths.SOURCES_TABLE))
        every = [scored_queries(plan, arguments.dataset, arguments.experiment, n) for n in arguments.seeds]
    except InputError as error:
        sys.exit(f"error: {error}")
    print("| learning rate | language: CLC-C - CLC-A | mean | largest share |\n|---|---|---|---|")
    for rate in arguments.rates:
        print(row(rate, every, settings.consistency), flush=True)


def scored_queries(plan: Plan, dataset: str, experiment: str, seed: int) -> tuple[ModelRecord, Scored]:
    """A model, and the scores of its validation queries with their translations."""
    model, record = load_model(ROOT / plan.model(dataset, experiment, seed).model)
    words = [ROOT / path for path in vocabularies(plan, dataset, experiment)]
    sentences = [ROOT / path for path in planned.sentences(plan, dataset, experiment)]
    tables = planned.queries_with_translations(plan, dataset, experiment)["translations"]
    queries = QueriesWithTranslations(
        model,
        record,
        original_sentences(sentences, record.settings.languages, record.settings.caption_origins),
        read_translations([ROOT / path for path in tables]),
        read_vocabularies(words, record.settings.languages),
        ROOT / planned.features(plan, dataset, experiment),
        "val",
    )
    return record, {language: queries.query_scores(language) for language in queries.languages}


def row(rate: float, every: list[tuple[ModelRecord, Scored]], network: Consistency) -> str:
    """The line of one rate."""
    gains: dict[str, list[float]] = {}
    shares = []
    for record, scored in every:
        triplets, matching = record.settings.triplets, record.settings.matching
        assert triplets and matching
        for trained_on, tested_on in ((0, 1), (1, 0)):
            languages = len(record.settings.languages)
            combiner = Combiner(languages, network.hidden, network.initial_weight, network.activation)
            queries = [half(part, trained_on) for part in scored.values()]
            fit(combiner, queries, network.model_copy(update={"learning_rate": rate}), triplets, matching)
            weights = (combiner.second.weight @ combiner.first.weight)[0].detach()
            shares.append((weights / weights.sum()).max().item())
            for language, part in scored.items():
                other = half(part, tested_on)
                with torch.no_grad():
                    learned = mean_recall(combiner(other.scores), other.image_of)
                gains.setdefault(language, []).append(
                    learned - mean_recall(other.scores.mean(2), other.image_of)
                )
    text = ", ".join(f"{language} {statistics.mean(of):+.2f}" for language, of in gains.items())
    overall = statistics.mean(statistics.mean(of) for of in gains.values())
    return f"| {rate:g} | {text} | {overall:+.2f} | {statistics.mean(shares):.2f} |"


def half(queries: ScoredQueries, number: int) -> ScoredQueries:
    """The queries and candidates of every other image."""
    images = torch.arange(number, queries.scores.shape[1], 2)
    inside = queries.image_of % 2 == number
    return ScoredQueries(queries.scores[inside][:, images], queries.image_of[inside] // 2)


def mean_recall(scores: Tensor, image_of: Tensor) -> float:
    """mR of scores (B, n) of sentences and images, in percent."""
    return recalls(both_ranks(torch.eye(scores.shape[1]), scores, image_of))["mR"]


if __name__ == "__main__":
    main()

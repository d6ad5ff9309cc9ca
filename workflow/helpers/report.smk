# Inputs of the report, its claims and its figures.


def ranks_beside(paths):
    """The files of ranks beside evaluations."""
    return [path.replace(".json", "-ranks.csv.gz") for path in paths]


def reported_tables():
    """Tables of evaluations in the report."""
    return [name for name in SETTINGS["report"] if name in TABLES]


def reported_comparisons():
    """Tables of the report, counted ones too, each of which has a comparison."""
    return [name for name in SETTINGS["report"] if name not in configuration.POINTS]


def reported_points():
    """Figures of recall against size that the report has, as the wildcards of their points."""
    return [
        SimpleNamespace(number=name.removeprefix("smalr/figure"))
        for name in SETTINGS["report"]
        if name in configuration.POINTS
    ]


def reported_evaluations():
    """Evaluations of all tables and figures in the report."""
    of_points = [
        path for figure in reported_points() for path in evaluations_of_points(figure)
    ]
    return sorted({*evaluations_of(reported_tables()), *of_points})


def reported_translations():
    """Data set and pair of languages of all translations that the report's tables and figures need."""
    of_points = [
        pair for figure in reported_points() for pair in scaling_translations(figure)
    ]
    return [*translations_of(reported_tables()), *of_points]


def judged_evaluations(wildcards):
    """Evaluations that the claims are judged on."""
    demand_providers(reported_translations())
    return reported_evaluations()


def reported_papers():
    """Papers of whose tables the report has any."""
    papers = {TABLES[name].get("paper") for name in reported_tables()}
    return [name for name in ("mule", "lessons", "smalr") if name in papers]


def reported_counts():
    """Counts of the data, as an input list; empty if the report does not contain their table."""
    return given(f"{FINISHED}/counts.csv" if "table1" in SETTINGS["report"] else None)


def reported_curves(wildcards):
    """Training curves of the models that the report's tables and figures evaluate."""
    demand_providers(reported_translations())
    return sorted(
        {str(Path(path).with_name("curves.csv")) for path in reported_evaluations()}
    )


def reported_datasets():
    """Data sets that the report's tables evaluate on."""
    return [
        name
        for name in DATASETS
        if any(f"/{name}/experiments/" in path for path in reported_evaluations())
    ]


def reported_captions():
    """Caption tables of the data sets that the report's tables evaluate on, by data set and language."""
    return {
        f"{dataset} {language}": path
        for dataset in reported_datasets()
        for language, path in zip(
            DATASETS[dataset]["languages"], caption_tables(dataset)
        )
    }


# The data set whose test images each figure of the MULE paper shows.
FIGURES = {"3": "multi30k", "4": "mscoco"}


def reported_figures(wildcards=None):
    """Figures whose model the report's tables evaluate; a report trains nothing for a figure alone."""
    drawn = "lessons/figure3" in SETTINGS["report"]
    of_points = [
        f"{FINISHED}/smalr/figure{figure.number}.svg" for figure in reported_points()
    ]
    lessons = given(f"{FINISHED}/lessons/figure3.svg" if drawn else None)
    examples = [
        f"{FINISHED}/figure{number}.html"
        for number, named in FIGURES.items()
        if any(
            f"/{STAND_INS.get(named)}/experiments/mule-full/" in path
            for path in reported_evaluations()
        )
    ]
    return [*lessons, *examples, *of_points]


def figure_model(wildcards):
    """The model whose examples a figure shows, as the wildcards of its training."""
    dataset = STAND_INS.get(FIGURES[wildcards.number])
    if dataset is None:
        refuse(
            f"results/figure{wildcards.number}.html: no data set of the configuration stands for "
            f"{FIGURES[wildcards.number]}."
        )
    return SimpleNamespace(
        scale=SCALE,
        dataset=dataset,
        experiment="mule-full",
        seed=SETTINGS["seeds"][0],
    )


def figure_inputs(wildcards):
    """Model, features, words, sentences and images of a figure; no images where features are imported.

    The list of images names their files: they are there, whole, when it is.
    """
    made = figure_model(wildcards)
    return {
        "model": f"work/{made.scale}/{made.dataset}/experiments/{made.experiment}/seed{made.seed}/model.pt",
        "features": features_of(made),
        "words": vocabularies(made),
        "sentences": own_sentences(made),
        "images": given(
            None
            if SETTINGS["images"]["features"]
            else f"work/{made.scale}/{made.dataset}/images.csv"
        ),
    }


def reported_claims():
    """The verdicts on the claims, and their comparisons; none if no table of a paper is in the report."""
    if not reported_papers():
        return []
    return [f"{FINISHED}/claims.csv", f"{FINISHED}/comparison/claims.csv"]


def claim_options():
    """The claims as arguments of the report."""
    keys = ("--claims", "--claim-comparisons")
    return [f"{key}={path}" for key, path in zip(keys, reported_claims())]


# Jobs that train a language's FastText vectors: on a data set's own captions, or on Multi30K's.
WORD_VECTORS = ("word-vectors-{1}", "../word-vectors-{1}")

# The benchmark files of the jobs that made a file below work/{scale}/{dataset}, by what the file is called.
JOBS_OF = (
    (r"words/([^/]+)/([a-z]{2})[.]h5", ["words-{0}-{1}", *WORD_VECTORS]),
    (
        r"words/([^/]+)/muse/([a-z]{2})[.]h5",
        ["words-{0}-{1}", "align-{0}-{1}", "muse-{0}-{1}", *WORD_VECTORS],
    ),
    (r"bert/([a-z]{2})[.]h5", ["sentence-vectors-{0}", "pretrain-bert"]),
    (r"translations/([a-z]{2}-[a-z]{2})[.]csv", ["translate-{0}"]),
    (r"(features.*)[.]h5", ["{0}"]),
    (r"tokens/([a-z]{2})[.]csv", ["tokenize-{0}", "captions-{0}"]),
    (r"augmented/en-([a-z]{2})[.]csv", ["augment-{0}", "translate-en-{0}"]),
    (r"spelled/([^/]+)/([a-z]{2})[.]h5", ["spell-{0}-{1}"]),
    (
        r"words/([^/]+)/([^/]+)/([a-z]{2})[.]h5",
        [
            "words-{0}-{1}-{2}",
            "words-{0}-{2}",
            "word-vectors-{2}",
            "../word-vectors-{2}",
        ],
    ),
    (
        r"translations/queries/([a-z]{2}-[a-z]{2})[.]csv",
        ["translate-queries-{0}"],
    ),
    (
        r"experiments/([^/]+)/seed(\d+)/test-([a-z]+)[.]json",
        [
            "{0}-{1}-pretrain",
            "{0}-{1}-assign",
            "{0}-{1}-train",
            "{0}-{1}-evaluate-original",
            "{0}-{1}-evaluate-{2}",
        ],
    ),
)


def jobs_of(path):
    """Benchmark files, below work/logs/{scale} and without ending, of the jobs that made a file."""
    dataset, _, rest = path.removeprefix(f"work/{SCALE}/").partition("/")
    found = [
        (match.groups(), names)
        for pattern, names in JOBS_OF
        if (match := re.fullmatch(pattern, rest))
    ]
    return {
        os.path.normpath(f"{dataset}/{name.format(*parts)}")
        for parts, names in found
        for name in names
    }


def reported_jobs():
    """Benchmark files of all jobs behind the report."""
    jobs = {
        f"{dataset}/{name}"
        for dataset in reported_datasets()
        for name in ("split", "demo", "find-images")
    }
    for path in reported_evaluations():
        _, scale, dataset, _, name, seed, file = path.split("/")
        queries = file.removeprefix("test-").removesuffix(".json")
        made = Wildcards(
            fromdict={
                "scale": scale,
                "dataset": dataset,
                "experiment": name,
                "seed": seed.removeprefix("seed"),
                "queries": queries,
            }
        )
        read = [*vocabularies(made), *evaluated_sentences(made)]
        read += training_translations(made)
        if queries in ("average", "learned"):
            read += translated_beside(made)["translations"]
        else:
            read += translated_queries(made)
        for one in [path, features_of(made), *read]:
            jobs |= jobs_of(one)
    return sorted(jobs)


def shown_beside(folder):
    """Files that stand in a folder together with a file: with the report, everything that it shows."""

    def beside(wildcards):
        if wildcards.file != "report.html":
            return []
        shown = expand(
            "{folder}/comparison/{table}.csv",
            folder=FINISHED,
            table=reported_comparisons(),
        )
        shown += [
            f"{FINISHED}/smalr/figure{figure.number}.csv"
            for figure in reported_points()
        ]
        shown += [*reported_claims(), *reported_figures(), *reported_context()]
        return [path.replace(FINISHED, folder, 1) for path in shown]

    return beside


def report_options():
    """What the report says about the configuration, the published files and its jobs."""
    told = configuration.report_settings(SETTINGS, Path(workflow.basedir, "config"))
    files = [path.removeprefix("work/sources/") for path in public_files()]
    jobs = {"jobs": reported_jobs(), "searchable": searchable()}
    return told.model_copy(update={"files": files, **jobs}).as_json()

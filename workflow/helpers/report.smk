# What the report, its claims and its figures are made of.


def ranks_beside(paths):
    """The ranks that lie beside evaluations."""
    return [path.replace(".json", "-ranks.csv.gz") for path in paths]


def reported_tables():
    """Tables of evaluations that the report is made of."""
    return [name for name in SETTINGS["report"] if name in TABLES]


def reported_evaluations():
    """Evaluations of all tables that the report is made of."""
    return evaluations_of(reported_tables())


def judged_evaluations(wildcards):
    """Evaluations that the claims are judged on."""
    demand_providers(translations_of(reported_tables()))
    return reported_evaluations()


def reported_counts():
    """Counts of the data, as an input list, where the report has the table that is made of them."""
    return given("results/counts.csv" if "table1" in SETTINGS["report"] else None)


def reported_curves(wildcards):
    """Training curves of the models that the report's tables evaluate."""
    demand_providers(translations_of(reported_tables()))
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
    return given("results/lessons/figure3.svg" if drawn else None) + [
        f"results/figure{number}.html"
        for number, named in FIGURES.items()
        if any(
            f"/{STAND_INS.get(named)}/experiments/mule-full/" in path
            for path in reported_evaluations()
        )
    ]


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
    """Model, features, words, sentences and images of a figure; no images where features are brought.

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


def report_options():
    """What the report tells of the configuration and of the published files."""
    told = configuration.report_settings(SETTINGS, Path(workflow.basedir, "config"))
    files = [path.removeprefix("work/sources/") for path in public_files()]
    return as_json({**told, "files": files})

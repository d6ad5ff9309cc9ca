# Inputs of SMALR's figures, parameter counts and claims.

SCALING_FIGURES = ["1b", "3"]


@cache
def figure_settings(number):
    """What a figure of recall against size depends on; asked for by all that the report has."""
    return configuration.figure_settings(SETTINGS, CONFIG, number)


def scaling_settings(wildcards):
    """What a figure of recall against size depends on."""
    return figure_settings(wildcards.number)


def scaling_folders(wildcards):
    """Folders of the experiments behind a figure's points, without their seeds."""
    found = [
        f"work/{SCALE}/{point['dataset']}/experiments/{name}"
        for point in scaling_settings(wildcards)["points"]
        for name in point["experiments"]
    ]
    return list(dict.fromkeys(found))


def scaling_translations(wildcards):
    """Data set and pair of languages of all translations that a figure's points need."""
    return [
        (point["dataset"], pair)
        for point in scaling_settings(wildcards)["points"]
        for name in point["experiments"]
        for pair in configuration.evaluation_pairs(
            SETTINGS, point["dataset"], name, "original"
        )
    ]


def evaluations_of_points(wildcards):
    """Evaluations of a figure's points, of all seeds."""
    return [
        f"{folder}/seed{seed}/test-original.json"
        for folder in scaling_folders(wildcards)
        for seed in SETTINGS["seeds"]
    ]


def scaling_evaluations(wildcards):
    """The same as an input: their translations must have providers, and there must be points."""
    found = evaluations_of_points(wildcards)
    if not found:
        refuse(
            f"results/smalr/figure{wildcards.number}.csv: no data set of the configuration has its languages."
        )
    demand_providers(scaling_translations(wildcards))
    return found


def scaling_models(wildcards):
    """Trained models of a figure's points, of all seeds."""
    return [
        f"{folder}/seed{seed}/model.pt"
        for folder in scaling_folders(wildcards)
        for seed in SETTINGS["seeds"]
    ]


def scaling_look(wildcards):
    """What the drawing of a figure depends on besides its points."""
    settings = scaling_settings(wildcards)
    return as_json({key: settings[key] for key in ("figure", "across", "area")})


def ten_languages():
    """The data set whose vocabularies SMALR's parameters are counted with, as wildcards of its words; or None."""
    dataset = STAND_INS.get("multi30k", STAND_INS.get("mscoco"))
    return dataset and SimpleNamespace(scale=SCALE, dataset=dataset)


def ten_vocabularies(kind):
    """Vocabularies, or spelled words, of the ten languages of that data set."""
    chosen = ten_languages()
    if chosen is None:
        refuse(
            "results/smalr/parameters.csv: no data set of the configuration stands for multi30k or mscoco."
        )
    return expand(
        VECTORS[kind],
        scale=chosen.scale,
        dataset=chosen.dataset,
        captions="augmented",
        language=DATASETS[chosen.dataset].every_language,
    )

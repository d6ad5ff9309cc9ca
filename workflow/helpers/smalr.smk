# Inputs of SMALR's figures, parameter counts and claims.

SCALING_FIGURES = ["1b", "3"]


def scaling_settings(wildcards):
    """What a figure of recall against size depends on."""
    return configuration.figure_settings(SETTINGS, CONFIG, wildcards.number)


def scaling_folders(wildcards):
    """Folders of the experiments behind a figure's points, without their seeds."""
    found = [
        f"work/{SCALE}/{point['dataset']}/experiments/{name}"
        for point in scaling_settings(wildcards)["points"]
        for name in point["experiments"]
    ]
    if not found:
        refuse(
            f"results/smalr/figure{wildcards.number}.csv: no data set of the configuration has its languages."
        )
    return list(dict.fromkeys(found))


def scaling_evaluations(wildcards):
    """Evaluations of a figure's points, of all seeds."""
    demand_providers(
        [
            (point["dataset"], pair)
            for point in scaling_settings(wildcards)["points"]
            for name in point["experiments"]
            for pair in configuration.evaluation_pairs(
                SETTINGS, point["dataset"], name, "own"
            )
        ]
    )
    return [
        f"{folder}/seed{seed}/test-own.json"
        for folder in scaling_folders(wildcards)
        for seed in SETTINGS["seeds"]
    ]


def scaling_models(wildcards):
    """Trained models of a figure's points, of the first seed: every seed has as many parameters."""
    return [
        f"{folder}/seed{SETTINGS['seeds'][0]}/model.pt"
        for folder in scaling_folders(wildcards)
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
        language=configuration.every_language(SETTINGS, chosen.dataset),
    )


def smalr_tables():
    """SMALR's tables that the configuration has data for."""
    return [
        name
        for name in configuration.makeable_tables(SETTINGS)
        if name in TABLES and TABLES[name].get("paper") == "smalr"
    ]


def smalr_evaluations(wildcards):
    """Evaluations that SMALR's claims are judged on: of its tables, and of Figure 3's baselines."""
    demand_providers(translations_of(smalr_tables()))
    of_figure = scaling_evaluations(SimpleNamespace(number="3"))
    return sorted({*evaluations_of(smalr_tables()), *of_figure})

# What SMALR's figures of recall against size, its parameters and its claims are made of.

SCALING_FIGURES = ["1b", "3"]


def scaling_settings(wildcards):
    """What a figure of recall against size depends on."""
    return configuration.figure_settings(SETTINGS, CONFIG, wildcards.number)


def scaling_folders(wildcards):
    """Folders of the experiments that a figure's points are, without their seeds."""
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

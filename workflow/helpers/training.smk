# Inputs and parameters of training and evaluation.


def settings_for(chosen):
    """The `params` function that gives an experiment's settings as a stage takes them."""
    return lambda wildcards: as_json(
        chosen(SETTINGS, wildcards.dataset, wildcards.experiment, int(wildcards.seed))
    )


def experiment(wildcards):
    """An experiment's entry in config/experiments.yaml, with its languages."""
    return configuration.experiment_named(
        SETTINGS, wildcards.dataset, wildcards.experiment
    )


def event_folder(wildcards):
    """Folder of a training's TensorBoard events; empty for none. A resource, so that it reruns nothing."""
    folder = "work/{scale}/tensorboard/{dataset}/{experiment}/seed{seed}"
    return folder.format(**wildcards) if SETTINGS["tensorboard"] else ""


def own_sentences(wildcards):
    """Tokenised captions of an experiment's languages."""
    return tokenised(wildcards, experiment(wildcards)["languages"])


def features_of(wildcards):
    """The feature store that an experiment is trained and evaluated with."""
    name = experiment(wildcards).get("features")
    if name not in SETTINGS.images.feature_sets():
        refuse(
            f"experiment {wildcards.experiment} cannot be trained: {configuration.left_out(SETTINGS)[wildcards.experiment]}"
        )
    suffix = f"-{name}" if name else ""
    return f"work/{wildcards.scale}/{wildcards.dataset}/features{suffix}.h5"


def training_translations(wildcards):
    """Translations that an experiment trains on besides a language's own captions."""
    lacking = configuration.without_translations(
        SETTINGS, wildcards.dataset, wildcards.experiment
    )
    if lacking:
        refuse(
            f"experiment {wildcards.experiment} trains on translations, and {wildcards.dataset} has no captions to "
            f"translate into {', '.join(lacking)}: translations are from English, or into English from other "
            f"languages, found datasets.{wildcards.dataset}.languages {DATASETS[wildcards.dataset]['languages']}. Add "
            "captions in English, or ask for rows without translations (results/TABLE-row1+2.csv)"
        )
    return added_tables(
        wildcards.dataset,
        configuration.training_pairs(SETTINGS, wildcards.dataset, wildcards.experiment),
        experiment(wildcards)["captions"],
    )


def pretrained(wildcards):
    """The pretrained weights or assignment that training starts from, as a list; empty if there are none."""
    folder = (
        f"work/{wildcards.scale}/{wildcards.dataset}/experiments/{wildcards.experiment}/"
        f"seed{wildcards.seed}"
    )
    chosen = experiment(wildcards)
    if chosen.get("embedding") == "hybrid":
        return [f"{folder}/entries.pt"]
    return given(chosen.get("pretraining") and f"{folder}/pretrained.pt")


def training_code(wildcards):
    """Digest of the code that an experiment is trained with."""
    return code.digest("train", parts.of_training(trained_with(wildcards)))


def pretraining_code(wildcards):
    """Digest of the code that an experiment's linear layers are pretrained with."""
    return code.digest("train", parts.of_model(trained_with(wildcards)))


def evaluation_code(stage):
    """The `params` function that gives the digest of the code that an experiment is evaluated with."""
    return lambda wildcards: code.digest(
        stage,
        parts.of_model(
            configuration.evaluation_settings(
                SETTINGS, wildcards.dataset, wildcards.experiment, 0
            )
        ),
    )


def trained_with(wildcards):
    """An experiment's settings, whatever the seed."""
    return configuration.experiment_settings(
        SETTINGS, wildcards.dataset, wildcards.experiment, 0
    )


def translated_beside(wildcards):
    """Own queries translated into the model's other languages: tables, and reports on what was left out."""
    dataset = wildcards.dataset
    pairs = configuration.consistency_pairs(SETTINGS, dataset, wildcards.experiment)
    demand_providers(
        [
            (dataset, pair)
            for pair in pairs
            if not configuration.via_english(SETTINGS, dataset, pair)
        ]
    )
    tables = query_tables(dataset, pairs)
    return {
        "translations": tables,
        "reports": [path.replace(".csv", ".json") for path in tables],
    }


def translated_queries(wildcards):
    """Test captions of the other languages, translated into a model's only language."""
    if wildcards.queries != "translated":
        return []
    return translation_tables(
        wildcards.dataset,
        configuration.query_pairs(SETTINGS, wildcards.dataset, wildcards.experiment),
    )


def evaluated_sentences(wildcards):
    """Tokenised captions of an experiment's languages, or of all where queries are translated."""
    if wildcards.queries != "translated":
        return own_sentences(wildcards)
    return tokenised(wildcards, DATASETS[wildcards.dataset]["languages"])

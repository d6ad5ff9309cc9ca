# What an experiment is trained and evaluated with.


def settings_for(chosen):
    """The `params` function that gives an experiment's settings as a stage takes them."""
    return lambda wildcards: as_json(
        chosen(SETTINGS, wildcards.dataset, wildcards.experiment, int(wildcards.seed))
    )


def experiment(wildcards):
    """An experiment's entry in config/experiments.yaml, with its languages."""
    return configuration.expanded(SETTINGS, wildcards.dataset)[wildcards.experiment]


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
    if name not in configuration.feature_sets(SETTINGS):
        refuse(
            f"experiment {wildcards.experiment} cannot be trained: {configuration.left_out(SETTINGS)[wildcards.experiment]}"
        )
    suffix = f"-{name}" if name else ""
    return f"work/{wildcards.scale}/{wildcards.dataset}/features{suffix}.h5"


def training_translations(wildcards):
    """Translations that an experiment trains on."""
    return translation_tables(
        wildcards.dataset,
        configuration.training_pairs(SETTINGS, wildcards.dataset, wildcards.experiment),
    )


def pretrained(wildcards):
    """What an experiment's training begins from: a list that is empty without LP."""
    path = "work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/pretrained.pt"
    return given(experiment(wildcards).get("pretraining") and path.format(**wildcards))


def translated_queries(wildcards):
    """Test captions of the other languages, translated into a model's only language."""
    if wildcards.queries == "own":
        return []
    return translation_tables(
        wildcards.dataset,
        configuration.query_pairs(SETTINGS, wildcards.dataset, wildcards.experiment),
    )


def evaluated_sentences(wildcards):
    """Tokenised captions of an experiment's languages, or of all where queries are translated."""
    if wildcards.queries == "own":
        return own_sentences(wildcards)
    return tokenised(wildcards, DATASETS[wildcards.dataset]["languages"])

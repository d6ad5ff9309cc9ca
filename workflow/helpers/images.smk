# Inputs and parameters of feature extraction. The wildcard `set` is empty for the main feature set, `-vgg` for the set vgg.

from pipeline.images.lists import photographs_digest

FEATURE_SETS = {
    f"-{name}" if name else "": {
        "settings": as_json(configuration.feature_settings(SETTINGS, name)),
        "imported": images["features"],
        "weights": given(
            images["weights"] if os.path.isfile(images["weights"] or "") else None
        ),
    }
    for name, images in SETTINGS.images.feature_sets().items()
}


def flickr_names(wildcards):
    """The argument that allows file names as in Flickr8k; empty for other photographs."""
    return "--flickr-names" if source_of(wildcards.dataset).flickr_names else ""


def sets_that_are(imported):
    """Pattern of the feature sets that are imported, or of those that are extracted; it may match the empty name."""
    names = [
        name
        for name, made in FEATURE_SETS.items()
        if bool(made["imported"]) == imported
    ]
    return f"(?:{'|'.join(names)})" if names else "(?!)"


def feature_set_settings(wildcards):
    """What the features of a set depend on."""
    return FEATURE_SETS[wildcards.set]["settings"]


def photographs(wildcards):
    """Size and time of the photographs as they lie now, as a digest: another once one is overwritten in place."""
    return photographs_digest(
        Path(f"work/{wildcards.scale}/{wildcards.dataset}/images.csv")
    )


def feature_shards(wildcards):
    """Stores of the shards of a data set's features; for finished features, the number they were made with."""
    folder, name = f"work/{wildcards.scale}/{wildcards.dataset}", wildcards.set
    count = SETTINGS["images"]["shards"]
    made = Path(folder, f"shards{name}.txt")
    if made.exists() and Path(folder, f"features{name}.h5").exists():
        settings, digest, *paths = made.read_text(encoding="utf-8").splitlines()
        if [settings, digest] == [
            feature_set_settings(wildcards),
            code.digest("extract-features"),
        ]:
            return paths
    return [f"{folder}/shards{name}/{n}-of-{count}.h5" for n in range(1, count + 1)]


def needs_photographs(dataset):
    """Whether the features that a data set's tables need are extracted from photographs, or `context` reads these."""
    if SETTINGS["context"]:
        return True
    trained = SETTINGS.expanded(dataset)
    needed = {
        trained[cell.experiment].get("features")
        for table in TABLES
        for cell in cells_of_table(table)
        if cell.dataset == dataset
    }
    made = SETTINGS.images.feature_sets()
    return not all(made[name]["features"] for name in {None, *needed})

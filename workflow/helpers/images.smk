# What the extraction of features takes.

FEATURE_SETTINGS = as_json(configuration.feature_settings(SETTINGS))


def feature_shards(wildcards):
    """Stores of the shards of a data set's features; where they are made already, as many as that took."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    count = SETTINGS["images"]["shards"]
    made = Path(folder, "shards.txt")
    if made.exists() and Path(folder, "features.h5").exists():
        settings, digest, *paths = made.read_text(encoding="utf-8").splitlines()
        if [settings, digest] == [FEATURE_SETTINGS, code.digest("features")]:
            return paths
    return [f"{folder}/shards/{n}-of-{count}.h5" for n in range(1, count + 1)]

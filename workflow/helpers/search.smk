# Inputs of bundles and indexes.

# Published data by source: `dataset` of workflow/sources.csv, whose licences the model card lists.
PUBLISHED = {
    "multi30k": ["multi30k"],
    "flickr8kcn": ["flickr8k", "flickr8kcn"],
    "mscoco": ["mscoco", "yjcaptions", "coco-cn"],
}
DEMO_DATA = {
    "what": "scenes and captions made by this project of OpenMoji's drawings",
    "licence": "CC BY-SA 4.0",
}
OWN_DATA = {
    "what": "photographs and captions of one's own",
    "licence": "not stated here; ask who trained it",
}


def data_licences(wildcards):
    """The data that a model was trained on, with their licences from workflow/sources.csv."""
    data = DATASETS[wildcards.dataset]
    if data["source"] == "demo":
        return as_json([DEMO_DATA])
    names = list(PUBLISHED.get(data["source"], []))
    photographs = data.get("images")
    names += [f"{photographs}-photographs"] if photographs in PHOTOGRAPHS else []
    if SETTINGS["words"]["vectors"] == "file":
        names.append("fasttext")
    found = {
        (row["dataset"], row["licence"])
        for row in SOURCES.values()
        if row["dataset"] in names
    }
    told = [{"what": what, "licence": licence} for what, licence in sorted(found)]
    return as_json([*told, *([OWN_DATA] if data["source"] == "own" else [])])


def index_photographs(wildcards):
    """The list of a data set's photographs, as an input list: empty if features are imported."""
    made = not SETTINGS["images"]["features"]
    path = f"work/{wildcards.scale}/{wildcards.dataset}/images.csv"
    return given(path if made else None)

# What the reading of captions takes.


def caption_options(wildcards):
    """Arguments of `captions` that belong to a data set's source."""
    data = DATASETS[wildcards.dataset]
    listed = data.get("test_images") is not None  # then nothing is drawn
    options = {
        "multi30k": {"sources": "work/sources", "split": data.get("split")},
        "flickr8kcn": {"sources": "work/sources"},
        "mscoco": {
            "sources": "work/sources",
            "drawn": None if listed else data.get("drawn"),
            "seed": None if listed else data.get("draw_seed"),
            "test-images": data.get("test_images"),
            "val-images": data.get("val_images"),
        },
        "own": {"table": data.get("captions"), "seed": data.get("draw_seed", 0)},
    }[data["source"]]
    options["image-list"] = SETTINGS["images"]["list"]
    return [f"--{name}={value}" for name, value in options.items() if value is not None]


def coco_cn(wildcards):
    """COCO-CN as it was given: its archive, alone or alone in a folder, or its folder."""
    path = requested("coco_cn")
    found = archives_at(path)
    return found[0] if len(found) == 1 else path


def caption_code(wildcards):
    """Digest of the code that reads a data set's captions."""
    return code.digest(f"captions-{DATASETS[wildcards.dataset]['source']}")


def caption_lists(wildcards):
    """Files beside the published ones that decide a data set's captions and splits."""
    data = DATASETS[wildcards.dataset]
    paths = [data.get(key) for key in ("captions", "test_images", "val_images")]
    return [path for path in [*paths, SETTINGS["images"]["list"]] if path]

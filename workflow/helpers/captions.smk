# Inputs and parameters of splits and captions.


def datasets_read_by(function):
    """Pattern of the data sets whose source has this function; one that matches nothing if none has."""
    names = [name for name in DATASETS if getattr(source_of(name), function)]
    return "|".join(names) or "(?!)"


@cache
def own_coverage(dataset):
    """What a user's own captions cover."""
    from pipeline.datasets.coverage import coverage

    image_list = SETTINGS["images"]["list"]
    return coverage(DATASETS[dataset], image_list and Path(image_list))


def check_own_captions():
    """Stop if a user's own captions do not cover every split; warn of small test sets."""
    from pipeline.datasets import coverage

    gaps, warnings = [], []
    for dataset, data in DATASETS.items():
        if data["source"] != "custom":
            continue
        covered = own_coverage(dataset)
        gaps += coverage.gaps(dataset, covered.counts, languages_trained(dataset))
        warnings += coverage.few_tested(dataset, covered.counts)
        warnings += coverage.doubts(dataset, covered)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    raise_together(gaps, "Captions of your own do not cover every split:")


def languages_trained(dataset):
    """Languages in which an experiment of the configured tables trains on the data set's own captions."""
    named = {
        cell.experiment
        for table in TABLES
        for cell in cells_of_table(table)
        if cell.dataset == dataset
    }
    every = SETTINGS.expanded(dataset)
    return {
        language
        for name in named
        for language in every[name]["languages"]
        if every[name]["captions"] != "mt" or language == "en"
    }


if HERE:
    try:
        check_own_captions()
    except InputError as error:
        sys.exit(f"error: {error}")


def files_named(data, pattern):
    """A data set's published text files whose names match a pattern."""
    return [path for path in published_texts(data) if re.search(pattern, path)]


def split_files(wildcards):
    """Published files that a data set's split is read from, or the user's own file."""
    data = DATASETS[wildcards.dataset]
    if data["source"] == "custom":
        return data.get("split", data["captions"])
    return files_named(data, source_of(wildcards.dataset).split_files)


def caption_files(wildcards):
    """Published files that the captions in a language are read from, or the user's own table."""
    data = DATASETS[wildcards.dataset]
    if data["source"] == "custom":
        return own_table(wildcards)
    pattern = source_of(wildcards.dataset).caption_files.get(wildcards.language)
    return files_named(data, pattern) if pattern else []


def own_table(wildcards):
    """The user's own caption table, or one per language if its name contains {language}."""
    named = DATASETS[wildcards.dataset]["captions"]
    return named.replace("{language}", wildcards.language)


def split_lists(wildcards):
    """Lists of images that decide a split, beside the published files."""
    data = DATASETS[wildcards.dataset]
    paths = [
        data.get("test_images"),
        data.get("val_images"),
        SETTINGS["images"]["list"],
    ]
    return [path for path in paths if path]


def split_options(wildcards):
    """Arguments of `split` that belong to a data set's source."""
    data, listed = DATASETS[wildcards.dataset], SETTINGS["images"]["list"]
    return [
        f"--settings={SplitSettings.of(data.source, data.as_values()).as_json()}",
        *(f"--image-list={path}" for path in given(listed)),
    ]


def caption_options(wildcards):
    """Arguments of `read-captions` that belong to a data set's source."""
    data = DATASETS[wildcards.dataset]
    return f"--settings={CaptionSettings.of(data.source, data.as_values()).as_json()}"


def coco_cn_of_split(wildcards):
    """COCO-CN as an input list, of MSCOCO alone: its test images have captions in all languages.

    A folder is named with the files that are read, whose change does not change its own time.
    """
    asked = source_of(wildcards.dataset).requested
    if not asked:
        return []
    path = requested(asked.key)
    found = archives_at(path)
    path = (
        found[0] if len(found) == 1 else path
    )  # its archive, possibly in a folder, or its folder
    return [path, *files_of(path, asked.files)]


def coco_cn_of_captions(wildcards):
    """COCO-CN as an input list, of the captions that are read from it."""
    asked = source_of(wildcards.dataset).requested
    return (
        coco_cn_of_split(wildcards)
        if asked and wildcards.language in asked.languages
        else []
    )


def coco_cn_option(wildcards, input):
    """The argument that names COCO-CN.

    Apart from all others: Snakemake does not rerun for a param that is made of the input.
    """
    return [f"--requested={path}" for path in input.coco_cn[:1]]


def reading_code(stage, wildcards):
    """Digest of the code of a stage that reads a data set's published files."""
    return code.digest(stage, (module_of(DATASETS[wildcards.dataset]["source"]),))


def caption_tables(dataset):
    """The caption tables of a data set, in the order of its languages."""
    return expand(
        "work/{scale}/{dataset}/captions/{language}.csv",
        scale=SCALE,
        dataset=dataset,
        language=DATASETS[dataset]["languages"],
    )

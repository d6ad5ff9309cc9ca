# Captions, vocabularies and training of the experiments of Lessons.

SELECTING = {
    dataset: configuration.selecting(SETTINGS, dataset) for dataset in DATASETS
}
SELECTED = "work/{scale}/{dataset}/selected/{experiment}"


# Names of experiments that select their captions, and nothing else; a pattern that matches nothing if none does.
SELECTING_EXPERIMENTS = (
    "|".join(re.escape(name) for name in sorted(set(sum(SELECTING.values(), []))))
    or "(?!)"
)


def part_source(wildcards):
    """Where a part of a data set is read from: published text, the demo's grammars, or its own sentence table."""
    own = wildcards.part in source_of(wildcards.dataset).parts
    return DATASETS[wildcards.dataset]["source"] if own else "sentences"


def part_modules(wildcards):
    """What the digest of the code counts besides the stage: the source that has the part itself, and the language."""
    source = part_source(wildcards)
    row = language_row(wildcards.language)
    return (row,) if source == "sentences" else (module_of(source), row)


def part_inputs(wildcards):
    """Files that a part is read from."""
    if part_source(wildcards) == "sentences":
        return {"sentences": tokenised(wildcards, [wildcards.language])}
    source = source_of(wildcards.dataset)
    if wildcards.part not in source.part_files:
        return {
            "sources": [
                path.format(language=wildcards.language)
                for path in source.project_files
            ]
        }
    pattern = source.part_files[wildcards.part].format(language=wildcards.language)
    return {
        "split": f"work/{wildcards.scale}/{wildcards.dataset}/split.csv",
        "sources": [
            path
            for path in source_files(*source.published, *source.further)
            if re.search(pattern, path)
        ],
    }


def part_options(wildcards):
    """Arguments of `read-caption-part` that say where it reads from."""
    source = part_source(wildcards)
    if source == "sentences":
        own = DATASETS[wildcards.dataset]["caption_origins"]
        return [
            *(f"--sentences={path}" for path in part_inputs(wildcards)["sentences"]),
            f"--origin={own.get(wildcards.language, 'human')}",
        ]
    made = {key: SETTINGS["sources"][key] for key in ("seed", "scenes")}
    settings = PartSettings.of(source, {"dataset": wildcards.dataset, **made})
    published = source_of(wildcards.dataset).part_files
    split = f"work/{wildcards.scale}/{wildcards.dataset}/split.csv"
    return [
        f"--settings={settings.as_json()}",
        *(f"--split={path}" for path in given(split if published else None)),
    ]


def selection(wildcards):
    """Arguments of `select`: texts, test captions and halves of each language, as paths."""
    named = SETTINGS, wildcards.dataset, wildcards.experiment
    record = configuration.selection_record(*named)
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    languages = {}
    for language, chosen in record.languages.items():
        each, seed = chosen["captions_per_image"], record["sampling_seed"]
        drawn = f"drawn/{each}-seed{seed}/" if each else ""
        own = f"-{language}" if record["halves"] == "per_language" else ""
        halved = chosen["images"] != "all"
        languages[language] = {
            "texts": [
                f"{folder}/parts/{drawn}{part}/{language}.csv"
                for part in chosen["parts"]
            ],
            "tested_on": f"{folder}/parts/{chosen['tested_on']}/{language}.csv",
            "halves": f"{folder}/drawn/halves-seed{seed}{own}.csv" if halved else None,
            "half": chosen["images"] if halved else "first",
        }
    return {
        "languages": languages,
        "min_count": record["min_count"],
        "dimension": SETTINGS["words"]["dimension"],
        "with_all_pairs": record["pairs_of"] == "all_images",
    }


def selected_texts(wildcards):
    """Files that `select` reads."""
    each = selection(wildcards)["languages"].values()
    return sorted(
        {
            path
            for chosen in each
            for path in [
                *chosen["texts"],
                chosen["tested_on"],
                *given(chosen["halves"]),
            ]
        }
    )


def selected(kind):
    """The `params` function of files in a selection's folder: `.csv`, `.h5` or `pairs`."""

    def files(wildcards):
        folder = SELECTED.format(**wildcards)
        languages = experiment(wildcards)["languages"]
        if kind == "pairs":
            paired = selection(wildcards)["with_all_pairs"]
            return [f"{folder}/pairs-{code}.csv" for code in languages if paired]
        return [f"{folder}/{code}{kind}" for code in languages]

    return files

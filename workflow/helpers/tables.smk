# Inputs of tables.

# Where tables are made; `keep` puts them into results/{scale}, which no other scale writes to, and `publish` into
# results/, which shows the scale that was asked for last.
FINISHED = f"work/results/{SCALE}"
KEPT = f"results/{SCALE}"

# Results that no table of config/tables fills.
OTHER_RESULTS = [
    *(
        f"{folder}{name}.csv"
        for name in configuration.OTHER_TABLES
        for folder in ("", "comparison/")
    ),
    *("claims.csv", "comparison/claims.csv", "counts.csv", "translation-quality.csv"),
    "context.csv",
    *("figure3.html", "figure4.html", "report.html", "lessons/figure3.svg"),
    *(f"{name}.{kind}" for name in configuration.POINTS for kind in ("csv", "svg")),
]

ONE_FILE = "|".join(
    [*map(re.escape, OTHER_RESULTS), r"compare/[^/]+/[^/]+-vs-[^/]+[.]csv"]
)

# Names of tables of evaluations, whole (table2) or some rows of them (table2-row7+11).
TABLE_NAMES = rf"(?:{'|'.join(TABLES)})(?:-row[1-9]\d*(?:[+][1-9]\d*)*)?"


# Results of which there are as many as a user asks for: some rows of a table, two experiments compared.
MADE_BY_NAME = (
    rf"results/(?:{SCALE}/)?(?:(?:comparison/)?{TABLE_NAMES}"
    rf"|compare/(?:{'|'.join(DATASETS)})/[a-z0-9+-]+-vs-[a-z0-9+-]+)[.]csv"
)


def table_settings(wildcards):
    """What a table depends on."""
    try:
        return configuration.table_settings(SETTINGS, wildcards.table)
    except InputError as error:
        refuse(error)


def cells_of(tables):
    """The cells of some tables."""
    return [cell for table in tables for cell in cells_of_table(table)]


def evaluations_of(tables):
    """Evaluations that the cells of some tables need."""
    return sorted(
        {
            f"work/{SCALE}/{cell.dataset}/experiments/{cell.experiment}/seed{seed}/test-{cell.queries}.json"
            for cell in cells_of(tables)
            for seed in SETTINGS["seeds"]
        }
    )


def translations_of(tables):
    """Data set and pair of languages of all translations that the cells of some tables need."""
    trained = {
        (cell.dataset, cell.experiment, cell.queries): None for cell in cells_of(tables)
    }
    return [
        (dataset, pair)
        for dataset, *evaluated in trained
        for pair in configuration.evaluation_pairs(SETTINGS, dataset, *evaluated)
    ]


def check_targets():
    """Stop if a target of the command, other than one in work/, is made by no rule; name similar targets."""
    if os.path.basename(sys.argv[0]) != "snakemake":
        return
    rules = [rule.name for rule in workflow.rules]
    files = [*OTHER_RESULTS]
    files += [
        f"{folder}{table}.csv" for table in TABLES for folder in ("", "comparison/")
    ]
    made = [f"{folder}/{file}" for folder in ("results", KEPT) for file in files]
    mistakes = []
    with contextlib.redirect_stderr(
        None
    ):  # it says which profile it reads, a second time
        _, command = snakemake.cli.parse_args(
            sys.argv[1:]
        )  # the workflow learns its targets later
    for target in command.targets:
        inside = os.path.relpath(target) if os.path.isabs(target) else target
        plain = os.path.normpath(inside)
        known = made if plain.startswith("results") else rules
        if wrong := comparison_mistake(inside):
            mistakes.append(f"{target}: {wrong}")
            continue
        if re.fullmatch(MADE_BY_NAME, inside):
            continue
        if inside not in made and inside not in rules and "work/" not in inside:
            mistakes.append(
                f"no target {target!r}{configuration.did_you_mean(plain, known)}"
            )
    if mistakes:
        refuse("\n  - ".join(["The command has mistakes:", *mistakes]))
    warn_of_doubts(asked_tables(command.targets))


def warn_of_doubts(tables):
    """Say what the user sets and some rows of a table do not take."""
    try:
        told = [
            warning
            for table in tables
            for warning in configuration.doubts(
                SETTINGS, configuration.user_settings(config), table
            )
        ]
    except InputError as error:  # a table without such a row
        refuse(error)
    for warning in told:
        print(f"warning: {warning}", file=sys.stderr)


def comparison_mistake(target):
    """What is wrong with a target of results/compare; empty for a good one and for others."""
    match = re.fullmatch(rf"results/(?:{SCALE}/)?compare/(.+)[.]csv", target)
    if not match:
        return ""
    parts = re.fullmatch(r"([^/]+)/([a-z0-9+-]+?)-vs-([a-z0-9+-]+)", match[1])
    if not parts:
        return "expected results/compare/DATASET/EXPERIMENT-vs-EXPERIMENT.csv, names in small letters"
    dataset, first, second = parts.groups()
    if dataset not in DATASETS:
        return f"no data set {dataset!r}{configuration.did_you_mean(dataset, list(DATASETS))}"
    return f"{first} is compared with itself" if first == second else ""


def asked_tables(targets=None):
    """Tables among a command's targets, by default those that the workflow knows of."""
    if targets is None:
        targets = getattr(workflow.dag_settings, "targets", ())
    asked = rf"results/(?:{SCALE}/)?({TABLE_NAMES})[.]csv"
    return [
        match[1] for target in targets if (match := re.fullmatch(asked, str(target)))
    ]


def evaluations(wildcards):
    """Evaluations that a table's cells need."""
    table_settings(wildcards)
    demand_providers(translations_of([wildcards.table]))
    found = evaluations_of([wildcards.table])
    if not found:
        lacking = table_settings(wildcards)["left_out"]
        why = lacking or [
            "no data set of the configuration has its languages and experiments"
        ]
        refuse(f"results/{wildcards.table}.csv: {'; '.join(why)}.")
    return found


def every_table(wildcards):
    """All tables that this configuration has data for."""
    named = configuration.makeable_tables(SETTINGS)
    demand_providers(translations_of([name for name in named if name in TABLES]))
    return expand("results/{table}.csv", table=named)


def compared_evaluations(wildcards):
    """Evaluations of two experiments with every seed, in all languages of each."""
    every = SETTINGS.expanded(wildcards.dataset)
    return {
        side: [
            f"work/{SCALE}/{wildcards.dataset}/experiments/{name}/seed{seed}/test-original.json"
            for name in models_of(getattr(wildcards, side), every)
            for seed in SETTINGS["seeds"]
        ]
        for side in ("first", "second")
    }


def models_of(named, every):
    """The models of an experiment: itself, or one for each language."""
    if named in every:
        return [named]
    if named not in SETTINGS["experiments"]:
        known = sorted({*every, *SETTINGS["experiments"]})
        refuse(
            f"results/compare: no experiment {named!r}{configuration.did_you_mean(named, known)}"
        )
    return [
        name for name in every if re.fullmatch(rf"{re.escape(named)}-[a-z]{{2}}", name)
    ]


def counted_captions():
    """Caption tables that MULE's Table 1 counts, by the names that its data sets have in the paper."""
    return {name: caption_tables(dataset) for name, dataset in STAND_INS.items()}


def overlapping_text(wildcards):
    """Text whose vocabularies *Lessons* compares: Multi30K's published tokens, or those of other captions."""
    dataset = STAND_INS.get("multi30k")
    if dataset is None:
        refuse(
            "results/lessons/table1.csv: no data set of the configuration stands for multi30k."
        )
    if DATASETS[dataset]["source"] != "multi30k":
        path = f"work/{SCALE}/{dataset}/tokens/{{language}}.csv"
        portions = {"translation": ["en", "de", "fr", "cs"], "comparable": ["en", "de"]}
        own = DATASETS[dataset]["languages"]
        return {
            portion: expand(path, language=[code for code in languages if code in own])
            for portion, languages in portions.items()
        }
    translated, independent = (
        [path for path in source_files("multi30k-text") if f"{task}/tok/train" in path]
        for task in ("task1", "task2")
    )
    return {"translation": translated, "comparable": independent}


def by_language(paths):
    """`LANGUAGE=PATH` of files that are named by their language: `train.lc.norm.tok.en`, `en.csv`."""
    return [
        f"{re.search(r'([a-z]{2})([.]csv)?$', path)[1]}={path}"
        for path in map(str, paths)
    ]

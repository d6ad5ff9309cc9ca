# Inputs of bundles and indexes.

from search.stages import STAGES as SEARCH_STAGES


def data_licences(wildcards):
    """The data that a model was trained on, with their licences from workflow/sources.csv."""
    data, source = DATASETS[wildcards.dataset], source_of(wildcards.dataset)
    if data["source"] == "demo":
        return as_json([source.terms._asdict()])
    names = list(source.licensed)
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
    return as_json([*told, *([source.terms._asdict()] if source.terms else [])])


def can_be_bundled(dataset, name):
    """Whether a bundle can hold an experiment's model: one that reads words, of whole vocabularies."""
    made = configuration.experiment_named(SETTINGS, dataset, name)
    word_vectors = made.get("vectors", "fasttext") in ("fasttext", "muse")
    return word_vectors and not (made.get("selection") or made.get("reduction"))


def bundled_model(wildcards):
    """The model that a bundle is made of."""
    experiment(wildcards)  # refuses one that there is not
    if not can_be_bundled(wildcards.dataset, wildcards.experiment):
        refuse(
            f"experiment {wildcards.experiment} cannot be bundled: only models that read word vectors (fasttext, muse) "
            "can, with whole vocabularies."
        )
    return f"work/{wildcards.scale}/{wildcards.dataset}/experiments/{wildcards.experiment}/seed{wildcards.seed}/model.pt"


def searchable():
    """Folders of the report's models that can be bundled, of the first seed; by data set, MULE full first."""
    found = {}
    for path in reported_evaluations():
        _, _, dataset, _, name, seed, file = path.split("/")
        first = f"seed{SETTINGS['seeds'][0]}"
        if (seed, file) == (first, "test-original.json") and can_be_bundled(
            dataset, name
        ):
            found.setdefault(dataset, []).append(str(Path(path).parent))
    return {
        dataset: sorted(folders, key=lambda folder: "/mule-full/" not in folder)
        for dataset, folders in found.items()
    }


def index_photographs(wildcards):
    """The list of a data set's photographs, as an input list: empty if features are imported."""
    made = not SETTINGS["images"]["features"]
    path = f"work/{wildcards.scale}/{wildcards.dataset}/images.csv"
    return given(path if made else None)


# Frozen models beside the tables, by the names of their files: folders or names on the hub.
CONTEXT = {configuration.context_name(model): model for model in SETTINGS["context"]}


def context_parts(wildcards):
    """Recalls of every frozen model on every data set that the report's tables evaluate on."""
    if not CONTEXT:
        refuse(
            "results/context.csv: `context` names no model. Name folders, or models of the Hugging Face hub, such as "
            "--config context=[BAAI/AltCLIP-m9]."
        )
    datasets = reported_datasets()
    if not datasets:
        refuse(
            "results/context.csv: `report` names no table of recalls, whose test split it would be of. Name one."
        )
    return expand(
        "work/{scale}/{dataset}/context/{model}.csv",
        scale=SCALE,
        model=CONTEXT,
        dataset=datasets,
    )


def context_files(wildcards):
    """The files of a frozen model that lies in a folder of this machine."""
    return files_of(CONTEXT[wildcards.model])


def context_sentences(wildcards):
    """Tokenised captions of a data set's languages."""
    return tokenised(wildcards, DATASETS[wildcards.dataset]["languages"])


def context_settings(wildcards):
    """What the recalls of a frozen model depend on."""
    return as_json(configuration.context_settings(SETTINGS, wildcards.dataset))


def reported_context():
    """The frozen models' recalls, as an input list: empty where none is named."""
    return given(f"{FINISHED}/context.csv" if CONTEXT else None)


def check_context(persistence):
    """Load the frozen models that the jobs of this call ask, so that one that cannot be used stops it at once."""
    jobs = [job for job in persistence.dag.needrun_jobs() if job.rule.name == "context"]
    models = list(dict.fromkeys(CONTEXT[job.wildcards.model] for job in jobs))
    if not models or not importlib.util.find_spec("transformers"):
        return  # where conda brings the packages, the job says it
    command = [sys.executable, "-m", "pipeline", "check-clip", "--models", *models]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        said = re.search(r"^error: (.*)", done.stderr, re.M | re.S)
        refuse((said[1] if said else done.stderr).strip())

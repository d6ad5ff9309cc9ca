# Translation providers, by language pair.

TRANSLATION_CACHE = SETTINGS["translation"]["cache"]
TRANSLATION_LIMITS = as_json(SETTINGS["translation"]["limits"])


def demand_providers(needed):
    """Stop if a language pair has no provider, with everything that a user must configure or request.

    needed: data set and pair (`SOURCE-TARGET`) of all translations that a job and its inputs take.
    """
    if configuration.missing_providers(SETTINGS, needed):
        every = [*needed, *translations_of(asked_tables())]
        missing = configuration.missing_providers(SETTINGS, every)
        refuse("\n".join([missing, *what_to_ask_for()]))


def translation_tables(dataset, pairs):
    """The translations of a data set between some pairs of languages."""
    demand_providers([(dataset, pair) for pair in pairs])
    return [f"work/{SCALE}/{dataset}/translations/{pair}.csv" for pair in pairs]


def added_tables(dataset, pairs, captions):
    """Translations between some pairs as an experiment trains on them: all, or those that `augment` chose."""
    if captions != "augmented":
        return translation_tables(dataset, pairs)
    demand_providers([(dataset, pair) for pair in pairs])
    return [f"work/{SCALE}/{dataset}/augmented/{pair}.csv" for pair in pairs]


def borrowed(wildcards):
    """Where the translations of a pair lie in another data set's captions: `dataset` and `origin`, or None."""
    named = DATASETS[wildcards.dataset]["borrowed_translations"]
    own = wildcards.source == "en" and not hasattr(wildcards, "before")
    return named.get(wildcards.target) if own else None


def provider(wildcards):
    """Settings of the provider that translates a pair of languages."""
    pair = f"{wildcards.source}-{wildcards.target}"
    if found := borrowed(wildcards):
        return {"provider": "files", "origin": found["origin"]}
    demand_providers([(wildcards.dataset, pair)])
    found = configuration.provider_of(SETTINGS, pair)
    if found["provider"] != "files" or not hasattr(wildcards, "before"):
        return found
    # Of what is published nobody knows which query it is of.
    default = SETTINGS["translation"]["default"] or {"provider": "files"}
    if default["provider"] == "files":
        refuse(
            f"translation.default: queries from {pair} are translated anew; name a provider"
        )
    return default


def translated_by(wildcards):
    """The kind of provider of a pair: dictionary, files, marian or web."""
    name = provider(wildcards)["provider"]
    return name if name in ("dictionary", "files", "marian") else "web"


def dictionary(wildcards):
    """The bilingual dictionary of a pair, which has English on one side; the demo's has the words of its grammar."""
    if "en" not in (wildcards.source, wildcards.target):
        pair = f"{wildcards.source}-{wildcards.target}"
        refuse(
            f"translation: {pair}: the bilingual dictionaries have English on one side. "
            f"Choose another provider for this pair: translation.pairs.{pair}"
        )
    (other,) = {wildcards.source, wildcards.target} - {"en"}
    if SETTINGS["translation"]["dictionaries"]:
        path = os.path.join(SETTINGS["translation"]["dictionaries"], f"en-{other}.txt")
        if not os.path.exists(path) and not path.startswith("work/"):
            refuse(
                f"translation.dictionaries: {path}: not there; add it, or choose another provider"
            )
        return path
    if DATASETS[wildcards.dataset]["source"] == "demo":
        if Path(DEMO_WORDS.format(language=other)).exists():
            return DEMO_WORDS.format(language=other)
        if not Path(DEMO_GRAMMAR.format(language=other)).exists():
            refuse(
                f"translation: the demo has no dictionary of English and {other!r}. Set translation.dictionaries "
                f"to a folder with en-{other}.txt, or choose another provider for its pairs: translation.pairs"
            )
        return f"work/demo/dictionaries/en-{other}.txt"
    name = f"dl.fbaipublicfiles.com/arrival/dictionaries/en-{other}.txt"
    if name not in SOURCES:
        refuse(
            f"translation: workflow/sources.csv has no dictionary of English and {other!r}. Set "
            f"translation.dictionaries to a folder with en-{other}.txt, or choose another provider for its pairs"
        )
    return f"work/sources/{name}"


def translator_inputs(wildcards):
    """Files that a pair's translator itself reads, by name."""
    kind = translated_by(wildcards)
    if kind == "dictionary":
        own = wildcards.target in DATASETS[wildcards.dataset]["languages"]
        target = tokenised(wildcards, [wildcards.target]) if own else []
        return {"target": target, "dictionary": dictionary(wildcards)}
    if kind == "marian":
        folder = provider(wildcards)["model"].format(
            source=wildcards.source, target=wildcards.target
        )
        return {"model": files_of(folder)}
    return {}


def translator_settings(wildcards):
    """Arguments with the settings of a pair's machine translation; none for other providers."""
    if translated_by(wildcards) in ("dictionary", "files"):
        return []
    settings = {
        key: value for key, value in provider(wildcards).items() if key != "provider"
    }
    return [f"--settings={as_json(settings)}"]


INPUT_OPTIONS = {
    "captions": "--captions",
    "images": "--images",
    "sentences": "--sentences",
    "target": "--target-sentences",
    "dictionary": "--dictionaries",
}


def input_options(wildcards, input):
    """Arguments that name the files a pair is translated with.

    Apart from all others: Snakemake does not rerun for a param that is made of the input.
    """
    return [
        f"{option}={path}"
        for name, option in INPUT_OPTIONS.items()
        if name in input.keys()
        for path in ([input[name]] if isinstance(input[name], str) else input[name])
    ]


def translation_inputs(wildcards):
    """Files that the translation of a data set's captions reads, by name."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    if found := borrowed(wildcards):
        lender = f"work/{wildcards.scale}/{found['dataset']}"
        return {
            "captions": f"{lender}/captions/{wildcards.target}.csv",
            "images": f"{folder}/split.csv",
        }
    if translated_by(wildcards) == "files":
        return {"captions": f"{folder}/captions/{wildcards.target}.csv"}
    sentences = f"{folder}/tokens/{wildcards.source}.csv"
    return {"sentences": sentences, **translator_inputs(wildcards)}


def translation_options(wildcards):
    """Arguments of `translate` that belong to the provider of a pair."""
    if translated_by(wildcards) == "files":
        return [f"--origin={provider(wildcards)['origin']}"]
    origin = DATASETS[wildcards.dataset]["caption_origins"].get(
        wildcards.source, "human"
    )
    return [f"--source-origin={origin}", *translator_settings(wildcards)]


def translation_code(wildcards):
    """Digest of the code that translates a pair."""
    modules = parts.of_translation(translated_by(wildcards), bool(borrowed(wildcards)))
    return code.digest("translate", (*modules, *language_rows(wildcards)))


def language_rows(wildcards):
    """The rows of a pair's languages, for digests."""
    return [language_row(wildcards.source), language_row(wildcards.target)]


def translation_minutes(wildcards):
    """Time limit of a pair's translation: rate limits make it long."""
    return 60 if translated_by(wildcards) in ("dictionary", "files") else 1440


def translation_services(wildcards):
    """Web services that a pair's translation asks."""
    return 1 if translated_by(wildcards) == "web" else 0


def translation_gpu(wildcards):
    """GPUs that a pair's translation requests."""
    if translated_by(wildcards) != "marian":
        return 0
    device = provider(wildcards).get("device", "auto")
    return {"cpu": 0, "cuda": 1}.get(device, SETTINGS["gpu"])


def human_translations(wildcards):
    """Files with human translations, by name; none if a data set has none."""
    source = source_of(wildcards.dataset)
    if source.parallel_files:
        return {
            "task1": [
                f"work/sources/{name}"
                for name in SOURCES
                if re.search(source.parallel_files, name)
            ]
        }
    if source.human_translations:
        folder = f"work/{wildcards.scale}/{wildcards.dataset}/captions"
        pair = wildcards.source, wildcards.target
        return {"captions": [f"{folder}/{language}.csv" for language in pair]}
    return {}


def quality_inputs(wildcards):
    """Files that a pair's translation quality is measured with, by name."""
    people = human_translations(wildcards)
    return {**people, **translator_inputs(wildcards)} if people else {}


def quality_provider(wildcards):
    """The provider that is measured: none but the published where a data set has nothing to measure with."""
    people = human_translations(wildcards)
    return provider(wildcards)["provider"] if people else "files"


def quality_options(wildcards):
    """Arguments of `translation-quality` that belong to a data set and to a pair's translator."""
    if not human_translations(wildcards):
        return []
    task1 = "task1" in human_translations(wildcards)
    sources = ["--multi30k=work/sources"] if task1 else []
    return [*sources, *translator_settings(wildcards)]


def where_measured(of_pair, otherwise):
    """What a function says of a pair, without asking for its provider where there is nothing to measure with."""
    return lambda wildcards: (
        of_pair(wildcards) if human_translations(wildcards) else otherwise
    )


def measured_pairs(wildcards):
    """Measurements of all pairs between English and another language of a data set."""
    pairs = [
        (dataset, pair)
        for dataset, data in DATASETS.items()
        for language in data["languages"]
        if language != "en" and "en" in data["languages"]
        for pair in (f"en-{language}", f"{language}-en")
    ]
    demand_providers(
        [(name, pair) for name, pair in pairs if source_of(name).human_translations]
    )
    return [
        f"work/{SCALE}/{dataset}/translation-quality/{pair}.csv"
        for dataset, pair in pairs
    ]


# Queries of one language in another, neither English (CLC).


def query_tables(dataset, pairs):
    """Translated queries of a data set for some pairs, each with the caption that it translates."""
    folder = f"work/{SCALE}/{dataset}/translations"
    return [
        (
            f"{folder}/queries/{pair}.csv"
            if configuration.anew(SETTINGS, dataset, pair)
            else f"{folder}/{pair}.csv"
        )
        for pair in pairs
    ]


def query_step(wildcards):
    """What a translator of queries is asked for: their pair, or from English where they get there first.

    `before`: the pair that got them there, None for none.
    """
    pair = f"{wildcards.source}-{wildcards.target}"
    onward = configuration.via_english(SETTINGS, wildcards.dataset, pair)
    return SimpleNamespace(
        scale=SCALE,
        dataset=wildcards.dataset,
        source="en" if onward else wildcards.source,
        target=wildcards.target,
        before=f"{wildcards.source}-en" if onward else None,
    )


def query_inputs(wildcards):
    """Files that the translation of queries reads, by name."""
    step = query_step(wildcards)
    if not step.before:
        return translation_inputs(step)
    (sentences,) = query_tables(step.dataset, [step.before])
    return {"sentences": sentences, **translator_inputs(step)}


def query_options(wildcards):
    """Arguments of `translate` that belong to the provider of the queries' pair."""
    step = query_step(wildcards)
    if not step.before:
        splits = [] if translated_by(step) == "files" else ["--splits", "val", "test"]
        return [*translation_options(step), *splits]
    source, target = step.before.split("-")
    first = SimpleNamespace(**{**vars(step), "source": source, "target": target})
    return [
        f"--source-origin={provider(first)['provider']}",
        "--splits",
        "val",
        "test",
        *translator_settings(step),
    ]

# Vocabularies, word vectors and sentence vectors of an experiment.


def own_origin(wildcards):
    """Who wrote a language's own captions of a data set."""
    return DATASETS[wildcards.dataset]["own_origins"].get(wildcards.language, "human")


def fasttext_vectors(wildcards):
    """The published vectors of a language; a list that is empty where vectors are trained."""
    if SETTINGS["words"]["vectors"] == "train":
        return []
    name = FASTTEXT.format(language=wildcards.language)
    return published_vectors(name, "set words.vectors to train")


def vector_text(wildcards):
    """Published text that the vectors of a language are trained on as well, as an input list."""
    words = SETTINGS["words"]
    read = words["vectors"] == "train" and words["text"] == "multi30k"
    published = wildcards.language in CAPTION_FILES["multi30k"]
    return [f"work/{SCALE}/text/{wildcards.language}.csv"] if read and published else []


def muse_vectors(wildcards):
    """The published aligned vectors of a language."""
    return published_vectors(
        MUSE.format(language=wildcards.language), "set muse to align"
    )


def published_vectors(name, otherwise):
    """A file of published vectors as an input list, if there is one."""
    if name not in SOURCES:
        raise WorkflowError(
            f"workflow/sources.csv has no published vectors {name}. Add them to it, or {otherwise}."
        )
    return [f"work/sources/{name}"]


def translations_into(wildcards):
    """Translation tables that a language's training captions take in."""
    sources = configuration.translation_sources(
        DATASETS[wildcards.dataset]["languages"], wildcards.language, wildcards.captions
    )
    pairs = [f"{source}-{wildcards.language}" for source in sources]
    return translation_tables(wildcards.dataset, pairs)


def tokenised(wildcards, languages):
    """Tokenised captions of some languages of a data set."""
    return expand(
        "work/{scale}/{dataset}/tokens/{language}.csv",
        scale=wildcards.scale,
        dataset=wildcards.dataset,
        language=languages,
    )


# Files of word or sentence vectors, by the kind that an experiment names.
VECTORS = {
    "fasttext": "work/{scale}/{dataset}/words/{captions}/{language}.h5",
    "muse": "work/{scale}/{dataset}/words/{captions}/muse/{language}.h5",
    "bert": "work/{scale}/{dataset}/bert/{language}.h5",
}


def vocabularies(wildcards):
    """Vocabularies of an experiment's languages; of MUSE's, English is what the others are aligned to."""
    chosen = experiment(wildcards)
    kind = chosen.get("vectors", "fasttext")
    aligned = kind == "muse" and SETTINGS["muse"] == "align"
    return [
        VECTORS["fasttext" if aligned and language == "en" else kind].format(
            scale=wildcards.scale,
            dataset=wildcards.dataset,
            captions=chosen["captions"],
            language=language,
        )
        for language in chosen["languages"]
    ]


def english_dictionary(wildcards):
    """The bilingual dictionary of a language and English."""
    return dictionary(SimpleNamespace(source="en", target=wildcards.language))


def bert_folder(wildcards):
    """The folder of the BERT as an input list; empty where it is named as on the Hugging Face hub."""
    model = SETTINGS["bert"]["model"]
    if model == "pretrain":
        return [f"work/{wildcards.scale}/{wildcards.dataset}/bert/model"]
    return given(model if os.path.isdir(model) else None)

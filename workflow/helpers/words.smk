# Vocabularies, word vectors and sentence vectors of an experiment.


def caption_origin(wildcards):
    """Origin of a language's own captions in a data set, or the provider of all its translations."""
    translated = configuration.translated_origins(SETTINGS, wildcards.dataset)
    own = DATASETS[wildcards.dataset]["caption_origins"]
    return {**own, **translated}.get(wildcards.language, "human")


def word_settings(wildcards):
    """Settings of a language's word vectors: where Multi30K has no text they are trained on the captions."""
    without_text = wildcards.language not in source_named("multi30k").caption_files
    trained = SETTINGS["words"]["vectors"] == "multi30k" and without_text
    return configuration.word_settings(SETTINGS, "train" if trained else None)


def fasttext_vectors(wildcards):
    """The vectors of a language, as an input list: empty where it has translations alone to train them on."""
    source = word_settings(wildcards)["vectors"]
    if source == "train":
        dataset, language = wildcards.dataset, wildcards.language
        own = has_training_captions(dataset, language)
        return [f"work/{SCALE}/{dataset}/text/{language}.bin"] if own else []
    if source == "multi30k":
        return [f"work/{SCALE}/text/{wildcards.language}.bin"]
    name = FASTTEXT.format(language=wildcards.language)
    return published_vectors(name, "set words.vectors to train")


def has_training_captions(dataset, language):
    """Whether a language has captions to train on besides translations that an experiment adds.

    Captions in a bucket are not read for it: a language without any is refused by its job.
    """
    data = DATASETS[dataset]
    if data["source"] != "custom" or language not in data["languages"] or IN_BUCKET:
        return True  # a language that a data set has in translations alone is trained on these
    return own_coverage(dataset).counts[language]["train"] > 0


def muse_vectors(wildcards):
    """The published aligned vectors of a language."""
    return published_vectors(
        MUSE.format(language=wildcards.language), "set muse to align"
    )


def published_vectors(name, otherwise):
    """A file of published vectors as an input list, if there is one."""
    if name not in SOURCES:
        refuse(
            f"workflow/sources.csv has no published vectors {name}. Add them to it, or {otherwise}."
        )
    return [f"work/sources/{name}"]


def translations_into(wildcards):
    """Translation tables that a language's training captions take in."""
    own = DATASETS[wildcards.dataset]["languages"]
    if wildcards.language not in own:
        return []
    sources = configuration.translation_sources(
        own, wildcards.language, wildcards.captions
    )
    pairs = [f"{source}-{wildcards.language}" for source in sources]
    return added_tables(wildcards.dataset, pairs, wildcards.captions)


def tokenised(wildcards, languages):
    """Tokenised captions of some languages of a data set; a translated language's are its translations."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    own = DATASETS[wildcards.dataset]["languages"]
    return [
        f"{folder}/{f'tokens/{code}' if code in own else f'translations/en-{code}'}.csv"
        for code in languages
    ]


# Files of a smaller vocabulary.
REDUCED = "work/{scale}/{dataset}/words/{captions}/{reduction}/{language}.h5"


def to_english(wildcards):
    """What maps a language's words to English ones, by name; nothing for English and other reductions."""
    if wildcards.language == "en" or not wildcards.reduction.startswith("dictionary"):
        return {}
    english = VECTORS["fasttext"].format(**{**wildcards, "language": "en"})
    return {"english": english, "dictionary": english_dictionary(wildcards)}


# Files of word or sentence vectors, by the kind that an experiment names.
VECTORS = {
    "fasttext": "work/{scale}/{dataset}/words/{captions}/{language}.h5",
    "muse": "work/{scale}/{dataset}/words/{captions}/muse/{language}.h5",
    "characters": "work/{scale}/{dataset}/spelled/{captions}/{language}.h5",
    "bert": "work/{scale}/{dataset}/bert/{language}.h5",
}


def vocabularies(wildcards):
    """Vocabularies of an experiment's languages; of MUSE's, English is what the others are aligned to."""
    chosen = experiment(wildcards)
    kind = chosen.get("vectors", "fasttext")
    aligned = kind == "muse" and SETTINGS["muse"] == "align"
    if reduction := chosen.get("reduction"):
        whole = ["en"] if reduction.startswith("dictionary") else []
        return [
            (VECTORS["fasttext"] if language in whole else REDUCED).format(
                scale=wildcards.scale,
                dataset=wildcards.dataset,
                captions=chosen["captions"],
                reduction=reduction,
                language=language,
            )
            for language in chosen["languages"]
        ]
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
    return dictionary(
        SimpleNamespace(
            dataset=wildcards.dataset, source="en", target=wildcards.language
        )
    )


def bert_model(wildcards):
    """The folder of the BERT, or its name on the Hugging Face hub."""
    model = SETTINGS["bert"]["model"]
    pretrained = f"work/{wildcards.scale}/{wildcards.dataset}/bert/model"
    return pretrained if model == "pretrain" else model


def bert_files(wildcards):
    """What is read of the BERT: the folder that a rule makes, or the files of the user's; none from the hub."""
    model = bert_model(wildcards)
    if SETTINGS["bert"]["model"] == "pretrain":
        return [model]
    return files_of(model)

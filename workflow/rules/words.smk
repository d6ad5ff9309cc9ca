rule word_vectors:
    input:
        "work/{scale}/text/{language}.csv",
    output:
        "work/{scale}/text/{language}.bin",
    log:
        "work/logs/{scale}/word-vectors-{language}.log",
    benchmark:
        "work/logs/{scale}/word-vectors-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=0,
    params:
        settings=as_json(configuration.word_settings(SETTINGS)),
        code=code.digest("train-word-vectors"),
    message:
        "FastText vectors of {wildcards.language} from Multi30K's captions"
    shell:
        "python -m pipeline train-word-vectors --code {params.code} --sentences {input:q} --settings {params.settings:q} --output {output:q} "
        "> {log:q} 2>&1"


# Once for all experiments: rows of a table that differ in their translations begin with the same vectors.
rule own_word_vectors:
    input:
        lambda wildcards: tokenised(wildcards, [wildcards.language]),
    output:
        "work/{scale}/{dataset}/text/{language}.bin",
    log:
        "work/logs/{scale}/{dataset}/word-vectors-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/word-vectors-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=0,
    params:
        settings=lambda wildcards: as_json(word_settings(wildcards)),
        origin=caption_origin,
        code=code.digest("train-caption-vectors"),
    message:
        "FastText vectors of {wildcards.language} from the training captions of {wildcards.dataset}"
    shell:
        "python -m pipeline train-caption-vectors --code {params.code} --language {wildcards.language} --sentences {input:q} "
        "--caption-origin {params.origin:q} --settings {params.settings:q} --output {output:q} > {log:q} 2>&1"


rule words:
    input:
        sentences=lambda wildcards: tokenised(wildcards, [wildcards.language]),
        translations=translations_into,
        vectors=fasttext_vectors,
    output:
        "work/{scale}/{dataset}/words/{captions}/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/words-{captions}-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/words-{captions}-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=0,
    params:
        settings=lambda wildcards: as_json(word_settings(wildcards)),
        origin=caption_origin,
        vectors=lambda wildcards, input: [
            f"--vectors-file={path}" for path in input.vectors
        ],
        code=code.digest("build-vocabulary"),
    message:
        "Vocabulary and FastText vectors of {wildcards.dataset} in {wildcards.language} ({wildcards.captions})"
    shell:
        "python -m pipeline build-vocabulary --code {params.code} --language {wildcards.language} --captions {wildcards.captions} "
        "--sentences {input.sentences:q} --caption-origin {params.origin:q} --translations {input.translations:q} "
        "--settings {params.settings:q} {params.vectors:q} --output {output:q} > {log:q} 2>&1"


# Smaller vocabularies: words that are rare left out or read as English ones, or vectors of fewer numbers.
rule reduce_words:
    input:
        unpack(to_english),
        words="work/{scale}/{dataset}/words/{captions}/{language}.h5",
        sentences=lambda wildcards: tokenised(wildcards, [wildcards.language]),
        translations=translations_into,
    output:
        "work/{scale}/{dataset}/words/{captions}/{reduction}/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/words-{captions}-{reduction}-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/words-{captions}-{reduction}-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        origin=caption_origin,
        english=lambda wildcards, input: [
            f"--{option}={input[name]}"
            for name, option in (
                ("english", "english"),
                ("dictionary", "dictionaries"),
            )
            if name in input.keys()
        ],
        code=code.digest("reduce-vocabulary"),
    message:
        "Vocabulary of {wildcards.dataset} in {wildcards.language} ({wildcards.captions}, {wildcards.reduction})"
    shell:
        "python -m pipeline reduce-vocabulary --code {params.code} --language {wildcards.language} --captions {wildcards.captions} "
        "--reduction {wildcards.reduction} --words {input.words:q} --sentences {input.sentences:q} "
        "--caption-origin {params.origin:q} --translations {input.translations:q} {params.english:q} "
        "--output {output:q} > {log:q} 2>&1"


# The characters of a language's words, which LIWE reads in the place of word vectors.
rule spell:
    input:
        sentences=lambda wildcards: tokenised(wildcards, [wildcards.language]),
        translations=translations_into,
    output:
        "work/{scale}/{dataset}/spelled/{captions}/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/spell-{captions}-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/spell-{captions}-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        longest=SETTINGS["liwe"]["max_word_length"],
        origin=caption_origin,
        code=code.digest("encode-characters"),
    message:
        "Spelling the words of {wildcards.dataset} in {wildcards.language} ({wildcards.captions})"
    shell:
        "python -m pipeline encode-characters --code {params.code} --language {wildcards.language} --captions {wildcards.captions} "
        "--sentences {input.sentences:q} --caption-origin {params.origin:q} --translations {input.translations:q} "
        "--max-word-length {params.longest} --output {output:q} > {log:q} 2>&1"


# Word vectors that are aligned across languages: turned to English here, or published.
rule align:
    input:
        words="work/{scale}/{dataset}/words/{captions}/{language}.h5",
        english="work/{scale}/{dataset}/words/{captions}/en.h5",
        dictionary=english_dictionary,
    output:
        "work/{scale}/{dataset}/words/{captions}/muse/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/align-{captions}-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/align-{captions}-{language}.tsv"
    wildcard_constraints:
        dataset="|".join(DATASETS) if SETTINGS["muse"] == "align" else "(?!)",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        code=code.digest("align-vectors"),
    message:
        "Aligning the word vectors of {wildcards.dataset} in {wildcards.language} to English"
    shell:
        "python -m pipeline align-vectors --code {params.code} --words {input.words:q} --english {input.english:q} "
        "--dictionaries {input.dictionary:q} --output {output:q} > {log:q} 2>&1"


rule muse:
    input:
        sentences="work/{scale}/{dataset}/tokens/{language}.csv",
        translations=translations_into,
        vectors=muse_vectors,
    output:
        "work/{scale}/{dataset}/words/{captions}/muse/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/muse-{captions}-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/muse-{captions}-{language}.tsv"
    wildcard_constraints:
        dataset="|".join(DATASETS) if SETTINGS["muse"] == "file" else "(?!)",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=0,
    params:
        settings=as_json(configuration.word_settings(SETTINGS, "file")),
        origin=caption_origin,
        code=code.digest("build-vocabulary"),
    message:
        "Vocabulary and MUSE vectors of {wildcards.dataset} in {wildcards.language} ({wildcards.captions})"
    shell:
        "python -m pipeline build-vocabulary --code {params.code} --language {wildcards.language} --captions {wildcards.captions} "
        "--sentences {input.sentences:q} --caption-origin {params.origin:q} --translations {input.translations:q} "
        "--settings {params.settings:q} --vectors-file {input.vectors:q} --output {output:q} > {log:q} 2>&1"


rule pretrain_bert:
    input:
        lambda wildcards: tokenised(wildcards, DATASETS[wildcards.dataset]["languages"]),
    output:
        directory("work/{scale}/{dataset}/bert/model"),
    log:
        "work/logs/{scale}/{dataset}/pretrain-bert.log",
    benchmark:
        "work/logs/{scale}/{dataset}/pretrain-bert.tsv"
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=SETTINGS["gpu"],
    params:
        settings=lambda wildcards: as_json(
            configuration.bert_settings(SETTINGS, wildcards.dataset)
        ),
        code=code.digest("pretrain-bert"),
    message:
        "Pretraining a small multilingual BERT on the captions of {wildcards.dataset}"
    shell:
        "python -m pipeline pretrain-bert --code {params.code} --sentences {input:q} --settings {params.settings:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule sentence_vectors:
    input:
        sentences="work/{scale}/{dataset}/tokens/{language}.csv",
        bert=bert_files,
    output:
        "work/{scale}/{dataset}/bert/{language}.h5",
    log:
        "work/logs/{scale}/{dataset}/sentence-vectors-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/sentence-vectors-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(480),
        disk_mb=8000,
        gpu=SETTINGS["gpu"],
    params:
        model=bert_model,
        settings=as_json(configuration.sentence_vector_settings(SETTINGS)),
        partial="work/{scale}/partial/{dataset}-bert-{language}",
        code=code.digest("embed-captions"),
    message:
        "Sentence vectors of the captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline embed-captions --code {params.code} --language {wildcards.language} --sentences {input.sentences:q} "
        "--model {params.model:q} --settings {params.settings:q} --partial {params.partial:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"

rule train_word_vectors:
    input:
        paths.TEXT,
    output:
        paths.TEXT_VECTORS,
    params:
        settings=for_job(stage_settings.word_settings, vectors=None),
    shell:
        "python -m pipeline train-word-vectors --language {wildcards.language} --sentences {input:q} "
        "--settings {params.settings:q} --output {output:q} > {log:q} 2>&1"


# Once for all experiments: rows of a table that differ only in their translations start from the same vectors.
rule train_caption_vectors:
    input:
        for_job(words.sentences),
    output:
        paths.CAPTION_VECTORS,
    params:
        settings=for_job(words.word_settings, kind=""),
        origin=for_job(captions.caption_origin),
    shell:
        "python -m pipeline train-word-vectors --language {wildcards.language} --sentences {input:q} "
        "--caption-origin {params.origin:q} --settings {params.settings:q} --output {output:q} > {log:q} 2>&1"


rule build_vocabulary:
    input:
        sentences=for_job(words.sentences),
        translations=for_job(words.added_translations),
        vectors=for_job(words.word_vectors),
    output:
        paths.BUILT_WORDS,
    wildcard_constraints:
        kind="(muse/|spelled/)?" if SETTINGS.muse == "file" else "(spelled/)?",
    params:
        settings=for_job(words.word_settings),
        origin=for_job(captions.caption_origin),
    shell:
        "python -m pipeline build-vocabulary --language {wildcards.language} --captions {wildcards.captions} "
        "--sentences {input.sentences:q} --caption-origin {params.origin:q} --translations {input.translations:q} "
        "--settings {params.settings:q} --vectors-file {input.vectors:q} --output {output:q} > {log:q} 2>&1"


# Smaller vocabularies: rare words are left out or read as English ones, or vectors have fewer dimensions.
rule reduce_vocabulary:
    input:
        unpack(for_job(words.mapped_to_english)),
        words=paths.WORDS,
    output:
        paths.REDUCED_WORDS,
    shell:
        "python -m pipeline reduce-vocabulary --reduction {wildcards.reduction} --words {input.words:q} "
        "--english {input.english:q} --dictionaries {input.dictionary:q} --output {output:q} > {log:q} 2>&1"


# Word vectors that are aligned to the English space here, if the configuration does not take published ones.
rule align_vectors:
    input:
        words=paths.WORDS,
        english=expand(paths.WORDS, language="en", allow_missing=True),
        dictionary=for_job(words.english_dictionary),
    output:
        paths.ALIGNED_WORDS,
    wildcard_constraints:
        dataset=either(PLAN.datasets if SETTINGS.muse == "align" else []),
    shell:
        "python -m pipeline align-vectors --words {input.words:q} --english {input.english:q} "
        "--dictionaries {input.dictionary:q} --output {output:q} > {log:q} 2>&1"


rule pretrain_bert:
    input:
        for_job(captions.own_tokens),
    output:
        directory(paths.BERT),
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=4000, runtime=growing(60), gpu=SETTINGS.gpu),
    params:
        settings=for_job(stage_settings.bert_settings),
    shell:
        "python -m pipeline pretrain-bert --sentences {input:q} --settings {params.settings:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule embed_captions:
    input:
        sentences=paths.TOKENS,
        bert=for_job(words.bert_files),
    output:
        paths.SENTENCE_VECTORS,
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(480), disk_mb=8000, gpu=SETTINGS.gpu),
    params:
        model=for_job(words.bert_model),
        settings=for_job(stage_settings.sentence_vector_settings),
    shell:
        "python -m pipeline embed-captions --language {wildcards.language} --sentences {input.sentences:q} "
        "--model {params.model:q} --settings {params.settings:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"

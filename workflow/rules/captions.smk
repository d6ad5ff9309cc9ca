# The split does not depend on the configured languages, so that adding one extracts no feature again.
rule split:
    input:
        sources=for_job(captions.split_sources),
        requested=for_job(captions.requested_of_split),
        image_list=SETTINGS.images.list or [],
    output:
        paths.SPLIT,
    params:
        settings=for_job(captions.split_settings),
        requested=lambda w, input: input.requested[:1],
    shell:
        "python -m pipeline split --settings {params.settings:q} --image-list {input.image_list:q} "
        "--requested {params.requested:q} --output {output:q} > {log:q} 2>&1"


rule read_captions:
    input:
        split=paths.SPLIT,
        sources=for_job(captions.caption_sources),
        requested=for_job(captions.requested_of_captions),
    output:
        paths.CAPTIONS,
    params:
        settings=for_job(captions.caption_settings),
        requested=lambda w, input: input.requested[:1],
        captioned=for_job(captions.captioned_images),
    shell:
        "python -m pipeline read-captions --language {wildcards.language} "
        "--split {input.split:q} --settings {params.settings:q} --requested {params.requested:q} {params.captioned} "
        "--output {output:q} > {log:q} 2>&1"


rule tokenize:
    input:
        paths.CAPTIONS,
    output:
        paths.TOKENS,
    shell:
        "python -m pipeline tokenize --captions {input:q} --language {wildcards.language} --output {output:q} > {log:q} 2>&1"


# Text for word vectors: captions of no image that any data set of this scale validates or tests with.
rule collect_text:
    input:
        sources=for_job(captions.multi30k_text),
        splits=captions.all_splits(PLAN),
    output:
        paths.TEXT,
    shell:
        "python -m pipeline collect-text --language {wildcards.language} --sources work/sources "
        "--splits {input.splits:q} --output {output:q} > {log:q} 2>&1"

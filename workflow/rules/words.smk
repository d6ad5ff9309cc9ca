rule words:
    input:
        sentences="work/{scale}/{dataset}/tokens/{language}.csv",
        translations=lambda wildcards: translations_into(**wildcards),
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
        mem_mb=4000,
        runtime=60,
    params:
        settings=as_json(SETTINGS["words"]),
        origin=own_origin,
        vectors=lambda wildcards, input: [
            f"--vectors-file={path}" for path in input.vectors
        ],
        code=code.digest("words"),
    message:
        "Vocabulary and FastText vectors of {wildcards.dataset} in {wildcards.language} ({wildcards.captions})"
    shell:
        "python -m pipeline words --language {wildcards.language} --captions {wildcards.captions} "
        "--sentences {input.sentences:q} --own-origin {params.origin:q} --translations {input.translations:q} "
        "--settings {params.settings:q} {params.vectors:q} --output {output:q} > {log:q} 2>&1"

rule translate:
    input:
        unpack(translation_inputs),
    output:
        "work/{scale}/{dataset}/translations/{source}-{target}.csv",
    log:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        provider=lambda wildcards: provider(wildcards)["provider"],
        options=translation_options,
        code=code.digest("translate"),
    message:
        "Translating the captions of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline translate --source {wildcards.source} --target {wildcards.target} "
        "--provider {params.provider} {params.options:q} --output {output:q} > {log:q} 2>&1"


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

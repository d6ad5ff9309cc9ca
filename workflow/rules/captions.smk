rule captions:
    input:
        sources=published_captions,
        images=given(SETTINGS["images"]["list"]),
    output:
        "work/{scale}/{dataset}/captions.csv",
    log:
        "work/logs/{scale}/{dataset}/captions.log",
    benchmark:
        "work/logs/{scale}/{dataset}/captions.tsv"
    wildcard_constraints:
        dataset=datasets_from("multi30k", "flickr8kcn", "mscoco"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=lambda wildcards: DATASETS[wildcards.dataset]["source"],
        split="multi30k" if SCALE == "paper" else "flickr8k",
        images=(
            [f"--image-list={SETTINGS['images']['list']}"]
            if SETTINGS["images"]["list"]
            else []
        ),
        code=code.digest("captions"),
    message:
        "Reading the captions of {wildcards.dataset}"
    shell:
        "python -m pipeline captions --dataset {params.source} --split {params.split} "
        "--sources work/sources {params.images:q} --output {output:q} > {log:q} 2>&1"


rule tokenize:
    input:
        "work/{scale}/{dataset}/captions.csv",
    output:
        "work/{scale}/{dataset}/tokens/{language}.csv",
    log:
        "work/logs/{scale}/{dataset}/tokenize-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/tokenize-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code.digest("tokenize"),
    message:
        "Tokenising the captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline tokenize --captions {input:q} --language {wildcards.language} --output {output:q} "
        "> {log:q} 2>&1"

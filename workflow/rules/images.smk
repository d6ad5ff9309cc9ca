BROUGHT = SETTINGS["images"]["features"]


rule features:
    input:
        captions="work/{scale}/{dataset}/captions.csv",
        images=image_folder,
    output:
        "work/{scale}/{dataset}/features.h5",
    log:
        "work/logs/{scale}/{dataset}/features.log",
    benchmark:
        "work/logs/{scale}/{dataset}/features.tsv"
    wildcard_constraints:
        dataset="(?!)" if BROUGHT else "|".join(DATASETS),
    conda:
        "../../envs/pipeline.yaml"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=480,
        gpu=SETTINGS["gpu"],
    params:
        settings=as_json(configuration.extraction_settings(SETTINGS)),
        partial="work/{scale}/partial/{dataset}-features",
        code=code.digest("features"),
    message:
        "Extracting the image features of {wildcards.dataset}"
    shell:
        "python -m pipeline features --images {input.images:q} --captions {input.captions:q} "
        "--settings {params.settings:q} --partial {params.partial:q} --threads {threads} "
        "--output {output:q} > {log:q} 2>&1"


rule bring_features:
    input:
        captions="work/{scale}/{dataset}/captions.csv",
        features=given(BROUGHT),
    output:
        "work/{scale}/{dataset}/features.h5",
    log:
        "work/logs/{scale}/{dataset}/features.log",
    benchmark:
        "work/logs/{scale}/{dataset}/features.tsv"
    wildcard_constraints:
        dataset="|".join(DATASETS) if BROUGHT else "(?!)",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        settings=as_json(configuration.feature_settings(SETTINGS)),
        code=code.digest("features"),
    message:
        "Checking the ready-made image features of {wildcards.dataset}"
    shell:
        "python -m pipeline bring-features --features {input.features:q} --captions {input.captions:q} "
        "--settings {params.settings:q} --output {output:q} > {log:q} 2>&1"

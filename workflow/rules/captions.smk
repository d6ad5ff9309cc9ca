rule captions:
    input:
        sources=published_captions,
        lists=caption_lists,
    output:
        "work/{scale}/{dataset}/captions.csv",
    log:
        "work/logs/{scale}/{dataset}/captions.log",
    benchmark:
        "work/logs/{scale}/{dataset}/captions.tsv"
    wildcard_constraints:
        dataset=datasets_from("multi30k", "flickr8kcn", "own"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        source=lambda wildcards: DATASETS[wildcards.dataset]["source"],
        options=caption_options,
        code=caption_code,
    message:
        "Reading the captions of {wildcards.dataset}"
    shell:
        "python -m pipeline captions --dataset {params.source} {params.options:q} --output {output:q} > {log:q} 2>&1"


# The split that was drawn is an output, and can be given to another run as test_images and val_images.
rule captions_mscoco:
    input:
        sources=published_captions,
        coco_cn=coco_cn,
        lists=caption_lists,
    output:
        captions="work/{scale}/{dataset}/captions.csv",
        split="work/{scale}/{dataset}/split.csv",
    log:
        "work/logs/{scale}/{dataset}/captions.log",
    benchmark:
        "work/logs/{scale}/{dataset}/captions.tsv"
    wildcard_constraints:
        dataset=datasets_from("mscoco"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        options=caption_options,
        code=code.digest("captions-mscoco"),
    message:
        "Reading the captions of {wildcards.dataset} and drawing its test and validation images"
    shell:
        "python -m pipeline captions --dataset mscoco {params.options:q} --coco-cn {input.coco_cn:q} "
        "--split-output {output.split:q} --output {output.captions:q} > {log:q} 2>&1"


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
        mem_mb=growing(2000),
        runtime=30,
        disk_mb=1000,
        gpu=0,
    params:
        code=code.digest("tokenize"),
    message:
        "Tokenising the captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline tokenize --captions {input:q} --language {wildcards.language} --output {output:q} "
        "> {log:q} 2>&1"

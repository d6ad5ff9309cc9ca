# The split does not depend on the configured languages, so that adding one extracts no feature again.
rule split:
    input:
        sources=split_files,
        coco_cn=coco_cn_of_split,
        lists=split_lists,
    output:
        "work/{scale}/{dataset}/split.csv",
    log:
        "work/logs/{scale}/{dataset}/split.log",
    benchmark:
        "work/logs/{scale}/{dataset}/split.tsv"
    wildcard_constraints:
        dataset=datasets_read_by("read_split"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        options=split_options,
        coco_cn=coco_cn_option,
        code=lambda wildcards: reading_code("split", wildcards),
    message:
        "Splitting the images of {wildcards.dataset}"
    shell:
        "python -m pipeline split --code {params.code} {params.options:q} {params.coco_cn:q} "
        "--output {output:q} > {log:q} 2>&1"


rule captions:
    input:
        split="work/{scale}/{dataset}/split.csv",
        sources=caption_files,
        coco_cn=coco_cn_of_captions,
    output:
        "work/{scale}/{dataset}/captions/{language}.csv",
    log:
        "work/logs/{scale}/{dataset}/captions-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/captions-{language}.tsv"
    wildcard_constraints:
        dataset=datasets_read_by("read_captions"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        options=caption_options,
        coco_cn=coco_cn_option,
        code=lambda wildcards: reading_code("read-captions", wildcards),
    message:
        "Reading the captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline read-captions --code {params.code} --language {wildcards.language} "
        "--split {input.split:q} {params.options:q} {params.coco_cn:q} --output {output:q} > {log:q} 2>&1"


rule tokenize:
    input:
        "work/{scale}/{dataset}/captions/{language}.csv",
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
        code=lambda wildcards: code.digest(
            "tokenize", (language_row(wildcards.language),)
        ),
    message:
        "Tokenising the captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline tokenize --code {params.code} --captions {input:q} --language {wildcards.language} --output {output:q} "
        "> {log:q} 2>&1"


# Text for word vectors: captions of no image that any data set of this scale validates or tests with.
rule text:
    input:
        sources=lambda wildcards: [
            path
            for path in source_files("multi30k")
            if re.search(
                source_named("multi30k").caption_files[wildcards.language], path
            )
        ],
        splits=expand("work/{{scale}}/{dataset}/split.csv", dataset=DATASETS),
    output:
        "work/{scale}/text/{language}.csv",
    log:
        "work/logs/{scale}/text-{language}.log",
    benchmark:
        "work/logs/{scale}/text-{language}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=30,
        disk_mb=1000,
        gpu=0,
    params:
        code=lambda wildcards: code.digest(
            "collect-text", (language_row(wildcards.language),)
        ),
    message:
        "Published captions for word vectors in {wildcards.language}"
    shell:
        "python -m pipeline collect-text --code {params.code} --language {wildcards.language} --sources work/sources "
        "--splits {input.splits:q} --output {output:q} > {log:q} 2>&1"

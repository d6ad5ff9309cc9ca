rule download:
    output:
        "work/sources/{file}",
    log:
        "work/logs/download/{file}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, SOURCES)),
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    resources:  # whence a file comes is no reason to fetch it again
        connections=1,
        disk_mb=downloaded_megabytes,
        mirror=SETTINGS["sources"]["mirror"] or "",
    params:
        urls=lambda wildcards: SOURCES[wildcards.file]["url"].split(),
        sha256=lambda wildcards: SOURCES[wildcards.file]["sha256"],
        bytes=lambda wildcards: SOURCES[wildcards.file]["bytes"],
    message:
        "Downloading {wildcards.file}"
    shell:
        "python -m pipeline download --url {params.urls:q} --file {wildcards.file:q} --sha256 {params.sha256:q} "
        "--size={params.bytes} --mirror={resources.mirror:q} --lock workflow/sources.lock --output {output:q} > {log:q} 2>&1"


# Everything public that the configured data sets need; what must be asked for, the rules that read it tell.
rule downloads:
    input:
        public_files(),


rule prefetch_models:
    output:
        "work/{scale}/prefetched-models.txt",
    log:
        "work/logs/{scale}/prefetch-models.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        models=lambda wildcards: as_json(fetched_models()),
    message:
        "Downloading weights into the Hugging Face cache"
    shell:
        "python -m pipeline prefetch-models --models {params.models:q} --output {output:q} > {log:q} 2>&1"


# All that jobs would fetch, for compute nodes without network: published files, and weights of the hub.
rule prefetch:
    input:
        public_files(),
        f"work/{SCALE}/prefetched-models.txt",


rule unpack:
    input:
        archives,
    output:
        directory("work/photographs/{archive}"),
    log:
        "work/logs/photographs/{archive}.log",
    wildcard_constraints:
        archive="[^/]+",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=2000,
        runtime=240,
        disk_mb=20000,  # the largest archive, train2014.zip, has 13.5 GB
        gpu=0,
    message:
        "Unpacking the photographs of {wildcards.archive}"
    shell:
        "python -m pipeline unpack --archive {input:q} --output {output:q} > {log:q} 2>&1"


rule demo:
    input:
        DEMO_CONCEPTS,
        DEMO_DATASETS,
    output:
        split="work/{scale}/{dataset}/split.csv",
        images=directory("work/{scale}/{dataset}/images"),
    log:
        "work/logs/{scale}/{dataset}/demo.log",
    benchmark:
        "work/logs/{scale}/{dataset}/demo.tsv"
    wildcard_constraints:
        dataset=datasets_from("demo"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        scenes=SETTINGS["sources"]["scenes"],
        seed=SETTINGS["sources"]["seed"],
        code=code.digest("draw-demo"),
    message:
        "Drawing the demo's {wildcards.dataset}"
    shell:
        "python -m pipeline draw-demo --code {params.code} --dataset {wildcards.dataset} --seed {params.seed} --scenes {params.scenes} "
        "--images-out {output.images:q} --split {output.split:q} > {log:q} 2>&1"


rule demo_captions:
    input:
        DEMO_CONCEPTS,
        DEMO_DATASETS,
        DEMO_GRAMMAR,
    output:
        "work/{scale}/{dataset}/captions/{language}.csv",
    log:
        "work/logs/{scale}/{dataset}/captions-{language}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/captions-{language}.tsv"
    wildcard_constraints:
        dataset=datasets_from("demo"),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
        disk_mb=100,
        gpu=0,
    params:
        scenes=SETTINGS["sources"]["scenes"],
        seed=SETTINGS["sources"]["seed"],
        code=code.digest("write-demo-captions"),
    message:
        "Writing the demo's captions of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline write-demo-captions --code {params.code} --dataset {wildcards.dataset} --language {wildcards.language} "
        "--seed {params.seed} --scenes {params.scenes} --output {output:q} > {log:q} 2>&1"


rule demo_dictionary:
    input:
        DEMO_CONCEPTS,
        DEMO_GRAMMAR.format(language="en"),
        DEMO_GRAMMAR,
    output:
        "work/demo/dictionaries/en-{language}.txt",
    log:
        "work/logs/demo/dictionary-{language}.log",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
        disk_mb=100,
        gpu=0,
    params:
        code=code.digest("write-demo-dictionary"),
    message:
        "Writing the demo's bilingual dictionary of English and {wildcards.language}"
    shell:
        "python -m pipeline write-demo-dictionary --code {params.code} --language {wildcards.language} --output {output:q} > {log:q} 2>&1"

rule download:
    output:
        "work/sources/{file}",
    log:
        "work/logs/download/{file}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, SOURCES)),
    retries: 2
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        url=lambda wildcards: SOURCES[wildcards.file]["url"],
        sha256=lambda wildcards: SOURCES[wildcards.file]["sha256"],
        mirror=(
            [f"--mirror={SETTINGS['sources']['mirror']}"]
            if SETTINGS["sources"]["mirror"]
            else []
        ),
    message:
        "Downloading {wildcards.file}"
    shell:
        "python -m pipeline download --url {params.url:q} --sha256 {params.sha256:q} {params.mirror:q} "
        "--output {output:q} > {log:q} 2>&1"


rule demo:
    output:
        captions="work/{scale}/{dataset}/captions.csv",
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
    params:
        scenes=SETTINGS["sources"]["scenes"],
        seed=SETTINGS["sources"]["seed"],
        code=code.digest("demo"),
    message:
        "Drawing the demo's {wildcards.dataset} and writing its captions"
    shell:
        "python -m pipeline demo --dataset {wildcards.dataset} --seed {params.seed} --scenes {params.scenes} "
        "--images-out {output.images:q} --captions {output.captions:q} > {log:q} 2>&1"


rule demo_dictionaries:
    output:
        expand(
            "work/demo/dictionaries/en-{language}.txt",
            language=sorted(
                {code for data in DATASETS.values() for code in data["languages"]}
                - {"en"}
            ),
        ),
    log:
        "work/logs/demo/dictionaries.log",
    conda:
        "../../envs/pipeline.yaml"
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        code=code.digest("demo"),
    message:
        "Writing the demo's bilingual dictionaries"
    shell:
        "python -m pipeline demo-dictionaries --output {params.folder:q} > {log:q} 2>&1"


rule photographs:
    input:
        source_files("flickr8k-photographs"),
    output:
        directory("work/photographs/flickr8k"),
    log:
        "work/logs/photographs.log",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        runtime=30,
    message:
        "Unpacking the photographs of Flickr8k"
    shell:
        "python -m pipeline photographs --archive {input:q} --output {output:q} > {log:q} 2>&1"

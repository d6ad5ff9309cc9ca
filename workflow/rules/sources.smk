rule download:
    output:
        paths.SOURCE_FILE,
    wildcard_constraints:
        file=either(PLAN.sources),
    localrule: True
    resources:  # a change of the address does not fetch the file again
        connections=1,
        disk_mb=for_job(sources.download_megabytes),
        mirror=SETTINGS.sources.mirror or "",
    params:
        lock=paths.own("workflow/sources.lock"),
        urls=lambda w: PLAN.sources[w.file]["url"].split(),
        sha256=lambda w: PLAN.sources[w.file]["sha256"],
        bytes=lambda w: PLAN.sources[w.file]["bytes"],
    shell:
        "python -m pipeline download --url {params.urls:q} --file {wildcards.file:q} --sha256 {params.sha256:q} "
        "--size {params.bytes} --mirror={resources.mirror:q} --lock {params.lock:q} --output {output:q} > {log:q} 2>&1"


# The rules that read data on request say how to ask for them.
rule downloads:
    """Download everything public that the configured data sets need"""
    input:
        sources.public_files(PLAN),


rule prefetch_models:
    output:
        paths.PREFETCHED_MODELS,
    localrule: True
    params:
        models=for_job(sources.prefetched_models),
    shell:
        "python -m pipeline prefetch-models --models {params.models:q} --output {output:q} > {log:q} 2>&1"


rule prefetch:
    """Download all that jobs would fetch, published files and weights, for nodes without a network"""
    input:
        sources.public_files(PLAN),
        PLAN.path(paths.PREFETCHED_MODELS),


rule check_node:
    output:
        "work/cluster-check.txt",
    resources:
        **needs(mem_mb=4000, runtime=10, gpu=SETTINGS.gpu),
    shell:
        "python -m pipeline check-node --gpu {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule cluster_check:
    """try a job's queue, GPU, disk and locks, in a minute, and print what was found"""
    input:
        "work/cluster-check.txt",
    log:
        "work/logs/cluster-check.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    shell:
        "tee {log:q} < {input:q} && rm {input:q}"  # so that each call tries again


rule unpack:
    input:
        for_job(sources.archives),
    output:
        directory(paths.PHOTOGRAPHS),
    wildcard_constraints:
        archive="[^/]+",
    resources:
        # The largest archive, train2014.zip, has 13.5 GB.
        **needs(mem_mb=2000, runtime=240, disk_mb=20000),
    shell:
        "python -m pipeline unpack --archive {input:q} --output {output:q} > {log:q} 2>&1"


rule draw_demo:
    input:
        paths.DEMO_CONCEPTS,
        paths.DEMO_DATASETS,
    output:
        directory(paths.DEMO_IMAGES),
    params:
        scenes=SETTINGS.sources.scenes,
        seed=SETTINGS.sources.seed,
    shell:
        "python -m pipeline draw-demo --dataset {wildcards.dataset} --seed {params.seed} --scenes {params.scenes} "
        "--output {output:q} > {log:q} 2>&1"

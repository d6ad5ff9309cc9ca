# Batch size, workers and the like do not change features: they are in `resources`, not in `params`, so that
# changing them reruns nothing. Nor does another number of shards, see `feature_shards` in workflow/helpers/images.smk.


rule find_images:
    input:
        split="work/{scale}/{dataset}/split.csv",
        images=image_folder,
    output:
        "work/{scale}/{dataset}/images.csv",
    log:
        "work/logs/{scale}/{dataset}/find-images.log",
    benchmark:
        "work/logs/{scale}/{dataset}/find-images.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=30,
        disk_mb=1000,
        gpu=0,
    params:
        hint=ask_for_images,
        names=flickr_names,
        code=code.digest("find-images"),
    message:
        "Locating the images of {wildcards.dataset}"
    shell:
        "python -m pipeline find-images --code {params.code} --images {input.images:q} --split {input.split:q} {params.hint:q} {params.names} "
        "--output {output:q} > {log:q} 2>&1"


rule extract_features:
    input:
        "work/{scale}/{dataset}/images.csv",
    output:
        store=temp("work/{scale}/{dataset}/shards{set}/{shard}-of-{shards}.h5"),
        failed=temp("work/{scale}/{dataset}/shards{set}/{shard}-of-{shards}.csv"),
    log:
        "work/logs/{scale}/{dataset}/features{set}-{shard}-of-{shards}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/features{set}-{shard}-of-{shards}.tsv"
    wildcard_constraints:
        set=sets_that_are(imported=False),
        shard=r"\d+",
        shards=r"\d+",
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["images"]["workers"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(480),
        disk_mb=4000,
        gpu=SETTINGS["gpu"],
        options=SETTINGS.images.extraction_options(),
    params:
        settings=feature_set_settings,
        partial="work/{scale}/partial/{dataset}-features{set}-{shard}-of-{shards}.h5",
        earlier="work/{scale}/partial/{dataset}-features{set}.h5",
        photographs=photographs,
        code=code.digest("extract-features"),
    message:
        "Extracting features{wildcards.set} of the images of {wildcards.dataset}, shard {wildcards.shard} of {wildcards.shards}"
    shell:
        "exec python -m pipeline extract-features --code {params.code} --images {input:q} --settings {params.settings:q} --partial {params.partial:q} "
        "--reuse-from {params.earlier:q} --shard {wildcards.shard}/{wildcards.shards} --gpus {resources.gpu} {resources.options} "
        "--failed {output.failed:q} --output {output.store:q} > {log:q} 2>&1"


rule features:
    input:
        images="work/{scale}/{dataset}/images.csv",
        weights=lambda wildcards: FEATURE_SETS[wildcards.set]["weights"],
        shards=feature_shards,
        failed=lambda wildcards: [
            path[:-2] + "csv" for path in feature_shards(wildcards)
        ],
    output:
        store="work/{scale}/{dataset}/features{set}.h5",
        failed="work/{scale}/{dataset}/failed{set}.csv",
        made="work/{scale}/{dataset}/shards{set}.txt",
    log:
        "work/logs/{scale}/{dataset}/features{set}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/features{set}.tsv"
    wildcard_constraints:
        set=sets_that_are(imported=False),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=60,
        disk_mb=4000,
        gpu=0,
        options=f"--max-failed-fraction {SETTINGS['images']['max_failed_fraction']}",
    params:
        settings=feature_set_settings,
        keep="work/{scale}/partial/{dataset}-features{set}.h5",
        extraction=code.digest("extract-features"),
        photographs=photographs,
        code=code.digest("merge-features"),
    message:
        "Merging the features{wildcards.set} of {wildcards.dataset}"
    shell:
        "python -m pipeline merge-features --code {params.code} --shards {input.shards:q} --failed {input.failed:q} "
        "--images {input.images:q} {resources.options} --output {output.store:q} "
        "--failed-output {output.failed:q} --hard-link {params.keep:q} > {log:q} 2>&1 && "
        "printf '%s\\n' {params.settings:q} {params.extraction:q} {input.shards:q} > {output.made:q}"


rule import_features:
    input:
        split="work/{scale}/{dataset}/split.csv",
        features=lambda wildcards: FEATURE_SETS[wildcards.set]["imported"],
    output:
        "work/{scale}/{dataset}/features{set}.h5",
    log:
        "work/logs/{scale}/{dataset}/features{set}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/features{set}.tsv"
    wildcard_constraints:
        set=sets_that_are(imported=True),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=30,
        disk_mb=4000,
        gpu=0,
    params:
        settings=feature_set_settings,
        code=code.digest("import-features"),
    message:
        "Importing the precomputed features{wildcards.set} of {wildcards.dataset}"
    shell:
        "python -m pipeline import-features --code {params.code} --features {input.features:q} --split {input.split:q} "
        "--settings {params.settings:q} --output {output:q} > {log:q} 2>&1"

# Batch size, workers and the like do not change features: they are in `resources`, not in `params`, so that
# changing them reruns nothing. Nor does another number of shards, see `shards` in pipeline/plan/images.py.
# The wildcard `suffix` is empty for the main feature set, `-vgg` for the set vgg.


rule find_images:
    input:
        split=DATA.split,
        images=for_job(sources.image_folders),
    output:
        DATA.images,
    log:
        "work/logs/{scale}/{dataset}/find-images.log",
    benchmark:
        "work/logs/{scale}/{dataset}/find-images.tsv"
    resources:
        **needs(mem_mb=2000, runtime=30),
    params:
        hint=for_job(sources.missing_hint),
        names=for_job(images.flickr_names),
    message:
        "Locating the images of {wildcards.dataset}"
    shell:
        "python -m pipeline find-images --images {input.images:q} --split {input.split:q} {params.hint:q} {params.names} "
        "--output {output:q} > {log:q} 2>&1"


rule extract_features:
    input:
        DATA.images,
    output:
        store=temp(DATA.shard("{suffix}", "{shard}", "{shards}")),
        failed=temp(DATA.failed_of_shard("{suffix}", "{shard}", "{shards}")),
    log:
        "work/logs/{scale}/{dataset}/extract-features{suffix}-{shard}-of-{shards}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/extract-features{suffix}-{shard}-of-{shards}.tsv"
    wildcard_constraints:
        suffix=images.extracted_sets(PLAN),
        shard=r"\d+",
        shards=r"\d+",
    threads: SETTINGS.images.workers
    resources:
        **needs(mem_mb=8000, runtime=growing(480), disk_mb=4000, gpu=SETTINGS.gpu),
        options=SETTINGS.images.extraction_options(),
    params:
        settings=for_job(images.feature_settings),
        partial=SCALED.partial("{dataset}-features{suffix}-{shard}-of-{shards}.h5"),
        earlier=SCALED.partial("{dataset}-features{suffix}.h5"),
        photographs=for_job(images.photographs),
    message:
        "Extracting features{wildcards.suffix} of the images of {wildcards.dataset}, shard {wildcards.shard} of {wildcards.shards}"
    shell:
        "exec python -m pipeline extract-features --code {params.code} --images {input:q} --settings {params.settings:q} --partial {params.partial:q} "
        "--reuse-from {params.earlier:q} --shard {wildcards.shard}/{wildcards.shards} --gpus {resources.gpu} {resources.options} "
        "--failed {output.failed:q} --output {output.store:q} > {log:q} 2>&1"


rule merge_features:
    input:
        images=DATA.images,
        weights=for_job(images.weights_file),
        shards=for_job(images.shards),
        failed=for_job(images.failed_of_shards),
    output:
        store=DATA.features("{suffix}"),
        failed=DATA.failed_images("{suffix}"),
        made=DATA.shard_list("{suffix}"),
    log:
        "work/logs/{scale}/{dataset}/merge-features{suffix}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/merge-features{suffix}.tsv"
    wildcard_constraints:
        suffix=images.extracted_sets(PLAN),
    resources:
        **needs(mem_mb=4000, runtime=60, disk_mb=4000),
        options=f"--max-failed-fraction {SETTINGS.images.max_failed_fraction}",
    params:
        settings=for_job(images.feature_settings),
        keep=SCALED.partial("{dataset}-features{suffix}.h5"),
        extraction=code.digest("extract-features"),
        photographs=for_job(images.photographs),
    message:
        "Merging the features{wildcards.suffix} of {wildcards.dataset}"
    shell:
        "python -m pipeline merge-features --shards {input.shards:q} --failed {input.failed:q} "
        "--images {input.images:q} {resources.options} --output {output.store:q} "
        "--failed-output {output.failed:q} --hard-link {params.keep:q} > {log:q} 2>&1 && "
        "printf '%s\\n' {params.settings:q} {params.extraction:q} {input.shards:q} > {output.made:q}"


rule import_features:
    input:
        split=DATA.split,
        features=for_job(images.imported_features),
    output:
        DATA.features("{suffix}"),
    log:
        "work/logs/{scale}/{dataset}/import-features{suffix}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/import-features{suffix}.tsv"
    wildcard_constraints:
        suffix=images.imported_sets(PLAN),
    resources:
        **needs(mem_mb=4000, runtime=30, disk_mb=4000),
    params:
        settings=for_job(images.feature_settings),
    message:
        "Importing the precomputed features{wildcards.suffix} of {wildcards.dataset}"
    shell:
        "python -m pipeline import-features --features {input.features:q} --split {input.split:q} "
        "--settings {params.settings:q} --output {output:q} > {log:q} 2>&1"

# Batch size, workers and the like do not change features: they are in `resources`, not in `params`, so that
# changing them reruns nothing. The wildcard `suffix` is empty for the main feature set, `-vgg` for the set vgg.


rule find_images:
    input:
        split=paths.SPLIT,
        unpacked=for_job(sources.unpacked_folders),
        # The time of a folder of the user's says little: it is another one in a copy of the project, and the same if a
        # folder in it has a new photograph.
        own=ancient(for_job(sources.own_folders)),
    output:
        paths.IMAGES,
    params:
        files=for_job(sources.photographs_in_own_folders),
        hint=for_job(sources.missing_hint),
        names=for_job(images.flickr_names),
    shell:
        "python -m pipeline find-images --images {input.unpacked:q} {input.own:q} --split {input.split:q} --missing-hint {params.hint:q} {params.names} "
        "--output {output:q} > {log:q} 2>&1"


rule extract_shard:
    """Extract one part of a data set's features into the cache, if several jobs share them (images.shards)"""
    input:
        images=paths.IMAGES,
    output:
        temp(paths.SHARD),
    wildcard_constraints:
        suffix=images.suffixes(PLAN, imported=False),
        shard=r"\d+-of-\d+",
    threads: SETTINGS.images.workers
    resources:
        **needs(mem_mb=8000, runtime=growing(480), disk_mb=4000, gpu=SETTINGS.gpu),
        options=SETTINGS.images.extraction_options(),
    params:
        settings=for_job(images.feature_settings),
        cache=paths.FEATURE_CACHE,
        photographs=for_job(images.photographs),
    shell:
        "exec python -m pipeline extract-features --code {params.code} --images {input.images:q} --settings {params.settings:q} "
        "--cache {params.cache:q} --gpus {resources.gpu} {resources.options} --shard {wildcards.shard} --output {output:q} > {log:q} 2>&1"


rule extract_features:
    input:
        images=paths.IMAGES,
        weights=for_job(images.weights_file),
        shards=for_job(images.shards),
    output:
        store=paths.FEATURES,
        failed=paths.FAILED_IMAGES,
    wildcard_constraints:
        suffix=images.suffixes(PLAN, imported=False),
    threads: SETTINGS.images.workers
    resources:
        **needs(mem_mb=8000, runtime=growing(480), disk_mb=4000, gpu=SETTINGS.gpu),
        options=SETTINGS.images.extraction_options(),
    params:
        settings=for_job(images.feature_settings),
        cache=paths.FEATURE_CACHE,
        photographs=for_job(images.photographs),
    shell:
        "exec python -m pipeline extract-features --code {params.code} --images {input.images:q} --settings {params.settings:q} "
        "--cache {params.cache:q} --gpus {resources.gpu} {resources.options} --failed {output.failed:q} "
        "--output {output.store:q} > {log:q} 2>&1"


rule import_features:
    input:
        split=paths.SPLIT,
        features=for_job(images.imported_features),
    output:
        paths.FEATURES,
    wildcard_constraints:
        suffix=images.suffixes(PLAN, imported=True),
    resources:
        **needs(mem_mb=4000, runtime=30, disk_mb=4000),
    params:
        settings=for_job(images.feature_settings),
    shell:
        "python -m pipeline import-features --features {input.features:q} --split {input.split:q} "
        "--settings {params.settings:q} --output {output:q} > {log:q} 2>&1"

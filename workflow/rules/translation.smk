# The cache's path and the rate limits are resources: neither changes a translation, and a changed resource, unlike a
# changed param, reruns nothing.
rule translate:
    input:
        unpack(for_job(translation.of_captions, "inputs")),
    output:
        table=DATA.translations("{source}-{target}"),
        report=DATA.translation_report("{source}-{target}"),
    log:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.tsv"
    resources:
        **needs(
            mem_mb=4000,
            runtime=for_job(translation.of_captions, "minutes"),
            disk_mb=2000,
            gpu=for_job(translation.of_captions, "gpus"),
        ),
        translations=for_job(translation.of_captions, "services"),
        cache=SETTINGS.translation.cache,
        limits=SETTINGS.translation.limits.as_json(),
    params:
        provider=for_job(translation.of_captions, "provider"),
        options=for_job(translation.of_captions, "options"),
        files=lambda w, input: translation.input_options(input),
        code=for_job(translation.of_captions, "code"),
    message:
        "Translating the captions of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline translate --source {wildcards.source} --target {wildcards.target} "
        "--provider {params.provider} {params.options:q} {params.files:q} --cache {resources.cache:q} "
        "--limits {resources.limits:q} --gpus {resources.gpu} --report {output.report:q} --output {output.table:q} > {log:q} 2>&1"


rule translate_queries:
    """translate validation and test captions between two languages, as queries only"""
    input:
        unpack(for_job(translation.of_queries, "inputs")),
    output:
        table=DATA.queries("{source}-{target}"),
        report=DATA.query_report("{source}-{target}"),
    log:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.tsv"
    resources:
        **needs(
            mem_mb=4000,
            runtime=for_job(translation.of_queries, "minutes"),
            disk_mb=2000,
            gpu=for_job(translation.of_queries, "gpus"),
        ),
        translations=for_job(translation.of_queries, "services"),
        cache=SETTINGS.translation.cache,
        limits=SETTINGS.translation.limits.as_json(),
    params:
        source=for_job(translation.of_queries, "source"),
        provider=for_job(translation.of_queries, "provider"),
        options=for_job(translation.of_queries, "options"),
        files=lambda w, input: translation.input_options(input),
        code=for_job(translation.of_queries, "code"),
    message:
        "Translating the queries of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline translate --source {params.source} --target {wildcards.target} "
        "--provider {params.provider} {params.options:q} {params.files:q} --cache {resources.cache:q} "
        "--limits {resources.limits:q} --gpus {resources.gpu} --report {output.report:q} --output {output.table:q} > {log:q} 2>&1"


# The translations from English that give each training image five sentences in a language (SMALR).
rule augment:
    input:
        sentences=DATA.tokens("{target}"),
        translations=DATA.translations("en-{target}"),
    output:
        DATA.augmentation("en-{target}"),
    log:
        "work/logs/{scale}/{dataset}/augment-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/augment-{target}.tsv"
    resources:
        **needs(mem_mb=4000, runtime=10),
    params:
        origin=lambda w: captions.caption_origin(PLAN, w.dataset, w.target),
    message:
        "Selecting translations that augment the captions of {wildcards.dataset} in {wildcards.target}"
    shell:
        "python -m pipeline augment --sentences {input.sentences:q} --caption-origin {params.origin:q} "
        "--translations {input.translations:q} --output {output:q} > {log:q} 2>&1"


rule measure_translation_quality:
    input:
        unpack(for_job(translation.of_quality, "inputs")),
    output:
        DATA.translation_quality("{source}-{target}"),
    log:
        "work/logs/{scale}/{dataset}/measure-translation-quality-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/measure-translation-quality-{source}-{target}.tsv"
    resources:
        **needs(
            mem_mb=4000,
            runtime=for_job(translation.of_quality, "minutes"),
            disk_mb=2000,
            gpu=for_job(translation.of_quality, "gpus"),
        ),
        translations=for_job(translation.of_quality, "services"),
        cache=SETTINGS.translation.cache,
        limits=SETTINGS.translation.limits.as_json(),
    params:
        provider=for_job(translation.of_quality, "provider"),
        options=for_job(translation.of_quality, "options"),
        files=lambda w, input: translation.input_options(input),
        code=for_job(translation.of_quality, "code"),
    message:
        "Measuring the quality of translations of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline measure-translation-quality --source {wildcards.source} --target {wildcards.target} "
        "--scale {wildcards.scale} --dataset {wildcards.dataset} --provider {params.provider} "
        "{params.options:q} {params.files:q} --cache {resources.cache:q} --limits {resources.limits:q} --gpus {resources.gpu} "
        "--output {output:q} > {log:q} 2>&1"


rule tabulate_translation_quality:
    input:
        for_job(translation.measured_pairs),
    output:
        RESULTS.in_work("translation-quality.csv"),
    log:
        "work/logs/tables/translation-quality.log",
    localrule: True
    message:
        "Writing {output}"
    shell:
        "python -m pipeline tabulate-translation-quality --parts {input:q} --output {output:q} > {log:q} 2>&1"

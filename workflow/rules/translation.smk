# The cache's path and the rate limits are resources: neither changes a translation, and a changed resource, unlike a
# changed param, reruns nothing.
rule translate:
    input:
        unpack(translation_inputs),
    output:
        table="work/{scale}/{dataset}/translations/{source}-{target}.csv",
        report="work/{scale}/{dataset}/translations/{source}-{target}.json",
    log:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=translation_minutes,
        disk_mb=2000,
        gpu=translation_gpu,
        translations=translation_services,
        cache=TRANSLATION_CACHE,
        limits=TRANSLATION_LIMITS,
    params:
        provider=lambda wildcards: provider(wildcards)["provider"],
        options=translation_options,
        files=input_options,
        code=translation_code,
    message:
        "Translating the captions of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline translate --code {params.code} --source {wildcards.source} --target {wildcards.target} "
        "--provider {params.provider} {params.options:q} {params.files:q} --cache {resources.cache:q} "
        "--limits {resources.limits:q} --gpus {resources.gpu} --report {output.report:q} --output {output.table:q} > {log:q} 2>&1"


# Validation and test captions between two languages that are not English: queries alone, nothing is trained on them.
rule translate_queries:
    input:
        unpack(query_inputs),
    output:
        table="work/{scale}/{dataset}/translations/queries/{source}-{target}.csv",
        report="work/{scale}/{dataset}/translations/queries/{source}-{target}.json",
    log:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=lambda wildcards: translation_minutes(query_step(wildcards)),
        disk_mb=2000,
        gpu=lambda wildcards: translation_gpu(query_step(wildcards)),
        translations=lambda wildcards: translation_services(query_step(wildcards)),
        cache=TRANSLATION_CACHE,
        limits=TRANSLATION_LIMITS,
    params:
        source=lambda wildcards: query_step(wildcards).source,
        provider=lambda wildcards: provider(query_step(wildcards))["provider"],
        options=query_options,
        files=input_options,
        code=lambda wildcards: translation_code(query_step(wildcards)),
    message:
        "Translating the queries of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline translate --code {params.code} --source {params.source} --target {wildcards.target} "
        "--provider {params.provider} {params.options:q} {params.files:q} --cache {resources.cache:q} "
        "--limits {resources.limits:q} --gpus {resources.gpu} --report {output.report:q} --output {output.table:q} > {log:q} 2>&1"


# Of a language's translations from English those that give each training image five sentences (SMALR).
rule augment:
    input:
        sentences="work/{scale}/{dataset}/tokens/{target}.csv",
        translations="work/{scale}/{dataset}/translations/en-{target}.csv",
    output:
        "work/{scale}/{dataset}/augmented/en-{target}.csv",
    log:
        "work/logs/{scale}/{dataset}/augment-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/augment-{target}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        origin=lambda wildcards: DATASETS[wildcards.dataset]["caption_origins"].get(
            wildcards.target, "human"
        ),
        code=code.digest("augment"),
    message:
        "Selecting translations that augment the captions of {wildcards.dataset} in {wildcards.target}"
    shell:
        "python -m pipeline augment --code {params.code} --sentences {input.sentences:q} --caption-origin {params.origin:q} "
        "--translations {input.translations:q} --output {output:q} > {log:q} 2>&1"


rule translation_quality:
    input:
        unpack(quality_inputs),
    output:
        "work/{scale}/{dataset}/translation-quality/{source}-{target}.csv",
    log:
        "work/logs/{scale}/{dataset}/translation-quality-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translation-quality-{source}-{target}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=where_measured(translation_minutes, 60),
        disk_mb=2000,
        gpu=where_measured(translation_gpu, 0),
        translations=where_measured(translation_services, 0),
        cache=TRANSLATION_CACHE,
        limits=TRANSLATION_LIMITS,
    params:
        provider=quality_provider,
        options=quality_options,
        files=input_options,
        code=lambda wildcards: code.digest(
            "measure-translation-quality",
            (
                *parts.of_translation(quality_provider(wildcards)),
                *language_rows(wildcards),
            ),
        ),
    message:
        "Measuring the quality of translations of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline measure-translation-quality --code {params.code} --source {wildcards.source} --target {wildcards.target} "
        "--scale {wildcards.scale} --dataset {wildcards.dataset} --provider {params.provider} "
        "{params.options:q} {params.files:q} --cache {resources.cache:q} --limits {resources.limits:q} --gpus {resources.gpu} "
        "--output {output:q} > {log:q} 2>&1"


rule translation_quality_table:
    input:
        measured_pairs,
    output:
        f"{FINISHED}/translation-quality.csv",
    log:
        "work/logs/tables/translation-quality.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        code=code.digest("tabulate-translation-quality"),
    message:
        "Writing {output}"
    shell:
        "python -m pipeline tabulate-translation-quality --code {params.code} --parts {input:q} --output {output:q} > {log:q} 2>&1"

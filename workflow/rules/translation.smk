TRANSLATE = (
    "python -m pipeline translate --source {params.source} --target {wildcards.target} "
    "{params.options:q} {params.files:q} --cache {resources.cache:q} "
    "--requests-per-second {resources.rate} --gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"
)


rule translate:
    input:
        unpack(for_job(translation.of_captions, "inputs")),
    output:
        paths.TRANSLATIONS,
    log:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-{source}-{target}.tsv"
    resources:
        **translating(translation.of_captions),
    params:
        **provider(translation.of_captions),
    message:
        "Translating the captions of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        TRANSLATE


rule translate_queries:
    """translate validation and test captions between two languages, as queries only"""
    input:
        unpack(for_job(translation.of_queries, "inputs")),
    output:
        paths.QUERIES,
    log:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/translate-queries-{source}-{target}.tsv"
    resources:
        **translating(translation.of_queries),
    params:
        **provider(translation.of_queries),
    message:
        "Translating the queries of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        TRANSLATE


# The translations from English that give each training image five sentences in a language (SMALR).
rule augment:
    input:
        sentences=paths.TOKENS.replace("{language}", "{target}"),
        translations=expand(paths.TRANSLATIONS, source="en", allow_missing=True),
    output:
        paths.AUGMENTATION,
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
        paths.TRANSLATION_QUALITY,
    log:
        "work/logs/{scale}/{dataset}/measure-translation-quality-{source}-{target}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/measure-translation-quality-{source}-{target}.tsv"
    resources:
        **translating(translation.of_quality),
    params:
        **provider(translation.of_quality),
    message:
        "Measuring the quality of translations of {wildcards.dataset} from {wildcards.source} to {wildcards.target}"
    shell:
        "python -m pipeline measure-translation-quality --source {wildcards.source} "
        "--target {wildcards.target} --scale {wildcards.scale} --dataset {wildcards.dataset} "
        "{params.options:q} {params.files:q} --cache {resources.cache:q} "
        "--requests-per-second {resources.rate} --gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule tabulate_translation_quality:
    input:
        for_job(translation.measured_pairs),
    output:
        "results/translation-quality.csv",
    log:
        "work/logs/tables/translation-quality.log",
    localrule: True
    message:
        "Writing {output}"
    shell:
        "python -m pipeline tabulate-translation-quality --parts {input:q} --output {output:q} > {log:q} 2>&1"

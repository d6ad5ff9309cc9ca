# A small translator of two languages between which there are human translations of captions (provider `trained`).
rule train_translator:
    input:
        unpack(for_job(translation.translator_sources)),
    output:
        directory(paths.TRANSLATOR),
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=4000, runtime=growing(720), gpu=SETTINGS.gpu),
    params:
        settings=for_job(stage_settings.translator_settings),
        options=for_job(translation.translator_folder),
        checkpoint=paths.TRANSLATOR_CHECKPOINT,
    shell:
        "python -m pipeline train-translator --source {wildcards.source} --target {wildcards.target} --code {params.code} --settings {params.settings:q} {params.options:q} "
        "--captions {input.captions:q} --splits {input.splits:q} --checkpoint {params.checkpoint:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule translate:
    input:
        unpack(for_job(translation.translation, "inputs")),
    output:
        paths.TRANSLATED,
    wildcard_constraints:
        queried="(queries/)?",
    resources:
        **translating(translation.translation),
    params:
        **provider(translation.translation),
    shell:
        "python -m pipeline translate --source {params.source} --target {wildcards.target} "
        "{params.options:q} --captions {input.captions:q} --images {input.images:q} --sentences {input.sentences:q} "
        "--target-sentences {input.target_sentences:q} --dictionaries {input.dictionaries:q} --translator {input.translator:q} --cache {resources.cache:q} "
        "--requests-per-second {resources.rate} --gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule measure_translation_quality:
    input:
        unpack(for_job(translation.measurement, "inputs")),
    output:
        paths.TRANSLATION_QUALITY,
    resources:
        **translating(translation.measurement),
    params:
        **provider(translation.measurement),
    shell:
        "python -m pipeline measure-translation-quality --source {wildcards.source} "
        "--target {wildcards.target} --scale {wildcards.run} --dataset {wildcards.dataset} "
        "{params.options:q} --captions {input.captions:q} --target-sentences {input.target_sentences:q} "
        "--dictionaries {input.dictionaries:q} --translator {input.translator:q} --cache {resources.cache:q} "
        "--requests-per-second {resources.rate} --gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule tabulate_translation_quality:
    input:
        for_job(translation.measured_pairs),
    output:
        "<results>/translation-quality.csv",
    localrule: True
    shell:
        "python -m pipeline tabulate-translation-quality --parts {input:q} --output {output:q} > {log:q} 2>&1"

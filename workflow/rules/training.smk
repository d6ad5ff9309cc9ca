# Checkpoints are outside the declared outputs, which Snakemake deletes when a job fails. The loop at the end of the
# Snakefile gives every rule its log and the digest of its code; models of *Lessons* have rules of their own (lessons.smk).
rule pretrain:
    input:
        sentences=for_job(training.sentences),
        translations=for_job(training.translations),
        words=for_job(words.vocabularies),
    output:
        paths.PRETRAINED,
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(120), gpu=SETTINGS.gpu),
    params:
        settings=for_job(stage_settings.pretraining_settings),
        checkpoint=paths.PRETRAINING_CHECKPOINT,
    shell:
        "python -m pipeline pretrain --code {params.code} --settings {params.settings:q} --sentences {input.sentences:q} "
        "--translations {input.translations:q} --words {input.words:q} --checkpoint {params.checkpoint:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


# Which entry of the latent vocabulary each word takes (SMALR); experiments with equal settings share it.
rule assign:
    input:
        unpack(for_job(training.assignment_inputs)),
    output:
        entries=paths.ENTRIES,
        table=paths.ASSIGNMENT_TABLE,
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(360), disk_mb=2000, gpu=SETTINGS.gpu),
    params:
        settings=for_job(training.assignment_settings),
        checkpoint=paths.ASSIGNMENT_CHECKPOINT,
    shell:
        "python -m pipeline assign --code {params.code} --settings {params.settings:q} --sentences {input.sentences:q} "
        "--translations {input.translations:q} --words {input.words:q} --checkpoint {params.checkpoint:q} "
        "--gpus {resources.gpu} --output {output.entries:q} --table {output.table:q} > {log:q} 2>&1"


rule train:
    input:
        features=for_job(training.features),
        sentences=for_job(training.sentences),
        translations=for_job(training.translations),
        words=for_job(words.vocabularies),
        pretrained=for_job(training.initial_weights),
        steps_of=for_job(training.steps_of),
    output:
        model=paths.MODEL,
        curves=paths.CURVES,
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(720), disk_mb=4000, gpu=SETTINGS.gpu),
        events=for_job(training.events),
    params:
        settings=for_job(stage_settings.experiment_settings),
        checkpoint=paths.CHECKPOINT,
    shell:
        "python -m pipeline train --code {params.code} --settings {params.settings:q} --features {input.features:q} "
        "--sentences {input.sentences:q} --translations {input.translations:q} --words {input.words:q} "
        "--pretrained {input.pretrained:q} --steps-of {input.steps_of:q} --checkpoint {params.checkpoint:q} --curves {output.curves:q} "
        "--gpus {resources.gpu} --events {resources.events} --output {output.model:q} > {log:q} 2>&1"


rule evaluate:
    input:
        model=paths.MODEL,
        features=for_job(training.features),
        files=for_job(training.evaluated_files),
        queries=for_job(training.translated_queries),
    output:
        evaluation=paths.EVALUATION,
        ranks=paths.RANKS,
    params:
        settings=for_job(stage_settings.evaluation_settings),
        sentences=for_job(training.evaluated_sentences),
        words=for_job(words.vocabularies),
    shell:
        "python -m pipeline evaluate --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {params.words:q} --sentences {params.sentences:q} "
        "--translated-queries {input.queries:q} --output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"


# Original queries together with their translations (SMALR's CLC).
rule evaluate_consistency:
    input:
        model=paths.MODEL,
        features=for_job(training.features),
        sentences=for_job(training.sentences),
        words=for_job(words.vocabularies),
        translations=for_job(training.queries_in_every_language),
    output:
        evaluation=paths.EVALUATION.replace("{queries}", "{consistency}"),
        ranks=paths.RANKS.replace("{queries}", "{consistency}"),
    resources:
        **needs(mem_mb=8000, runtime=growing(60)),
    params:
        settings=for_job(stage_settings.consistency_settings),
    shell:
        "python -m pipeline evaluate-consistency --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "--translated-queries {input.translations:q} --output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"

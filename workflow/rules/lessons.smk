# Experiments of Lessons: parts of the data, captions and vocabulary of an experiment, its training.
ruleorder: train_lessons > train


rule read_caption_part:
    input:
        unpack(for_job(lessons.part_inputs)),
    output:
        paths.PART,
    wildcard_constraints:
        part="translation|comparable",
    params:
        settings=for_job(lessons.part_settings),
        origin=for_job(captions.own_origin),
    shell:
        "python -m pipeline read-caption-part --part {wildcards.part} --language {wildcards.language} --settings {params.settings:q} "
        "--split {input.split:q} --sentences {input.sentences:q} --origin {params.origin} "
        "--output {output:q} > {log:q} 2>&1"


rule select_captions:
    input:
        parts=for_job(lessons.selected_parts),
        split=paths.SPLIT,
    output:
        directory(paths.SELECTION),
    wildcard_constraints:
        experiment=lessons.selecting_experiments(PLAN),
    params:
        settings=for_job(stage_settings.selection_settings),
    shell:
        "python -m pipeline select-captions --settings {params.settings:q} --parts {input.parts:q} "
        "--split {input.split:q} --output {output:q} > {log:q} 2>&1"


rule train_lessons:
    input:
        features=for_job(training.features),
        selected=paths.SELECTION,
    output:
        model=paths.MODEL,
        curves=paths.CURVES,
    wildcard_constraints:
        experiment=lessons.selecting_experiments(PLAN),
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(720), disk_mb=4000, gpu=SETTINGS.gpu),
    params:
        settings=for_job(stage_settings.experiment_settings),
        sentences=for_job(training.sentences),
        words=for_job(words.vocabularies),
        pairs=for_job(lessons.selected_pairs),
        checkpoint=paths.CHECKPOINT,
    shell:
        "python -m pipeline train-lessons --code {params.code} --settings {params.settings:q} --features {input.features:q} "
        "--sentences {params.sentences:q} --pairs {params.pairs:q} --words {params.words:q} "
        "--checkpoint {params.checkpoint:q} --curves {output.curves:q} --gpus {resources.gpu} "
        "--output {output.model:q} > {log:q} 2>&1"


rule draw_languages:
    input:
        "<results>/comparison/lessons/figure3.csv",
    output:
        "<results>/lessons/figure3.svg",
    localrule: True
    shell:
        "python -m pipeline draw-languages --comparison {input:q} --output {output:q} > {log:q} 2>&1"

# Experiments of Lessons: parts of the data, samples of a part, captions and vocabulary of an experiment, its training.
ruleorder: train_lessons > train
ruleorder: evaluate_lessons > evaluate


rule read_caption_part:
    input:
        unpack(for_job(lessons.part_inputs)),
    output:
        paths.PART,
    log:
        "work/logs/{scale}/{dataset}/read-caption-part-{part}-{language}.log",
    wildcard_constraints:
        part="translation|comparable",
    resources:
        **needs(mem_mb=2000, runtime=10),
    params:
        settings=for_job(lessons.part_settings),
        origin=for_job(captions.own_origin),
    message:
        "Reading the {wildcards.part} part of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline read-caption-part --part {wildcards.part} --language {wildcards.language} --settings {params.settings:q} "
        "--split {input.split:q} --sentences {input.sentences:q} --origin {params.origin} "
        "--output {output:q} > {log:q} 2>&1"


# A sample is a file, so that experiments that should share captions or images do.
rule sample_captions:
    input:
        paths.PART,
    output:
        paths.SAMPLED_PART,
    log:
        "work/logs/{scale}/{dataset}/sample-captions-{each}-seed{seed}-{part}-{language}.log",
    wildcard_constraints:
        part="translation|comparable",
        each=r"\d+",
    resources:
        **needs(mem_mb=2000, runtime=10),
    message:
        "Sampling {wildcards.each} captions of each image of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline sample-captions --part {input:q} --captions-per-image {wildcards.each} "
        "--seed {wildcards.seed} --output {output:q} > {log:q} 2>&1"


rule sample_halves:
    input:
        paths.SPLIT,
    output:
        paths.HALVES,
    log:
        "work/logs/{scale}/{dataset}/sample-halves-seed{seed}{suffix}.log",
    wildcard_constraints:
        suffix="(-[a-z]{2})?",
    resources:
        **needs(mem_mb=2000, runtime=10),
    params:
        language=lambda w: w.suffix.removeprefix("-"),
    message:
        "Sampling halves of the training images of {wildcards.dataset}"
    shell:
        "python -m pipeline sample-halves --split {input:q} --seed {wildcards.seed} --language {params.language:q} "
        "--output {output:q} > {log:q} 2>&1"


rule select_captions:
    input:
        for_job(lessons.selected_texts),
    output:
        directory(paths.SELECTION),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-select-captions.log",
    wildcard_constraints:
        experiment=lessons.selecting_experiments(PLAN),
    resources:
        **needs(mem_mb=4000, runtime=30),
    params:
        settings=for_job(lessons.selection),
    message:
        "Selecting the captions and words of {wildcards.dataset} {wildcards.experiment}"
    shell:
        "python -m pipeline select-captions --settings {params.settings:q} --output {output:q} > {log:q} 2>&1"


rule train_lessons:
    input:
        features=for_job(training.features),
        selected=paths.SELECTION,
    output:
        model=paths.MODEL,
        curves=paths.CURVES,
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.tsv"
    wildcard_constraints:
        experiment=lessons.selecting_experiments(PLAN),
    threads: SETTINGS.training.threads
    resources:
        **needs(mem_mb=8000, runtime=growing(720), disk_mb=4000, gpu=SETTINGS.gpu),
    params:
        settings=for_job(configuration.experiment_settings),
        sentences=for_job(lessons.selected_sentences),
        words=for_job(lessons.selected_words),
        pairs=for_job(lessons.selected_pairs),
        checkpoint=paths.CHECKPOINT,
    message:
        "Training {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m pipeline train-lessons --code {params.code} --settings {params.settings:q} --features {input.features:q} "
        "--sentences {params.sentences:q} --pairs {params.pairs:q} --words {params.words:q} "
        "--checkpoint {params.checkpoint:q} --curves {output.curves:q} --gpus {resources.gpu} "
        "--output {output.model:q} > {log:q} 2>&1"


rule evaluate_lessons:
    """compute the recalls of a model of Lessons on the test split"""
    input:
        model=paths.MODEL,
        features=for_job(training.features),
        selected=paths.SELECTION,
    output:
        evaluation=expand(paths.EVALUATION, queries="original", allow_missing=True),
        ranks=expand(paths.RANKS, queries="original", allow_missing=True),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-original.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-original.tsv"
    wildcard_constraints:
        experiment=lessons.selecting_experiments(PLAN),
    resources:
        **needs(mem_mb=4000, runtime=growing(30)),
    params:
        settings=for_job(configuration.evaluation_settings),
        sentences=for_job(lessons.selected_sentences),
        words=for_job(lessons.selected_words),
    message:
        "Evaluating {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m pipeline evaluate --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {params.words:q} --sentences {params.sentences:q} "
        "--output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"


rule draw_languages:
    input:
        "results/comparison/lessons/figure3.csv",
    output:
        "results/lessons/figure3.svg",
    log:
        "work/logs/figures/lessons-figure3.log",
    localrule: True
    message:
        "Drawing Figure 3 of Lessons"
    shell:
        "python -m pipeline draw-languages --comparison {input:q} --output {output:q} > {log:q} 2>&1"

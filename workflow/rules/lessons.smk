# Experiments of Lessons: parts of the data, samples of them, captions and vocabulary of an experiment, its training.
ruleorder: train_multitask > train
ruleorder: evaluate_selected > evaluate


rule caption_part:
    input:
        unpack(part_inputs),
    output:
        "work/{scale}/{dataset}/parts/{part}/{language}.csv",
    log:
        "work/logs/{scale}/{dataset}/part-{part}-{language}.log",
    wildcard_constraints:
        part="translation|comparable",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        options=part_options,
        code=lambda wildcards: code.digest("read-caption-part", part_modules(wildcards)),
    message:
        "Reading the {wildcards.part} part of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline read-caption-part --code {params.code} --part {wildcards.part} --language {wildcards.language} {params.options:q} "
        "--output {output:q} > {log:q} 2>&1"


# What is drawn is a file, so that experiments that should share captions or images do.
rule draw_captions:
    input:
        "work/{scale}/{dataset}/parts/{part}/{language}.csv",
    output:
        "work/{scale}/{dataset}/parts/drawn/{each}-seed{seed}/{part}/{language}.csv",
    log:
        "work/logs/{scale}/{dataset}/draw-{each}-seed{seed}-{part}-{language}.log",
    wildcard_constraints:
        part="translation|comparable",
        each=r"\d+",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        code=code.digest("sample-captions"),
    message:
        "Sampling {wildcards.each} captions of each image of {wildcards.dataset} in {wildcards.language}"
    shell:
        "python -m pipeline sample-captions --code {params.code} --part {input:q} --captions-per-image {wildcards.each} "
        "--seed {wildcards.seed} --output {output:q} > {log:q} 2>&1"


rule draw_halves:
    input:
        "work/{scale}/{dataset}/split.csv",
    output:
        "work/{scale}/{dataset}/drawn/halves-seed{seed}{own}.csv",
    log:
        "work/logs/{scale}/{dataset}/halves-seed{seed}{own}.log",
    wildcard_constraints:
        own="(-[a-z]{2})?",
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=10,
        disk_mb=1000,
        gpu=0,
    params:
        language=lambda wildcards: [
            f"--language={code}" for code in given(wildcards.own[1:])
        ],
        code=code.digest("sample-halves"),
    message:
        "Sampling halves of the training images of {wildcards.dataset}"
    shell:
        "python -m pipeline sample-halves --code {params.code} --split {input:q} --seed {wildcards.seed} {params.language:q} "
        "--output {output:q} > {log:q} 2>&1"


rule select:
    input:
        selected_texts,
    output:
        directory(SELECTED),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-select.log",
    wildcard_constraints:
        experiment=SELECTING_EXPERIMENTS,
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=30,
        disk_mb=1000,
        gpu=0,
    params:
        settings=lambda wildcards: as_json(selection(wildcards)),
        code=code.digest("select-captions"),
    message:
        "Selecting the captions and words of {wildcards.dataset} {wildcards.experiment}"
    shell:
        "python -m pipeline select-captions --code {params.code} --settings {params.settings:q} --output {output:q} > {log:q} 2>&1"


rule train_multitask:
    input:
        features=features_of,
        selected=SELECTED,
    output:
        model="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/model.pt",
        curves="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/curves.csv",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.tsv"
    wildcard_constraints:
        experiment=SELECTING_EXPERIMENTS,
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(720),
        disk_mb=4000,
        gpu=SETTINGS["gpu"],
    params:
        settings=settings_for(configuration.experiment_settings),
        sentences=selected(".csv"),
        words=selected(".h5"),
        pairs=selected("pairs"),
        checkpoint="work/{scale}/checkpoints/{dataset}-{experiment}-{seed}.pt",
        code=code.digest("train-multitask"),
    message:
        "Training {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "exec python -m pipeline train-multitask --settings {params.settings:q} --features {input.features:q} "
        "--sentences {params.sentences:q} --pairs {params.pairs:q} --words {params.words:q} "
        "--checkpoint {params.checkpoint:q} --curves {output.curves:q} --gpus {resources.gpu} "
        "--output {output.model:q} > {log:q} 2>&1"


rule evaluate_selected:
    input:
        model="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/model.pt",
        features=features_of,
        selected=SELECTED,
    output:
        evaluation="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-original.json",
        ranks="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-original-ranks.csv.gz",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-original.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-original.tsv"
    wildcard_constraints:
        experiment=SELECTING_EXPERIMENTS,
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        disk_mb=1000,
        gpu=0,
    params:
        settings=settings_for(configuration.evaluation_settings),
        sentences=selected(".csv"),
        words=selected(".h5"),
        code=evaluation_code("evaluate"),
    message:
        "Evaluating {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m pipeline evaluate --code {params.code} --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {params.words:q} --sentences {params.sentences:q} "
        "--output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"


rule languages_figure:
    input:
        f"{FINISHED}/comparison/lessons/figure3.csv",
    output:
        report(
            f"{FINISHED}/lessons/figure3.svg",
            caption="../captions/languages.rst",
            category="Figures",
        ),
    log:
        "work/logs/figures/lessons-figure3.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        code=code.digest("draw-languages"),
    message:
        "Drawing Figure 3 of Lessons"
    shell:
        "python -m pipeline draw-languages --code {params.code} --comparison {input:q} --output {output:q} > {log:q} 2>&1"

# Checkpoints are outside the declared outputs, which Snakemake deletes when a job fails. `exec`: a batch system's
# SIGTERM would end a shell, and with it the job, at once, while Python is still saving its checkpoint.
rule pretrain:
    input:
        sentences=own_sentences,
        translations=training_translations,
        words=vocabularies,
    output:
        "work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/pretrained.pt",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-pretrain.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-pretrain.tsv"
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(120),
        disk_mb=1000,
        gpu=SETTINGS["gpu"],
    params:
        settings=settings_for(configuration.pretraining_settings),
        checkpoint="work/{scale}/checkpoints/{dataset}-{experiment}-{seed}-pretraining.pt",
        code=pretraining_code,
    message:
        "Pretraining the universal embedding: {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "exec python -m pipeline pretrain --settings {params.settings:q} --sentences {input.sentences:q} "
        "--translations {input.translations:q} --words {input.words:q} --checkpoint {params.checkpoint:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


# Which entry of the latent vocabulary each word takes (SMALR); `pretrained` asks for the entries.
rule assign:
    input:
        sentences=own_sentences,
        translations=training_translations,
        words=vocabularies,
    output:
        entries="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/entries.pt",
        table="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/assignment.csv",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-assign.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-assign.tsv"
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(360),
        disk_mb=2000,
        gpu=SETTINGS["gpu"],
    params:
        settings=settings_for(configuration.assignment_settings),
        checkpoint="work/{scale}/checkpoints/{dataset}-{experiment}-{seed}-assignment.pt",
        code=code.digest("assign"),
    message:
        "Assigning words to the latent vocabulary: {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "exec python -m pipeline assign --settings {params.settings:q} --sentences {input.sentences:q} "
        "--translations {input.translations:q} --words {input.words:q} --checkpoint {params.checkpoint:q} "
        "--gpus {resources.gpu} --output {output.entries:q} --table {output.table:q} > {log:q} 2>&1"


rule train:
    input:
        features=features_of,
        sentences=own_sentences,
        translations=training_translations,
        words=vocabularies,
        pretrained=pretrained,
    output:
        model="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/model.pt",
        curves="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/curves.csv",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-train.tsv"
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(720),
        disk_mb=4000,
        gpu=SETTINGS["gpu"],
        events=event_folder,
    params:
        settings=settings_for(configuration.experiment_settings),
        checkpoint="work/{scale}/checkpoints/{dataset}-{experiment}-{seed}.pt",
        code=training_code,
    message:
        "Training {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "exec python -m pipeline train --settings {params.settings:q} --features {input.features:q} "
        "--sentences {input.sentences:q} --translations {input.translations:q} --words {input.words:q} "
        "--pretrained {input.pretrained:q} --checkpoint {params.checkpoint:q} --curves {output.curves:q} "
        "--gpus {resources.gpu} --events {resources.events} --output {output.model:q} > {log:q} 2>&1"


rule evaluate:
    input:
        model="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/model.pt",
        features=features_of,
        sentences=evaluated_sentences,
        words=vocabularies,
        queries=translated_queries,
    output:
        evaluation="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-{queries}.json",
        ranks="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-{queries}-ranks.csv.gz",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-{queries}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-{queries}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        disk_mb=1000,
        gpu=0,
    params:
        settings=settings_for(configuration.evaluation_settings),
        code=evaluation_code("evaluate"),
    message:
        "Evaluating {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed} on {wildcards.queries} captions"
    shell:
        "python -m pipeline evaluate --code {params.code} --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "--translated-queries {input.queries:q} --output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"


# The same of own queries together with their translations (SMALR's CLC).
rule evaluate_consistency:
    input:
        unpack(translated_beside),
        model="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/model.pt",
        features=features_of,
        sentences=own_sentences,
        words=vocabularies,
    output:
        evaluation="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-{consistency}.json",
        ranks="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-{consistency}-ranks.csv.gz",
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-{consistency}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-evaluate-{consistency}.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(8000),
        runtime=growing(60),
        disk_mb=1000,
        gpu=0,
    params:
        settings=lambda wildcards: as_json(
            configuration.consistency_settings(
                SETTINGS,
                wildcards.dataset,
                wildcards.experiment,
                int(wildcards.seed),
                wildcards.consistency,
            )
        ),
        code=evaluation_code("evaluate-consistency"),
    message:
        "Evaluating {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed} on queries and their translations ({wildcards.consistency})"
    shell:
        "python -m pipeline evaluate-consistency --code {params.code} --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "--translated-queries {input.translations:q} --output {output.evaluation:q} --ranks {output.ranks:q} > {log:q} 2>&1"

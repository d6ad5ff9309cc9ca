# A trained model as a self-contained folder, with the recalls of its evaluation.
rule write_bundle:
    input:
        model=bundled_model,
        features=features_of,
        sentences=own_sentences,
        words=vocabularies,
        evaluation="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-original.json",
        ranks="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/test-original-ranks.csv.gz",
    output:
        directory("work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/bundle"),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-bundle.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-bundle.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        disk_mb=1000,
        gpu=0,
    params:
        data=data_licences,
        code=code.digest(SEARCH_STAGES["write-bundle"]),
    message:
        "Bundling {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m search write-bundle --code {params.code} --model {input.model:q} --features {input.features:q} --words {input.words:q} "
        "--sentences {input.sentences:q} --evaluation {input.evaluation:q} --data {params.data:q} --output {output:q} "
        "> {log:q} 2>&1"


# Only test images: among images that it was trained on, a model looks better than it is.
rule build_index:
    input:
        bundle="work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/bundle",
        features=features_of,
        split="work/{scale}/{dataset}/split.csv",
        sentences=own_sentences,
        images=index_photographs,
    output:
        directory("work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/index"),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-index.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-index.tsv"
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        disk_mb=1000,
        gpu=0,
    params:
        images=lambda wildcards, input: [
            f"--image-list={path}" for path in input.images
        ],
        code=code.digest(SEARCH_STAGES["build-index"]),
    message:
        "Indexing the test images of {wildcards.dataset} with {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m search build-index --code {params.code} --bundle {input.bundle:q} --features {input.features:q} {params.images:q} "
        "--split {input.split:q}:test --sentences {input.sentences:q} --original --threads 1 --output {output:q} > {log:q} 2>&1"


# A frozen multilingual CLIP on the same test split: context for the tables, never one of their rows.
rule context:
    input:
        sentences=context_sentences,
        images="work/{scale}/{dataset}/images.csv",
        model=context_files,
    output:
        "work/{scale}/{dataset}/context/{model}.csv",
    log:
        "work/logs/{scale}/{dataset}/context-{model}.log",
    benchmark:
        "work/logs/{scale}/{dataset}/context-{model}.tsv"
    wildcard_constraints:
        model="|".join(map(re.escape, CONTEXT)) or "(?!)",
    conda:
        "../../envs/pipeline.yaml"
    threads: SETTINGS["training"]["threads"]
    resources:
        mem_mb=growing(8000),
        runtime=growing(480),
        disk_mb=8000,
        gpu=SETTINGS["gpu"],
    params:
        model=lambda wildcards: CONTEXT[wildcards.model],
        settings=context_settings,
        partial="work/{scale}/partial/{dataset}-context-{model}",
        photographs=photographs,
        code=code.digest("evaluate-clip"),
    message:
        "Embedding the test split of {wildcards.dataset} by {params.model}, frozen"
    shell:
        "exec python -m pipeline evaluate-clip --code {params.code} --model {params.model:q} --settings {params.settings:q} "
        "--sentences {input.sentences:q} --images {input.images:q} --partial {params.partial:q} "
        "--gpus {resources.gpu} --output {output:q} > {log:q} 2>&1"


rule tabulate_context:
    input:
        context_parts,
    output:
        f"{FINISHED}/context.csv",
    log:
        "work/logs/tables/context.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        code=code.digest("tabulate-clip"),
    message:
        "Writing {output}"
    shell:
        "python -m pipeline tabulate-clip --code {params.code} --parts {input:q} --output {output:q} > {log:q} 2>&1"

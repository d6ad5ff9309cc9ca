# A trained model as a self-contained folder, with the recalls of its evaluation.
rule write_bundle:
    input:
        model=for_job(search.bundled_model),
        features=for_job(training.features),
        sentences=for_job(training.sentences),
        words=for_job(words.vocabularies),
        evaluation=MODEL.evaluation("original"),
        ranks=MODEL.ranks("original"),
    output:
        directory(MODEL.bundle),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-write-bundle.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-write-bundle.tsv"
    resources:
        **needs(mem_mb=4000, runtime=growing(30)),
    params:
        data=for_job(search.data_licences),
    message:
        "Bundling {wildcards.dataset} {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m search write-bundle --model {input.model:q} --features {input.features:q} --words {input.words:q} "
        "--sentences {input.sentences:q} --evaluation {input.evaluation:q} --data {params.data:q} --output {output:q} "
        "> {log:q} 2>&1"


# Only test images: among images that it was trained on, a model looks better than it is.
rule build_index:
    input:
        bundle=MODEL.bundle,
        features=for_job(training.features),
        split=DATA.split,
        sentences=for_job(training.sentences),
        images=for_job(images.image_list),
    output:
        directory(MODEL.index),
    log:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-build-index.log",
    benchmark:
        "work/logs/{scale}/{dataset}/{experiment}-{seed}-build-index.tsv"
    resources:
        **needs(mem_mb=4000, runtime=growing(30)),
    params:
        images=lambda w, input: arguments("--image-list", input.images),
    message:
        "Indexing the test images of {wildcards.dataset} with {wildcards.experiment} seed {wildcards.seed}"
    shell:
        "python -m search build-index --bundle {input.bundle:q} --features {input.features:q} {params.images:q} "
        "--split {input.split:q}:test --sentences {input.sentences:q} --original --threads 1 --output {output:q} > {log:q} 2>&1"

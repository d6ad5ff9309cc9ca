rule build_index:
    input:
        model=for_job(training.searchable_model),
        features=for_job(training.features),
        captions=for_job(training.sentences),
        images=for_job(images.image_list),
    output:
        paths.INDEX,
    params:
        split=for_job(training.indexed_split),
    shell:
        "python -m pipeline build-index --model {input.model:q} --features {input.features:q} --images {input.images:q} "
        "--captions {input.captions:q} --split {params.split} --output {output:q} > {log:q} 2>&1"

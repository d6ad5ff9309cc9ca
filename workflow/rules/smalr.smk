# SMALR's Figures 1b and 3: recall against languages and parameters, as numbers and as pictures.
rule scaling:
    input:
        evaluations=scaling_evaluations,
        ranks=lambda wildcards: ranks_beside(scaling_evaluations(wildcards)),
        models=scaling_models,
    output:
        report(f"{FINISHED}/smalr/figure{{number}}.csv", category="Figures"),
    log:
        "work/logs/figures/smalr-figure{number}-points.log",
    wildcard_constraints:
        number="|".join(SCALING_FIGURES),
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: as_json(scaling_settings(wildcards)),
        code=code.digest("measure-scaling"),
    message:
        "Counting the points of SMALR's Figure {wildcards.number}"
    shell:
        "python -m pipeline measure-scaling --code {params.code} --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--models {input.models:q} --output {output:q} > {log:q} 2>&1"


rule scatter:
    input:
        f"{FINISHED}/smalr/figure{{number}}.csv",
    output:
        report(f"{FINISHED}/smalr/figure{{number}}.svg", category="Figures"),
    log:
        "work/logs/figures/smalr-figure{number}.log",
    wildcard_constraints:
        number="|".join(SCALING_FIGURES),
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=scaling_look,
        code=code.digest("draw-scaling"),
    message:
        "Drawing SMALR's Figure {wildcards.number}"
    shell:
        "python -m pipeline draw-scaling --code {params.code} --settings {params.settings:q} --points {input:q} --output {output:q} > {log:q} 2>&1"


# At the paper's sizes, with the vocabularies of the captions at hand.
rule smalr_parameters:
    input:
        words=lambda wildcards: ten_vocabularies("fasttext"),
        spelled=lambda wildcards: ten_vocabularies("characters"),
        papers="pipeline/tables/papers.csv",
    output:
        table=f"{FINISHED}/smalr/parameters.csv",
        comparison=f"{FINISHED}/comparison/smalr/parameters.csv",
    log:
        "work/logs/tables/smalr-parameters.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: as_json(
            configuration.ten_language_settings(
                SETTINGS, ten_languages().dataset, CONFIG
            )
        ),
        # Counting takes the layers of losses with weights of their own, by name.
        code=code.digest("count-smalr-parameters", tuple(parts.LOSSES.values())),
    message:
        "Counting the parameters of ten languages"
    shell:
        "python -m pipeline count-smalr-parameters --code {params.code} --settings {params.settings:q} --words {input.words:q} "
        "--characters {input.spelled:q} --papers {input.papers:q} --table {output.table:q} "
        "--comparison {output.comparison:q} > {log:q} 2>&1"

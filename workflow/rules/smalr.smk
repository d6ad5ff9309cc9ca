# SMALR's Figures 1b and 3: recall against languages and parameters, as numbers and as pictures.
rule measure_scaling:
    input:
        unpack(for_job(scaling.figure_files)),
    output:
        RESULTS.in_work("smalr/figure{number}.csv"),
    log:
        "work/logs/figures/smalr-figure{number}-points.log",
    wildcard_constraints:
        number=either(scaling.FIGURES),
    localrule: True
    params:
        settings=for_job(scaling.figure_settings),
    message:
        "Counting the points of SMALR's Figure {wildcards.number}"
    shell:
        "python -m pipeline measure-scaling --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--models {input.models:q} --output {output:q} > {log:q} 2>&1"


rule draw_scaling:
    input:
        RESULTS.in_work("smalr/figure{number}.csv"),
    output:
        RESULTS.in_work("smalr/figure{number}.svg"),
    log:
        "work/logs/figures/smalr-figure{number}.log",
    wildcard_constraints:
        number=either(scaling.FIGURES),
    localrule: True
    params:
        settings=for_job(scaling.drawing_settings),
    message:
        "Drawing SMALR's Figure {wildcards.number}"
    shell:
        "python -m pipeline draw-scaling --settings {params.settings:q} --points {input:q} --output {output:q} > {log:q} 2>&1"


# At the paper's sizes, with the vocabularies of the captions at hand.
rule count_smalr_parameters:
    input:
        words=for_job(scaling.counted_words),
        spelled=for_job(scaling.counted_characters),
        papers="config/papers/smalr/parameters.csv",
    output:
        table=RESULTS.in_work("smalr/parameters.csv"),
        comparison=RESULTS.in_work("comparison/smalr/parameters.csv"),
    log:
        "work/logs/tables/smalr-parameters.log",
    localrule: True
    params:
        settings=for_job(scaling.parameter_settings),
    message:
        "Counting the parameters of ten languages"
    shell:
        "python -m pipeline count-smalr-parameters --settings {params.settings:q} --words {input.words:q} "
        "--characters {input.spelled:q} --papers {input.papers:q} --table {output.table:q} "
        "--comparison {output.comparison:q} > {log:q} 2>&1"

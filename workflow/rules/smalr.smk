# SMALR's Figures 1b and 3: recall against languages and parameters.
rule draw_scaling:
    input:
        "<results>/comparison/smalr/figure{number}.csv",
    output:
        "<results>/smalr/figure{number}.svg",
    wildcard_constraints:
        number="1b|3",
    localrule: True
    params:
        across=lambda wildcards: {"1b": "languages", "3": "parameters"}[
            wildcards.number
        ],
    shell:
        "python -m pipeline draw-scaling --across {params.across} --comparison {input:q} --output {output:q} > {log:q} 2>&1"


# At the paper's sizes, with the vocabularies of the captions at hand.
rule count_smalr_parameters:
    input:
        unpack(for_job(tables.counted_vocabularies)),
        papers="<papers>/smalr/parameters.csv",
    output:
        table="<results>/smalr/parameters.csv",
        comparison="<results>/comparison/smalr/parameters.csv",
    localrule: True
    params:
        settings=for_job(tables.smalr_parameter_settings),
    shell:
        "python -m pipeline count-smalr-parameters --settings {params.settings:q} --words {input.words:q} "
        "--characters {input.spelled:q} --papers {input.papers:q} --table {output.table:q} "
        "--comparison {output.comparison:q} > {log:q} 2>&1"

# A table is of the scale that was requested last: another scale is other evaluations and settings, so that Snakemake makes
# it again.
rule tabulate:
    input:
        unpack(for_job(tables.table_evaluations)),
        papers=for_job(tables.printed_numbers),
    output:
        table="<results>/{table}.csv",
        comparison="<results>/comparison/{table}.csv",
    wildcard_constraints:
        table=table_names(PLAN),
    localrule: True
    params:
        settings=for_job(stage_settings.table_settings),
    shell:
        "python -m pipeline tabulate --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--table {output.table:q} --comparison {output.comparison:q} --papers {input.papers:q} > {log:q} 2>&1"


# Two experiments over all configured seeds: results/compare/multi30k/mule-full-vs-parallel-embn.csv.
rule compare:
    input:
        unpack(for_job(tables.compared_evaluations)),
    output:
        "<results>/compare/{dataset}/{first}-vs-{second}.csv",
    wildcard_constraints:
        first="[a-z0-9+-]+?",
        second="[a-z0-9+-]+",
    localrule: True
    shell:
        "python -m pipeline compare --first {input.first:q} --second {input.second:q} --output {output:q} > {log:q} 2>&1"


rule count_captions:
    input:
        captions=for_job(tables.counted_captions),
        papers="<papers>/table1.csv",
    output:
        table="<results>/table1.csv",
        comparison="<results>/comparison/table1.csv",
        counts="<results>/counts.csv",
    localrule: True
    params:
        settings=for_job(stage_settings.count_settings),
    shell:
        "python -m pipeline count-captions --captions {input.captions:q} --settings {params.settings:q} "
        "--papers {input.papers:q} --table {output.table:q} --comparison {output.comparison:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"


rule measure_vocabulary_overlap:
    input:
        translation=for_job(tables.overlapping_text, part="translation"),
        comparable=for_job(tables.overlapping_text, part="comparable"),
        papers="<papers>/lessons/table1.csv",
    output:
        table="<results>/lessons/table1.csv",
        comparison="<results>/comparison/lessons/table1.csv",
    localrule: True
    params:
        scale=SETTINGS.run,
    shell:
        "python -m pipeline measure-vocabulary-overlap --translation {input.translation:q} "
        "--comparable {input.comparable:q} --scale {params.scale} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"


rule count_parameters:
    input:
        papers="<papers>/parameters.csv",
    output:
        table="<results>/parameters.csv",
        comparison="<results>/comparison/parameters.csv",
    localrule: True
    params:
        settings=lambda wildcards: stage_settings.parameter_settings().as_json(),
    shell:
        "python -m pipeline count-parameters --settings {params.settings:q} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"

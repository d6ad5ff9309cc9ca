# A table is made in work/results and then published: Snakemake deletes the outputs of a job before it runs and when it
# fails, and a finished table must outlast both.
rule tabulate:
    input:
        unpack(for_job(tables.table_evaluations)),
        papers=for_job(tables.printed_numbers),
    output:
        table=RESULTS.in_work("{table}.csv"),
        comparison=RESULTS.in_work("comparison/{table}.csv"),
    log:
        "work/logs/tables/{table}.log",
    wildcard_constraints:
        table=table_names(PLAN),
    localrule: True
    params:
        settings=for_job(configuration.table_settings),
    message:
        "Tabulating {wildcards.table}"
    shell:
        "python -m pipeline tabulate --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--table {output.table:q} --comparison {output.comparison:q} --papers {input.papers:q} > {log:q} 2>&1"


# A finished table goes into results/{scale}, which no other scale writes to (`place` is the scale). From there it goes into
# results/ (`place` is empty), which shows the scale that was requested last. Another scale is another input of that job, so
# a table of one scale never passes for a table of another. One job with both outputs would not do: while one output has
# never been made, Snakemake does not notice that the input has changed.
rule publish:
    input:
        table=for_job(pages.table_to_publish),
        comparison=for_job(pages.comparison_to_publish),
    output:
        table="results/{place}{table}.csv",
        comparison="results/{place}comparison/{table}.csv",
    log:
        "work/logs/tables/{place}{table}-publish.log",
    wildcard_constraints:
        place=RESULTS.places,
        table=targets.compared_results(PLAN),
    localrule: True
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline publish --files {input:q} --outputs {output:q} > {log:q} 2>&1"


rule publish_file:
    """copy another finished result to where it replaces an earlier one"""
    input:
        made=for_job(pages.file_to_publish),
        beside=for_job(pages.published_beside),
    output:
        "results/{place}{file}",
    log:
        "work/logs/tables/{place}{file}-publish.log",
    wildcard_constraints:
        place=RESULTS.places,
        file=targets.single_results(PLAN),
    localrule: True
    message:
        "Writing {output}"
    shell:
        "python -m pipeline publish --files {input.made:q} --outputs {output:q} > {log:q} 2>&1"


# Two experiments over all configured seeds: results/compare/multi30k/mule-full-vs-parallel-embn.csv.
rule compare:
    input:
        unpack(for_job(tables.compared_evaluations)),
    output:
        RESULTS.in_work("compare/{dataset}/{first}-vs-{second}.csv"),
    log:
        "work/logs/tables/compare-{dataset}-{first}-vs-{second}.log",
    wildcard_constraints:
        first="[a-z0-9+-]+?",
        second="[a-z0-9+-]+",
    localrule: True
    params:
        scale=PLAN.scale,
    message:
        "Comparing {wildcards.first} with {wildcards.second} on {wildcards.dataset}"
    shell:
        "python -m pipeline compare --first {input.first:q} --second {input.second:q} --output {output:q} > {log:q} 2>&1"


rule count_captions:
    input:
        captions=tables.counted_captions(PLAN),
        papers="config/papers/table1.csv",
    output:
        table=RESULTS.in_work("table1.csv"),
        comparison=RESULTS.in_work("comparison/table1.csv"),
        counts=RESULTS.in_work("counts.csv"),
    log:
        "work/logs/tables/table1.log",
    localrule: True
    params:
        captions=tables.count_arguments(PLAN),
        settings=for_job(configuration.count_settings),
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline count-captions --captions {params.captions:q} --settings {params.settings:q} "
        "--papers {input.papers:q} --table {output.table:q} --comparison {output.comparison:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"


rule measure_vocabulary_overlap:
    input:
        translation=for_job(tables.overlapping_text, part="translation"),
        comparable=for_job(tables.overlapping_text, part="comparable"),
        papers="config/papers/lessons/table1.csv",
    output:
        table=RESULTS.in_work("lessons/table1.csv"),
        comparison=RESULTS.in_work("comparison/lessons/table1.csv"),
    log:
        "work/logs/tables/lessons-table1.log",
    localrule: True
    params:
        translation=for_job(tables.overlap_arguments, part="translation"),
        comparable=for_job(tables.overlap_arguments, part="comparable"),
        scale=PLAN.scale,
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline measure-vocabulary-overlap --translation {params.translation:q} "
        "--comparable {params.comparable:q} --scale {params.scale} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"


rule count_parameters:
    input:
        papers="config/papers/parameters.csv",
    output:
        table=RESULTS.in_work("parameters.csv"),
        comparison=RESULTS.in_work("comparison/parameters.csv"),
    log:
        "work/logs/tables/parameters.log",
    localrule: True
    params:
        settings=for_job(tables.parameter_settings),
    message:
        "Counting the parameters of the models"
    shell:
        "python -m pipeline count-parameters --settings {params.settings:q} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"

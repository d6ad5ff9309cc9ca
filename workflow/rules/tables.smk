# A table is made in work/results and then takes the place of an earlier one: Snakemake deletes the outputs of a job
# before it runs and when it fails, and a finished table must outlast both. A copy stays in results/{scale}, which another
# scale leaves alone.
rule tabulate:
    input:
        evaluations=evaluations,
        ranks=lambda wildcards: ranks_beside(evaluations(wildcards)),
        papers="pipeline/tables/papers.csv",
    output:
        table=f"{FINISHED}/{{table}}.csv",
        comparison=f"{FINISHED}/comparison/{{table}}.csv",
    log:
        "work/logs/tables/{table}.log",
    wildcard_constraints:
        table=TABLE_NAMES,
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: as_json(table_settings(wildcards)),
        code=code.digest("tabulate"),
    message:
        "Tabulating {wildcards.table}"
    shell:
        "python -m pipeline tabulate --code {params.code} --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--papers {input.papers:q} --table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"


# A finished table, kept beside those of other scales.
rule keep:
    input:
        table=f"{FINISHED}/{{table}}.csv",
        comparison=f"{FINISHED}/comparison/{{table}}.csv",
    output:
        table=f"{KEPT}/{{table}}.csv",
        comparison=f"{KEPT}/comparison/{{table}}.csv",
    log:
        f"work/logs/tables/{SCALE}-{{table}}-keep.log",
    wildcard_constraints:
        table=TABLE_NAMES,
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline publish --files {input:q} --outputs {output:q} > {log:q} 2>&1"


# What results/ shows is a copy of the configured scale's, so another scale is another input: a table that was made
# for one scale never passes for that of another. `use rule` inherits all but `localrule`.
use rule keep as publish with:
    input:
        table=f"{KEPT}/{{table}}.csv",
        comparison=f"{KEPT}/comparison/{{table}}.csv",
    output:
        table=report(
            "results/{table}.csv", caption="../captions/table.rst", category="Tables"
        ),
        comparison=report(
            "results/comparison/{table}.csv",
            caption="../captions/comparison.rst",
            category="Beside the paper",
        ),
    log:
        "work/logs/tables/{table}-publish.log",
    localrule: True


# Every other result, each alone.
rule keep_file:
    input:
        made=f"{FINISHED}/{{file}}",
        told=shown_beside(KEPT),
    output:
        f"{KEPT}/{{file}}",
    log:
        f"work/logs/tables/{SCALE}-{{file}}-keep.log",
    wildcard_constraints:
        file=ONE_FILE,
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    message:
        "Writing {output}"
    shell:
        "python -m pipeline publish --files {input.made:q} --outputs {output:q} > {log:q} 2>&1"


use rule keep_file as publish_file with:
    input:
        made=f"{KEPT}/{{file}}",
        told=shown_beside("results"),
    output:
        "results/{file}",
    log:
        "work/logs/tables/{file}-publish.log",
    localrule: True


# Two experiments over all configured seeds: results/compare/multi30k/mule-full-vs-parallel-embn.csv.
rule compare:
    input:
        unpack(compared_evaluations),
        ranks=lambda wildcards: ranks_beside(
            sum(compared_evaluations(wildcards).values(), [])
        ),
    output:
        f"{FINISHED}/compare/{{dataset}}/{{first}}-vs-{{second}}.csv",
    log:
        "work/logs/tables/compare-{dataset}-{first}-vs-{second}.log",
    wildcard_constraints:
        first="[a-z0-9+-]+?",
        second="[a-z0-9+-]+",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        scale=SCALE,
        code=code.digest("compare"),
    message:
        "Comparing {wildcards.first} with {wildcards.second} on {wildcards.dataset}"
    shell:
        "python -m pipeline compare --code {params.code} --first {input.first:q} --second {input.second:q} --output {output:q} > {log:q} 2>&1"


rule count_captions:
    input:
        captions=[path for paths in counted_captions().values() for path in paths],
        papers="pipeline/tables/papers.csv",
    output:
        table=f"{FINISHED}/table1.csv",
        comparison=f"{FINISHED}/comparison/table1.csv",
        counts=f"{FINISHED}/counts.csv",
    log:
        "work/logs/tables/table1.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        captions=[
            f"{name}={path}"
            for name, paths in counted_captions().items()
            for path in paths
        ],
        settings=as_json(configuration.count_settings(SETTINGS)),
        code=code.digest("count-captions"),
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline count-captions --code {params.code} --captions {params.captions:q} --settings {params.settings:q} "
        "--papers {input.papers:q} --table {output.table:q} --comparison {output.comparison:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"


rule vocabulary_overlap:
    input:
        unpack(overlapping_text),
        papers="pipeline/tables/papers.csv",
    output:
        table=f"{FINISHED}/lessons/table1.csv",
        comparison=f"{FINISHED}/comparison/lessons/table1.csv",
    log:
        "work/logs/tables/lessons-table1.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        translation=lambda wildcards, input: by_language(input.translation),
        comparable=lambda wildcards, input: by_language(input.comparable),
        scale=SCALE,
        code=code.digest("measure-vocabulary-overlap"),
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline measure-vocabulary-overlap --code {params.code} --translation {params.translation:q} "
        "--comparable {params.comparable:q} --minimum-count 4 --scale {params.scale} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"


rule parameters:
    input:
        papers="pipeline/tables/papers.csv",
    output:
        table=f"{FINISHED}/parameters.csv",
        comparison=f"{FINISHED}/comparison/parameters.csv",
    log:
        "work/logs/tables/parameters.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: as_json(configuration.parameter_settings(CONFIG)),
        code=code.digest("count-parameters"),
    message:
        "Counting the parameters of the models"
    shell:
        "python -m pipeline count-parameters --code {params.code} --settings {params.settings:q} --papers {input.papers:q} "
        "--table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"

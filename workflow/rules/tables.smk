rule tabulate:
    input:
        evaluations=evaluations,
        papers="pipeline/tables/papers.csv",
    output:
        table="results/{table}.csv",
        comparison="results/comparison/{table}.csv",
    log:
        "work/logs/tables/{table}.log",
    wildcard_constraints:
        table="|".join(TABLES),
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: as_json(table_settings(wildcards)),
        code=code.digest("tabulate"),
    message:
        "Writing {output.table}"
    shell:
        "python -m pipeline tabulate --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--papers {input.papers:q} --table {output.table:q} --comparison {output.comparison:q} > {log:q} 2>&1"

TEMPLATES = sorted(glob(paths.own("pipeline/report/templates/*")))


rule judge_claims:
    input:
        unpack(for_job(pages.judged_files)),
    output:
        claims="<results>/claims.csv",
        comparison="<results>/comparison/claims.csv",
    localrule: True
    params:
        settings=for_job(stage_settings.claim_settings),
        papers=paths.PAPERS,
    shell:
        "python -m pipeline judge-claims --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--claims {input.claims:q} --papers {params.papers:q} --output {output.claims:q} "
        "--comparison {output.comparison:q} > {log:q} 2>&1"


rule draw_retrieved:
    input:
        unpack(for_job(pages.figure_inputs)),
        templates=TEMPLATES,
    output:
        "<results>/figure{number}.html",
    wildcard_constraints:
        number=either(pages.FIGURES),
    shell:
        "python -m pipeline draw-retrieved --number {wildcards.number} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "--images {input.images:q} --output {output:q} > {log:q} 2>&1"


# Run times are shown as they are; if they change, the report is not written again.
rule write_report:
    input:
        unpack(for_job(pages.report_files)),
        templates=TEMPLATES,
    output:
        "<results>/report.html",
    localrule: True
    params:
        settings=for_job(stage_settings.report_settings),
        benchmarks=PLAN.path(paths.LOGS),
    shell:
        "python -m pipeline write-report --settings {params.settings:q} --comparisons {input.comparisons:q} "
        "--claims {input.claims:q} --claim-comparisons {input.claim_comparisons:q} --figures {input.figures:q} "
        "--curves {input.curves:q} --benchmarks {params.benchmarks:q} "
        "--output {output:q} > {log:q} 2>&1"

TEMPLATES = pages.templates(Path(workflow.basedir))


rule judge_claims:
    input:
        unpack(for_job(pages.claim_evaluations)),
        counts=pages.counts(PLAN),
        claims=pages.claims(PLAN),
    output:
        claims="results/claims.csv",
        comparison="results/comparison/claims.csv",
    localrule: True
    params:
        settings=for_job(configuration.claim_settings),
    shell:
        "python -m pipeline judge-claims --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "--counts {input.counts:q} --claims {input.claims:q} --output {output.claims:q} --comparison {output.comparison:q}"


rule draw_retrieved:
    input:
        unpack(for_job(pages.figure_inputs)),
        templates=TEMPLATES,
    output:
        "results/figure{number}.html",
    wildcard_constraints:
        number=either(pages.FIGURES),
    resources:
        **needs(mem_mb=4000, runtime=30),
    params:
        settings=for_job(pages.figure_settings),
    shell:
        "python -m pipeline draw-retrieved --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "--images {input.images:q} --output {output:q}"


# Run times are shown as they are; if they change, the report is not written again.
rule write_report:
    input:
        comparisons=pages.comparisons(PLAN),
        claims=pages.verdicts(PLAN),
        claim_comparisons=pages.verdicts(PLAN, "results/comparison"),
        figures=for_job(pages.figures),
        curves=for_job(pages.curves),
        captions=for_job(pages.captions),
        templates=TEMPLATES,
    output:
        "results/report.html",
    localrule: True
    params:
        settings=for_job(pages.report_settings),
        benchmarks=PLAN.path(paths.LOGS),
        comparisons=pages.comparison_arguments(PLAN),
        captions=for_job(pages.caption_arguments),
    shell:
        "python -m pipeline write-report --settings {params.settings:q} --comparisons {params.comparisons:q} "
        "--claims {input.claims:q} --claim-comparisons {input.claim_comparisons:q} --figures {input.figures:q} "
        "--curves {input.curves:q} --captions {params.captions:q} --benchmarks {params.benchmarks:q} "
        "--output {output:q}"

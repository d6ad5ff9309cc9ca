TEMPLATES = sorted(map(str, Path(workflow.basedir).glob("pipeline/report/templates/*")))


rule judge_claims:
    input:
        evaluations=judged_evaluations,
        ranks=ranks_beside(reported_evaluations()),
        counts=reported_counts(),
        claims=expand("config/claims/{paper}.yaml", paper=reported_papers()),
    output:
        claims=report(
            f"{FINISHED}/claims.csv",
            caption="../captions/claims.rst",
            category="Claims",
        ),
        comparison=report(
            f"{FINISHED}/comparison/claims.csv",
            caption="../captions/claim-comparisons.rst",
            category="Claims",
        ),
    log:
        "work/logs/tables/claims.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=as_json(configuration.claim_settings(SETTINGS)),
        counts=[f"--counts={path}" for path in reported_counts()],
        code=code.digest("judge-claims"),
    message:
        "Judging the papers' claims"
    shell:
        "python -m pipeline judge-claims --code {params.code} --settings {params.settings:q} --evaluations {input.evaluations:q} "
        "{params.counts:q} --claims {input.claims:q} --output {output.claims:q} --comparison {output.comparison:q} > {log:q} 2>&1"


rule figure:
    input:
        unpack(figure_inputs),
        templates=TEMPLATES,
    output:
        report(
            f"{FINISHED}/figure{{number}}.html",
            caption="../captions/figure.rst",
            category="Figures",
        ),
    log:
        "work/logs/figures/figure{number}.log",
    wildcard_constraints:
        number="|".join(FIGURES),
    conda:
        "../../envs/pipeline.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=30,
        disk_mb=1000,
        gpu=0,
    params:
        settings=lambda wildcards: as_json(
            {"number": int(wildcards.number), "seed": 0, "threads": 1}
        ),
        images=lambda wildcards, input: [f"--images={path}" for path in input.images],
        code=code.digest("draw-retrieved", (language_row("*"),)),
    message:
        "Drawing Figure {wildcards.number}"
    shell:
        "python -m pipeline draw-retrieved --code {params.code} --settings {params.settings:q} --model {input.model:q} "
        "--features {input.features:q} --words {input.words:q} --sentences {input.sentences:q} "
        "{params.images:q} --output {output:q} > {log:q} 2>&1"


# Run times and fetched files are looked at as they are; they are no reason to write the report again.
rule report:
    input:
        comparisons=expand(
            f"{FINISHED}/comparison/{{table}}.csv", table=reported_comparisons()
        ),
        claims=reported_claims(),
        figures=reported_figures,
        curves=reported_curves,
        captions=list(reported_captions().values()),
        context=reported_context(),
        sources="workflow/sources.csv",
        templates=TEMPLATES,
    output:
        report(
            f"{FINISHED}/report.html",
            caption="../captions/report.rst",
            category="Report",
        ),
    log:
        "work/logs/report.log",
    localrule: True
    conda:
        "../../envs/pipeline.yaml"
    params:
        settings=lambda wildcards: report_options(),
        claims=claim_options(),
        benchmarks=f"work/logs/{SCALE}",
        comparisons=lambda wildcards, input: [
            f"{name}={path}"
            for name, path in zip(reported_comparisons(), input.comparisons)
        ],
        captions=[f"{name}={path}" for name, path in reported_captions().items()],
        context=[f"--context={path}" for path in reported_context()],
        code=code.digest("write-report", (language_row("*"),)),
    message:
        "Writing {output}"
    shell:
        "python -m pipeline write-report --code {params.code} --settings {params.settings:q} --comparisons {params.comparisons:q} "
        "{params.claims:q} --figures {input.figures:q} "
        "--curves {input.curves:q} --captions {params.captions:q} --benchmarks {params.benchmarks:q} "
        "{params.context:q} --sources {input.sources:q} --downloads work/sources --output {output:q} > {log:q} 2>&1"

# Every table of the papers is a target: snakemake results/table4.csv --cores 8
# Rules are in workflow/rules, in the order of the data flow; each is one `python -m pipeline` call. What a job reads, and
# with which settings, is computed by pipeline/plan and pipeline/settings.

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/captions.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/translation.smk"
include: "workflow/rules/words.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/lessons.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/smalr.smk"


rule all:
    """make every table and the report; a file is a target too, such as results/table4.csv"""
    default_target: True
    input:
        for_job(tables.every_table),
        RESULTS.latest("report.html"),


# The environment of every job, with --sdm conda. The line of a rule in `snakemake --list-rules` is that of its command.
SUMMARIES = {
    name.replace("-", "_"): stage.summary
    for name, stage in (STAGES | SEARCH_STAGES).items()
}
for each in workflow.rules:
    if each.shellcmd:
        each.conda_env = str(Path(workflow.basedir, "envs", "pipeline.yaml"))
    each.docstring = each.docstring or SUMMARIES.get(each.name)


with refusing():
    targets.check_targets(PLAN, [made.name for made in workflow.rules])
    for warning in targets.target_warnings(PLAN, config):
        print(f"warning: {warning}", file=sys.stderr)


onstart:
    with refusing():
        code.save_code(CODE_OF_RUN)
        earlier.keep_earlier(workflow.persistence)


onsuccess:
    earlier.forget_earlier()


onerror:
    with refusing():
        earlier.restore_earlier(workflow.persistence)

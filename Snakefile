# Every table of the papers is a target: snakemake results/table4.csv --cores 8
# Rules are in workflow/rules, in the order of the data flow; each is one `python -m pipeline` call. What a job reads, and
# with which settings, is computed by pipeline/plan and pipeline/settings.

import os

from snakemake.utils import min_version

min_version("9.27")


configfile: os.path.relpath(os.path.join(workflow.current_basedir, "config/config.yaml"))


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
    """Make every table and the report; a file is a target too, such as results/table4.csv"""
    default_target: True
    input:
        for_job(tables.every_table),
        "<results>/report.html",


# A rule that runs a stage has a log, run times, a message, the environment of jobs with --sdm conda, and its stage's
# summary as its line in `snakemake --list-rules`. The digest of its code reruns its jobs after an edit; what was downloaded
# or unpacked stays.
WITHOUT_CODE = ("download", "unpack", "prefetch-models")
for each in workflow.rules:
    if started := re.search(r"python -m pipeline (\S+)", each.shellcmd or ""):
        stage, names = STAGES[started[1]], each.wildcard_names
        job = "-".join(f"{{{name}}}" for name in sorted(names - {"run"}))
        folder = paths.LOGS if "run" in names else PLAN.path(paths.LOGS)
        place = Path(folder, each.name, job)
        each.log_modifier = each.benchmark_modifier = each.output_modifier
        each.set_log(f"{place}.log")
        each.benchmark = f"{place}.tsv"
        each.message = f"{stage.summary}: {{wildcards}}" if names else stage.summary
        each.docstring = each.docstring or stage.summary
        each.conda_env = os.path.join(HOME, "envs", "pipeline.yaml")
        if stage.name not in WITHOUT_CODE and "code" not in each.params.keys():
            each.set_params(code=code_of_jobs(stage))


onstart:
    # With its limit of jobs per second, which is on by default, Snakemake 9.27 starts an endless chain of timers for every
    # finished job, and each timer computes the parameters of all ready jobs again (its pull request 3744).
    workflow.scheduler.job_rate_limiter = None
    with refusing():
        earlier.keep_earlier(workflow.persistence)
        job_logs.empty_logs(workflow.persistence)


onsuccess:
    earlier.forget_earlier()
    job_logs.show_warnings(workflow.persistence)


onerror:
    with refusing():
        earlier.restore_earlier(workflow.persistence)
    job_logs.show_warnings(workflow.persistence)

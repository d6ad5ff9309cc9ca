# Every table of the papers is a target: snakemake results/table4.csv --cores 8
# Rules are in workflow/rules, in the order of the data flow; each is one `python -m pipeline` call. Functions that
# compute their inputs and parameters are in workflow/helpers.

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/helpers/common.smk"
include: "workflow/helpers/sources.smk"
include: "workflow/helpers/captions.smk"
include: "workflow/helpers/images.smk"
include: "workflow/helpers/translation.smk"
include: "workflow/helpers/words.smk"
include: "workflow/helpers/training.smk"
include: "workflow/helpers/lessons.smk"
include: "workflow/helpers/tables.smk"
include: "workflow/helpers/report.smk"
include: "workflow/helpers/search.smk"
include: "workflow/helpers/smalr.smk"
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
    default_target: True
    input:
        every_table,
        "results/report.html",


if workflow.is_main_process:
    check_targets()


onstart:
    code.save_code(CODE_OF_RUN)
    check_context(workflow.persistence)
    keep_earlier(workflow.persistence)


onsuccess:
    shutil.rmtree(EARLIER, ignore_errors=True)


onerror:
    restore_earlier(workflow.persistence)

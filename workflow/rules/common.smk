# The configuration, the plan of all jobs, and what all rules use. What a job reads is computed by the functions of
# pipeline/plan, with which settings by them and by the functions of pipeline/settings.

import contextlib
import inspect
import os
import sys
from glob import glob
from pathlib import Path

# This repository, which may be another folder than that of the project, is imported here and by all jobs.
HOME = str(Path(workflow.current_basedir).parents[1])
sys.path.insert(0, HOME)

# Jobs run the Python that runs Snakemake, also if its environment is not active; on a cluster's nodes too, which
# read this file before their job. A conda environment, if one is asked for, comes before it.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()]),
    PYTHONPATH=os.pathsep.join([HOME, *filter(None, [os.environ.get("PYTHONPATH")])]),
)

from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.paths import check_paths
from pipeline.common.errors import error_message
from pipeline.common.yaml_files import read_yaml_files
from pipeline.plan import (
    captions,
    code,
    earlier,
    images,
    job_logs,
    lessons,
    pages,
    paths,
    sources,
    tables,
    training,
    translation,
    words,
)
from pipeline.plan.cells import table_names
from pipeline.plan.plan import Plan, either
from pipeline.stages import STAGES
from workflow import command_line


@contextlib.contextmanager
def refusing():
    """End Snakemake with a message about an error that a user can fix.

    A WorkflowError would be lost if an older result exists: Snakemake would use that one without a word.
    """
    try:
        yield
    except Exception as error:
        if not (message := error_message(error)):
            raise
        sys.exit(f"error: {message}")


with refusing():
    read_yaml_files(map(Path, workflow.configfiles), reading.HEADING)
    SETTINGS = reading.load(config)
    PLAN = Plan(SETTINGS)
    if workflow.is_main_process:  # not again in every job of a cluster
        command_line.check(sys.argv[1:])  # again: other profiles have not called it
        check_paths(SETTINGS)
        images.check_backbones(PLAN)
        captions.check_coverage(PLAN)


def for_job(function, attribute=None, **chosen):
    """The function of a job's wildcards that asks the plan about the job; what it refuses ends Snakemake.

    The first parameter of `function` is the plan, or the configuration for settings. Others that are not chosen
    here bear the names of wildcards. attribute: of what it returns. Settings become JSON.
    """
    first, *parameters = inspect.signature(function).parameters.values()
    subject = PLAN if first.annotation is Plan else SETTINGS
    parameters = [parameter for parameter in parameters if parameter.name not in chosen]

    def of_wildcards(wildcards):
        values = {
            parameter.name: of_type(parameter.annotation, wildcards[parameter.name])
            for parameter in parameters
        }
        with refusing():
            found = function(subject, **values, **chosen)
            found = getattr(found, attribute) if attribute else found
            return found.as_json() if hasattr(found, "as_json") else found

    return of_wildcards


def code_of_jobs(stage):
    """The function of a job's wildcards that returns the digest of the code that it runs."""
    return lambda wildcards: code.code_of(
        PLAN, stage, wildcards.get("dataset", ""), wildcards.get("experiment", "")
    )


def of_type(annotation, text):
    """A wildcard as a parameter of the plan: a seed is a number, all others are texts."""
    return int(text) if annotation is int else str(text)


def growing(amount):
    """Megabytes or minutes of a job, which is retried with more of them."""
    return lambda wildcards, attempt: amount * attempt


def needs(mem_mb, runtime, disk_mb=1000, gpu=0):
    """Resources of a job that a cluster's queue may get; a retry has more memory."""
    return {
        "mem_mb": growing(mem_mb),
        "runtime": runtime,
        "disk_mb": disk_mb,
        "gpu": gpu,
    }


def translating(function):
    """Resources of a job that translates.

    The cache's path and the rate are resources: neither changes a translation, and a changed resource, unlike a
    changed param, reruns nothing.
    """
    return {
        **needs(
            mem_mb=4000,
            runtime=for_job(function, "minutes"),
            disk_mb=2000,
            gpu=for_job(function, "gpus"),
        ),
        "translations": for_job(function, "services"),
        "cache": SETTINGS.translation.cache,
        "rate": str(SETTINGS.translation.requests_per_second),
    }


def provider(function):
    """Parameters of a job that translates."""
    return {name: for_job(function, name) for name in ("source", "options", "code")}


pathvars:
    results=SETTINGS.results,
    papers=paths.PAPERS,


wildcard_constraints:
    run=SETTINGS.run,
    dataset=either(PLAN.datasets),
    language="[a-z]{2}",
    source="[a-z]{2}",
    target="[a-z]{2}",
    seed=r"\d+",
    captions="human|human[+]mt|mt|augmented",
    experiment="[a-z0-9+-]+",
    digest="[0-9a-f]+",
    queries="original|translated",
    consistency="average|learned",
    reduction=r"(frequency|pca|dictionary)-\d+|frequency-\d+[+]pca-\d+",

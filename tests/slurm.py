"""A real Slurm of one node on this machine: munged, slurmctld and slurmd, on the loopback device only."""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
PORTS = (26817, 26818)
SYSTEM = Path("/etc/slurm/slurm.conf")  # the executor's job steps look only here

_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost
SlurmctldAddr=127.0.0.1
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdParameters=config_overrides
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0
ReturnToService=2
KillWait=10
MinJobAge=300
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=64000 State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing() -> str:
    """Why no Slurm can be started here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can start a Slurm of its own"
    absent = [name for name in PROGRAMS if _program(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: slurm-wlm, munge)"
    return f"{SYSTEM} is there: this machine has a Slurm of its own" if SYSTEM.exists() else ""


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """Start Slurm with all its files in `folder`, and stop it with all its jobs at the end."""
    _configure(folder)
    with ExitStack() as stack:
        SYSTEM.parent.mkdir(exist_ok=True)
        SYSTEM.symlink_to(folder / "slurm.conf")
        stack.callback(SYSTEM.unlink)
        stack.callback(subprocess.run, ["scancel", "--user=root"], capture_output=True)
        key = folder / "munge.key"
        munge = ["--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
        munge += [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
        _start(stack, ["munged", *munge], user="munge")
        wait((folder / "munge.socket").exists, "munged has no socket")
        _start(stack, ["slurmctld", "-D", "-c"])
        _start(stack, ["slurmd", "-D", "-N", "localhost"])
        wait(_idle, "the node is not idle")
        yield


def _configure(folder: Path) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    text = _CONFIGURATION.format(folder=folder, ports=PORTS, cpus=os.cpu_count())
    (folder / "slurm.conf").write_text(text)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    for path in (key, folder):
        shutil.chown(path, "munge", "munge")
    for parent in folder.parents:  # the user munge and Slurm's jobs must reach the socket
        if parent.owner() == "root" and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)


def _start(stack: ExitStack, command: list[str], user: str | None = None) -> None:
    path = _program(command[0]) or command[0]
    process = subprocess.Popen(
        [path, *command[1:]],
        user=user,
        group=user,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _idle() -> bool:
    return b"idle" in subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True).stdout


def wait(done: Callable[[], bool], what: str, seconds: float = 600) -> None:
    """Wait until something is done."""
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.1)

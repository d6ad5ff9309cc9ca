"""A real Slurm of one node on this machine: munged, slurmctld and slurmd, on the loopback device only."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
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
    if SYSTEM.exists() and not _left_behind():
        return f"{SYSTEM} is there: this machine has a Slurm, or another run of the tests has"
    return ""


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """Start Slurm with all its files in `folder`, and stop it with all its jobs at the end."""
    _configure(folder)
    with ExitStack() as stack:
        SYSTEM.parent.mkdir(exist_ok=True)
        SYSTEM.unlink(missing_ok=True)
        SYSTEM.symlink_to(folder / "slurm.conf")
        stack.callback(SYSTEM.unlink)
        stack.callback(_stop_jobs)
        key = folder / "munge.key"
        munge = ["--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
        munge += [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
        _start(stack, ["munged", *munge], user="munge")
        _wait(lambda: (folder / "munge.socket").exists(), "munged has no socket", folder)
        _start(stack, ["slurmctld", "-D", "-c"])
        _start(stack, ["slurmd", "-D", "-N", "localhost"])
        _wait(lambda: _state() == "idle", "the node is not idle", folder)
        yield


def _left_behind() -> bool:
    """Whether the configuration was left by a test that was killed, and no Slurm uses it."""
    of_a_test = SYSTEM.is_symlink() and SYSTEM.resolve().with_name("munge.key").exists()
    return of_a_test and subprocess.run(["scontrol", "ping"], capture_output=True).returncode != 0


def _configure(folder: Path) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    text = _CONFIGURATION.format(folder=folder, ports=_free_ports(), cpus=os.cpu_count())
    (folder / "slurm.conf").write_text(text)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    for path in (key, folder):
        shutil.chown(path, "munge", "munge")
    for parent in folder.parents:  # the user munge and Slurm's jobs must reach the socket
        if parent.owner() == "root" and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)


def _free_ports() -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]


def _start(stack: ExitStack, command: list[str], user: str | None = None) -> None:
    path = _program(command[0])
    assert path is not None
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


def _state() -> str:
    found = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True)
    return found.stdout.strip()


def _stop_jobs() -> None:
    subprocess.run(["scancel", "--user=root"], capture_output=True)


def _wait(done: Callable[[], bool], what: str, folder: Path, seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            logs = {path.name: path.read_text()[-2000:] for path in folder.glob("*.log")}
            raise RuntimeError(f"Slurm did not start: {what}; logs: {logs}")
        time.sleep(0.1)

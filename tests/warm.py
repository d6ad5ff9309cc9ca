"""A `python` whose `-m pipeline ...` begins with PyTorch and its like imported, for the jobs of tests.

Importing them is two of the three seconds of a small job. A server imports them once for each process of
tests and forks for each job, which has its own folder, environment, arguments and streams and imports the
project's `pipeline` itself; every other command is run by the real Python.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from forked import ROOT, import_from, leave, parsed, status_of

PACKAGES = ("torch", "torchvision", "timm", "pandas", "h5py", "jsonschema", "yaml", "sacremoses")
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# It runs without site-packages, in a hundredth of a second.
CLIENT = """#!{python} -SsE
import json, os, signal, socket, sys
if sys.argv[1:3] != ["-m", "pipeline"]:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect("{address}")
asked = {{"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}}
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
for number in {forwarded}:
    signal.signal(number, lambda number, _: server.send(bytes([number])))
status = int(server.recv(16) or b"1")
if status < 0:
    if -status in {forwarded}:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""

SNAKEMAKE = """#!{python}
import sys
from snakemake.cli import main
sys.executable = "{client}"
sys.exit(main())
"""


@cache
def python() -> str:
    """The path of such a `python`, beside a `snakemake` whose jobs it starts; both end with this process."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = folder / "socket"
    command = [sys.executable, __file__, str(address)]
    # PyTorch reads OMP_... when it is imported; a job's own come too late.
    environment = {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    inherited = ("PATH", *(name for name in os.environ if name.startswith("COVERAGE_")))
    environment |= {name: os.environ[name] for name in inherited}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    atexit.register(server.communicate)  # closes its stdin and waits
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    client, snakemake = folder / "python", folder / "snakemake"
    numbers = tuple(map(int, FORWARDED))
    client.write_text(CLIENT.format(python=sys.executable, address=address, forwarded=numbers))
    snakemake.write_text(SNAKEMAKE.format(python=sys.executable, client=client))
    for program in (client, snakemake):
        program.chmod(0o755)
    return str(client)


def _serve(address: str) -> list[str]:
    """Fork for each connection until the tests' process is gone; returns, in a job, its arguments."""
    for name in PACKAGES:
        importlib.import_module(name)
    sys.path[0] = str(ROOT)
    parsed()
    gc.freeze()  # a fork's collection would touch, and so copy, every page of them
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that have ended need no one to wait for them
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    print("ready", flush=True)
    while True:
        if sys.stdin in select.select([sys.stdin, listening], [], [])[0]:
            os._exit(0)
        client, _ = listening.accept()
        if not os.fork():
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _job(client)
        client.close()


def _job(client: socket.socket) -> list[str]:
    """Fork once more, into the job and its guard, which passes signals on and answers how the job ended."""
    text, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
    if job := os.fork():
        _guard(client, job)
    client.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    asked = json.loads(text)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    arguments: list[str] = asked["arguments"]
    return arguments


def _guard(client: socket.socket, job: int) -> None:
    ended = os.pidfd_open(job)
    while client.fileno() in select.select([client.fileno(), ended], [], [])[0]:
        number = client.recv(1)
        os.kill(job, number[0] if number else signal.SIGKILL)
        if not number:  # the client was killed
            break
    status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    with contextlib.suppress(OSError):
        client.send(str(status).encode())
    os._exit(0)


def _pipeline() -> None:
    runpy.run_module("pipeline", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.argv = _serve(sys.argv[1])
    sys.path[0] = os.getcwd()  # instead of this project
    import_from(Path.cwd(), parsed())
    status = status_of(_pipeline)
    atexit._run_exitfuncs()
    leave(status)  # as multiprocessing's forks do: an orderly end would free, page by page, all modules

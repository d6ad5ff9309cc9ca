"""A `python -m pipeline ...` and a `snakemake` that run in forks of processes with their imports done.

Importing PyTorch and its like is two of the three seconds of a small job, importing Snakemake half of a dry
run. Two servers import them once for each process of tests: one for Snakemake and for stages that need no
PyTorch, whose memory makes a fork slower, and one for the others. A server forks for each command, which has
its own folder, environment, arguments and streams and imports the project's `pipeline` itself. Every other
command of that `python` is run by the real one.
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
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from forked import leave, status_of

ROOT = Path(__file__).parents[1]
PRELOADED = {
    "light": [
        "snakemake.cli",
        "smart_open",
        "yte",
        "pydantic",
        "pandas",
        "h5py",
        "PIL.Image",
        "sacremoses",
    ],
    "torch": ["torch", "torchvision", "timm", "pandas", "h5py", "pydantic", "yaml"],
}
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# Clients run without site-packages, in a hundredth of a second.
CLIENT = """#!{python} -SsE
import json, os, signal, socket, sys
program, arguments, name = "snakemake", sys.argv[1:], "light"
if os.path.basename(sys.argv[0]) == "python":
    if sys.argv[1:2] != ["-m"] or sys.argv[2] != "pipeline":
        os.execv("{python}", ["{python}", *sys.argv[1:]])
    program, arguments = sys.argv[2], sys.argv[3:]
    name = "torch" if arguments[:1] and arguments[0] in {need_torch} else "light"
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect("{folder}/" + name)
asked = {{"program": program, "arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}}
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


def python() -> str:
    """The path of such a `python`, next to the `snakemake`; their servers end with this process."""
    _start("torch")
    snakemake()
    return str(_clients() / "python")


def snakemake() -> str:
    """The path of such a `snakemake`; the `python` next to it runs jobs, once `python` has been called."""
    _start("light")
    return str(_clients() / "snakemake")


@cache
def _clients() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    numbers = tuple(map(int, FORWARDED))
    for name in ("python", "snakemake"):
        client = folder / name
        client.write_text(
            CLIENT.format(python=sys.executable, folder=folder, need_torch=_need_torch(), forwarded=numbers)
        )
        client.chmod(0o755)
    return folder


def _need_torch() -> set[str]:
    """Names of the commands that may import PyTorch."""
    from pipeline.stages import STAGES

    return {*STAGES, "train-multitask"}


@cache
def _start(name: str) -> None:
    command = [sys.executable, __file__, name, str(_clients())]
    # PyTorch reads OMP_... when it is imported; a job's own come too late.
    environment = {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    inherited = ("PATH", *(name for name in os.environ if name.startswith("COVERAGE_")))
    environment |= {name: os.environ[name] for name in inherited}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    atexit.register(server.communicate)  # closes its stdin and waits
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"


def _import(name: str) -> None:
    for module in PRELOADED[name]:
        importlib.import_module(module)
    sys.path[0] = str(ROOT)
    digest_module()
    if name == "light":
        importlib.import_module("snakemake.cli").get_argument_parser()  # imports its plug-ins
        _parse_once()
    gc.freeze()  # a fork's collection would touch, and so copy, every page of them


def _serve(address: Path) -> dict[str, Any]:
    """Fork for each connection until the test process is gone; returns, in a fork, the command to run."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(str(address))
    listening.listen(64)
    print("ready", flush=True)
    clients: dict[socket.socket, int] = {}  # the pid of each one's job
    jobs: dict[int, socket.socket] = {}  # by a file descriptor of the process
    while True:
        for found in select.select([sys.stdin, listening, *clients, *jobs], [], [])[0]:
            if found is sys.stdin:
                os._exit(0)
            elif found is listening:
                client = listening.accept()[0]
                text, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
                if not (job := os.fork()):
                    return _begin(text, streams, [listening, client, *clients], jobs)
                clients[client] = job
                jobs[os.pidfd_open(job)] = client
                for stream in streams:
                    os.close(stream)
            elif found in jobs:
                _answer(found, jobs, clients)
            elif found in clients:
                _forward(found, clients)


def _begin(
    text: bytes, streams: list[int], sockets: list[socket.socket], jobs: dict[int, socket.socket]
) -> dict[str, Any]:
    """Give a fork its own streams, folder and environment, without those of the server or other commands."""
    atexit._clear()
    for inherited in sockets:
        inherited.close()
    for process in jobs:
        os.close(process)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    asked: dict[str, Any] = json.loads(text)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    return asked


def _answer(process: int, jobs: dict[int, socket.socket], clients: dict[socket.socket, int]) -> None:
    """Tell a client, if it is still there, how its job ended."""
    client = jobs.pop(process)
    os.close(process)
    status = os.waitstatus_to_exitcode(os.waitpid(clients.pop(client), 0)[1])
    with contextlib.suppress(OSError):
        client.send(str(status).encode())
    client.close()


def _forward(client: socket.socket, clients: dict[socket.socket, int]) -> None:
    """Pass a client's signal on to its job, which ends with it."""
    try:
        number = client.recv(1)
    except OSError:
        number = b""
    os.kill(clients[client], number[0] if number else signal.SIGKILL)


def _stage(folder: Path, package: str) -> object:
    sys.path[0] = str(folder)  # instead of this project
    import_from(folder, digest_module())
    return runpy.run_module(package, run_name="__main__", alter_sys=True)


def _snakemake(folder: Path) -> object:
    main: Callable[[], object] = importlib.import_module("snakemake.cli").main
    sys.path[0] = str(folder)
    import_from(folder, digest_module())
    sys.executable = str(Path(sys.argv[0]).with_name("python"))
    return main()


def _parse_once() -> None:
    """Make Snakemake parse a workflow file only if it has changed, which saves a fifth of a dry run."""
    workflow: Any = importlib.import_module("snakemake.workflow")
    source = importlib.import_module("snakemake.sourcecache").LocalSourceFile
    files = SimpleNamespace(
        sourcecache=SimpleNamespace(open=lambda file: StringIO(Path(str(file)).read_text("utf-8")))
    )
    parse, known = workflow.parse, {}
    for path in (ROOT / "Snakefile", *ROOT.glob("workflow/**/*.smk")):
        lines: dict[int, int] = {}
        code, rules = parse(source(str(path)), files, lines)
        known[path.read_text(encoding="utf-8")] = repr(str(path)), code, rules, lines

    def parse_once(file: Any, flow: Any, linemap: dict[int, int], rulecount: int = 0) -> tuple[str, int]:
        found = known.get(Path(file.get_path_or_uri(secret_free=True)).read_text(encoding="utf-8"))
        if found is None:
            parsed: tuple[str, int] = parse(file, flow, linemap, rulecount=rulecount)
            return parsed
        path, code, rules, lines = found
        linemap |= lines
        return code.replace(path, repr(file.get_path_or_uri(secret_free=True))), rulecount + rules

    workflow.parse = parse_once


@cache
def digest_module() -> Any:
    """`pipeline.digest`, which has parsed this project's code, once for all forks."""
    code: Any = importlib.import_module("pipeline.digest")
    code.text = Path(code.__file__).read_bytes()
    for path in (path for package in code.PACKAGES for path in (code.ROOT / package).rglob("*.py")):
        code.code_of_text(path.read_text(encoding="utf-8"))
    return code


def import_from(folder: Path, code: Any) -> None:
    """Import `pipeline` again, from a copy; its digests parse only the modules that differ."""
    for name in [name for name in sys.modules if name.partition(".")[0] in code.PACKAGES]:
        del sys.modules[name]
    importlib.invalidate_caches()
    copied = folder / "pipeline" / "digest.py"
    if copied.exists() and copied.read_bytes() == code.text:
        its: Any = importlib.import_module("pipeline.digest")
        its.code_of_text = code.code_of_text


if __name__ == "__main__":
    name, folder = sys.argv[1:]
    _import(name)
    asked = _serve(Path(folder, name))
    program = asked["program"]
    sys.argv = [str(Path(folder, program)), *asked["arguments"]]
    status = status_of(
        lambda: _snakemake(Path.cwd()) if program == "snakemake" else _stage(Path.cwd(), program)
    )
    atexit._run_exitfuncs()
    leave(status)  # as multiprocessing's forks do: a normal exit would free all modules, page by page

"""A Python with torch that runs scripts, each in a fork of its own: an import of torch takes more than a second of a processor."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner_process import REPOSITORY

TORCH_PYTHON = REPOSITORY / ".venv-torch" / "bin" / "python"

SERVER = """
import json, os, runpy, sys, tempfile, traceback
import torch
sys.path.insert(0, sys.argv[1])
for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.argv = json.loads(line)
                runpy.run_path(sys.argv[0], run_name="__main__")
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        print(json.dumps([code, out.read().decode(), err.read().decode()]), flush=True)
"""


class TorchScripts:
    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self._process = process
        self._script = directory / "script.py"

    def run(self, source: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        """@param source of a script, which may import what clients/python has. @returns its exit code and what it printed."""
        assert self._process.stdin and self._process.stdout
        # A file, since TorchScript reads the source of a module from there.
        self._script.write_text(source)
        argv = [str(self._script), *map(str, arguments)]
        print(json.dumps(argv), file=self._process.stdin, flush=True)
        code, stdout, stderr = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(argv, code, stdout, stderr)

    def check(self, source: str, *arguments: str | Path) -> str:
        """As `run`, of a script that has to succeed. @returns its standard output."""
        done = self.run(source, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def open_torch_scripts() -> Iterator[TorchScripts]:
    command = [TORCH_PYTHON, "-c", SERVER, REPOSITORY / "clients/python/src"]
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        yield TorchScripts(process, Path(directory))

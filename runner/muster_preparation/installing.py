"""What the programs that install packages have in common."""

import json
import subprocess
import sys

SECONDS = 900


def run_manager(command: list[str], environment: dict[str, str], directory: str) -> str | None:
    """Run a package manager. Returns what is wrong, or None."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd=directory, check=False)
    except subprocess.TimeoutExpired:
        return f"{command[0]} took more than {SECONDS} s"
    except OSError as error:
        return f"{command[0]} cannot be run: {error}"
    return None if done.returncode == 0 else f"{' '.join(command)[:200]}: {(done.stderr or done.stdout).strip()[-800:]}"


def answer(pinned: list[str], problem: str | None = None) -> None:
    """Print what was installed, or what is wrong."""
    json.dump({"pinned": sorted(pinned), "problem": problem}, sys.stdout)

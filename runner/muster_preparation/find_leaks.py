"""Look for files that hold a fix: vendored copies, installed releases, packages, compiled files.

Reads JSON from stdin: `added` and `windows` as leaks.ts makes them, `places` to look in, `except` paths that may hold it.
Prints a JSON list of paths.
"""

import io
import json
import os
import sys
import tarfile
import zipfile
from dataclasses import dataclass

MOST_BYTES = 4 * 2**20
MOST_ENTRIES = 5000
LEAST_DISTINCT = 24


@dataclass(frozen=True)
class Trace:
    """What gives a fix away: these lines anywhere, or these windows of lines."""

    lines: frozenset[str]
    windows: list[str]
    # A file that holds the fix holds each of its words: the longest one is enough to rule out most files.
    word: bytes

    @staticmethod
    def of(added: list[str], windows: list[list[str]]) -> "Trace":
        """Lines, where they are enough to tell the fix by, and otherwise windows."""
        telling = any(len(line) >= LEAST_DISTINCT for line in added) or len(added) > 2
        wanted = added if telling else [line for window in windows for line in window]
        word = max((word for line in wanted for word in line.split() if word.isascii()), key=len, default="")
        usable = [] if telling or any(len(window) < 3 for window in windows) else ["\n" + "\n".join(window) + "\n" for window in windows]
        return Trace(frozenset(added if telling else []), usable, word.encode())

    def stands_in(self, content: bytes) -> bool:
        """Whether a file's text holds the fix."""
        if self.word not in content:
            return False
        lines = [line for line in (" ".join(line.split()) for line in content.decode("utf-8", "replace").split("\n")) if line]
        if self.lines:
            return self.lines.issubset(lines)
        joined = "\n" + "\n".join(lines) + "\n"
        return bool(self.windows) and all(window in joined for window in self.windows)


def main() -> None:
    """Print what was found."""
    asked = json.load(sys.stdin)
    allowed = set(asked["except"])
    suffixes = tuple(asked["suffixes"])
    trace = Trace.of(asked["added"], asked["windows"])
    found = []
    for place in asked["places"]:
        for directory, directories, names in os.walk(place):
            directories.sort()
            for name in sorted(names):
                path = os.path.join(directory, name)
                if path not in allowed and not os.path.islink(path):
                    found.extend(_leaks(path, suffixes, trace))
    json.dump(found[:50], sys.stdout)


def _leaks(path: str, suffixes: tuple[str, ...], trace: Trace) -> list[str]:
    if path.endswith((".whl", ".zip", ".egg", ".jar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".crate")):
        return [f"{path}!{name}" for name, text in _archived(path) if name.endswith(suffixes) and trace.stands_in(text)]
    if not path.endswith(suffixes):
        return []
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return []
    return [path] if trace.stands_in(text) else []


def _archived(path: str) -> list[tuple[str, bytes]]:
    """Text files of an archive, as far as the bounds go; none of what is no archive."""
    files = []
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist()[:MOST_ENTRIES]:
                    if entry.file_size <= MOST_BYTES:
                        files.append((entry.filename, archive.read(entry)))
        else:
            with tarfile.open(path) as tar:
                for _ in range(MOST_ENTRIES):
                    member = tar.next()
                    if member is None:
                        break
                    content = tar.extractfile(member) if member.isfile() and member.size <= MOST_BYTES else io.BytesIO()
                    files.append((member.name, content.read() if content else b""))
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError, NotImplementedError):
        pass
    return files


if __name__ == "__main__":
    main()

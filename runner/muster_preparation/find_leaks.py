"""Looks for files that hold a fix: vendored copies, installed releases, packages, patches.

Reads JSON from stdin: `parts` and `word` as leaks.ts makes them, `places` to look in, in which `*` matches any name, and `suffixes` of the
files that are read. Prints a JSON list of paths.
"""

import glob
import json
import lzma
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MOST_BYTES = 4 * 2**20
MOST_ENTRIES = 5000
# Bytes that are unpacked of one archive. A small archive can unpack to gigabytes.
MOST_UNPACKED = 256 * 2**20
# Errors of damaged archives, also of those that a repository damages on purpose. A header with a malformed number raises ValueError.
_DAMAGED = (
    OSError,
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
)


@dataclass(frozen=True)
class Trace:
    """The text that identifies a fix: consecutive lines for each of its parts."""

    parts: list[list[str]]
    word: bytes

    def stands_in(self, name: str, content: bytes) -> bool:
        """Returns whether a file's text contains the fix."""
        if not self.parts or self.word not in content:
            return False
        text = content.decode("utf-8", "replace")
        lines = _read_patched_lines(text) if name.endswith((".patch", ".diff")) else text.split("\n")
        joined = "\n" + "\n".join(line for line in (" ".join(line.split()) for line in lines) if line) + "\n"
        return all(any(f"\n{each}\n" in joined for each in texts) for texts in self.parts)


class _RawSparse(tarfile.TarInfo):
    """An archive entry whose map of holes is not read. A map of megabytes, as in the tests of Go's library, takes seconds of processor
    time.
    """

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Leaves the map where it is, in front of the content."""


def main() -> None:
    """Prints the paths of files that hold the fix."""
    asked = json.load(sys.stdin)
    suffixes = tuple(asked["suffixes"])
    trace = Trace(asked["parts"], asked["word"].encode())
    found = []
    for place in sorted(each for pattern in asked["places"] for each in glob.glob(pattern)):
        for directory, directories, names in os.walk(place):
            directories.sort()
            for name in sorted(names):
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    found.extend(_list_leaks(path, suffixes, trace))
    json.dump(found[:50], sys.stdout)


def _read_patched_lines(text: str) -> list[str]:
    """Returns the lines that a patch leaves or adds."""
    return [line[1:] for line in text.split("\n") if line.startswith(("+", " ")) and not line.startswith("+++ ")]


def _list_leaks(path: str, suffixes: tuple[str, ...], trace: Trace) -> list[str]:
    if path.endswith((".whl", ".zip", ".egg", ".jar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".crate")):
        return [f"{path}!{name}" for name, text in _read_archived(path, suffixes) if trace.stands_in(name, text)]
    if not path.endswith(suffixes):
        return []
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return []
    return [path] if trace.stands_in(path, text) else []


def _read_archived(path: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yields the text files of an archive, within the bounds; nothing for a file that is no archive."""
    left = MOST_UNPACKED
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist()[:MOST_ENTRIES]:
                    if entry.file_size > MOST_BYTES or not entry.filename.endswith(suffixes):
                        continue
                    left -= entry.file_size
                    if left < 0:
                        return
                    yield entry.filename, archive.read(entry)
        else:
            with tarfile.open(path, tarinfo=_RawSparse) as tar:
                for _ in range(MOST_ENTRIES):
                    member = tar.next()
                    # To skip an entry, the library unpacks it, so skipped entries count as well.
                    if member is None or member.offset_data + member.size > MOST_UNPACKED:
                        return
                    content = tar.extractfile(member) if member.size <= MOST_BYTES and member.name.endswith(suffixes) else None
                    if content is not None:
                        yield member.name, content.read()
    except _DAMAGED:
        return


if __name__ == "__main__":
    main()

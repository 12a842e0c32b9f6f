"""The settings that all sandboxes of a warden share. They are the first message that Muster sends to it."""

import base64
import resource
from collections.abc import Iterator
from dataclasses import dataclass

from muster_runner.json_fields import Object, as_count, as_flag, as_list, as_object, as_text, required


@dataclass(frozen=True)
class LimitFile:
    """A control file and its value. An optional one does not exist in every kernel."""

    name: str
    value: str
    is_optional: bool


@dataclass(frozen=True)
class Hierarchy:
    """A descriptor of the directory that contains the groups, and the files that are written in each group, in this order."""

    directory: int
    files: tuple[LimitFile, ...]


@dataclass(frozen=True)
class Settings:
    """The settings that all sandboxes of a warden share."""

    # Modules that are imported before the first fork.
    imports: tuple[str, ...]
    # Sizes of /tmp and /dev/shm, in bytes.
    tmp_bytes: int
    shm_bytes: int
    # Targets of the template's mounts that lie in /tmp or /dev/shm. An outer one comes before those inside it.
    mounts_within: tuple[str, ...]
    # The user and group that programs have inside.
    uid: int
    # Whether programs have that user in the warden's user namespace, too. Otherwise they have the warden's user there.
    own_user: bool
    # Whether programs share the host's network.
    host_network: bool
    # Bytes of writable memory that each process may allocate.
    data_bytes: int
    # Limits of each process; None where a control group limits all processes together.
    memory_bytes: int | None
    processes: int | None
    open_files: int
    # A compiled seccomp filter: instructions of struct sock_filter.
    filter: bytes
    # The hierarchies in which every sandbox has a control group of its name.
    cgroups: tuple[Hierarchy, ...]
    # For workspaces: further writable directories, each as large as /tmp. None for other sandboxes.
    writable: tuple[str, ...] | None = None
    # For workspaces: whether their root file system is not this machine's. Its Python then runs in sandboxes only.
    has_own_root: bool = True


def parse_settings(value: Object) -> Settings:
    """Parses the settings. @raises FieldError"""
    limits = as_object(required(value, "limits", "open"), "limits")
    return Settings(
        imports=_parse_texts(value, "imports"),
        tmp_bytes=as_count(required(limits, "tmp_bytes", "limits"), "limits.tmp_bytes"),
        shm_bytes=as_count(required(limits, "shm_bytes", "limits"), "limits.shm_bytes"),
        mounts_within=_parse_texts(value, "mounts_within"),
        uid=as_count(required(value, "uid", "open"), "uid"),
        own_user=as_flag(required(value, "own_user", "open"), "own_user"),
        host_network=as_flag(required(value, "host_network", "open"), "host_network"),
        data_bytes=as_count(required(limits, "data_bytes", "limits"), "limits.data_bytes"),
        memory_bytes=_limit(limits, "memory_bytes"),
        processes=_limit(limits, "processes"),
        open_files=as_count(required(limits, "open_files", "limits"), "limits.open_files"),
        filter=base64.b64decode(as_text(required(value, "filter", "open"), "filter"), validate=True),
        cgroups=tuple(_parse_hierarchy(as_object(each, "cgroups")) for each in as_list(required(value, "cgroups", "open"), "cgroups")),
        writable=_parse_texts(value, "writable") if value.get("writable") is not None else None,
        has_own_root=as_flag(required(value, "own_root", "open"), "own_root"),
    )


def list_limits(settings: Settings) -> Iterator[tuple[int, int]]:
    """Yields the limits of each process of a workspace: the number of the limit and its value."""
    wished = (
        (resource.RLIMIT_AS, settings.memory_bytes),
        (resource.RLIMIT_NPROC, settings.processes),
        (resource.RLIMIT_NOFILE, settings.open_files),
    )
    for kind, wanted in wished:
        if wanted is not None:
            hard = resource.getrlimit(kind)[1]
            yield kind, wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _parse_hierarchy(value: Object) -> Hierarchy:
    files = as_list(required(value, "files", "cgroups"), "cgroups.files")
    return Hierarchy(
        directory=as_count(required(value, "directory", "cgroups"), "cgroups.directory"),
        files=tuple(_limit_file(as_object(file, "cgroups.files")) for file in files),
    )


def _limit_file(value: Object) -> LimitFile:
    return LimitFile(
        name=as_text(required(value, "file", "cgroups.files"), "cgroups.files.file"),
        value=as_text(required(value, "value", "cgroups.files"), "cgroups.files.value"),
        is_optional=as_flag(required(value, "optional", "cgroups.files"), "cgroups.files.optional"),
    )


def _parse_texts(value: Object, name: str) -> tuple[str, ...]:
    return tuple(as_text(text, name) for text in as_list(required(value, name, "open"), name))


def _limit(limits: Object, name: str) -> int | None:
    value = required(limits, name, "limits")
    return None if value is None else as_count(value, f"limits.{name}")

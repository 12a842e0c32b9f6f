"""Decompresses zstd where this Python can: from 3.14 on in its standard library, before with the same code in `backports.zstd`."""

from importlib import import_module
from types import ModuleType


def _import_library() -> ModuleType | None:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def can_unpack() -> bool:
    return _import_library() is not None


def unpack(packed: bytes, most: int) -> bytes:
    """Decompresses data. @raises ValueError when it is not zstd, or holds more than `most` bytes."""
    library = _import_library()
    if library is None:
        raise ValueError("this Python has no zstd")
    decompressor = library.ZstdDecompressor()
    try:
        content: bytes = decompressor.decompress(packed, max_length=most + 1)
    except library.ZstdError as error:
        raise ValueError(str(error)) from error
    if len(content) > most or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"it does not contain at most {most} bytes and nothing after them")
    return content

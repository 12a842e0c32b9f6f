"""Encodes pictures as PNG, small enough for a frame of the protocol."""

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The longer side in pixels, as large as a page shows a picture.
MOST_PIXELS = 480
# In bytes. Base64 adds a third, and a frame has 64 KiB.
MOST_BYTES = 44 * 1024
SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB = 2


class PictureError(Exception):
    """A result of `render` that is no picture."""


def encode_picture(rendered: Any) -> bytes:
    """Encodes a picture as PNG, coarser if it would not fit into a frame.

    @param rendered: the result of `render` with `rgb_array`: bytes of the shape (height, width, 3).

    @raises PictureError
    """
    if rendered is None:
        raise PictureError("render() gave nothing: the environment has no rgb_array, or its entry takes no render_mode")
    pixels = np.asarray(rendered)
    if pixels.ndim != 3 or pixels.shape[2] < RGB + 1 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise PictureError(f"render() gave {pixels.dtype} of shape {pixels.shape}, expected uint8 of shape (height, width, 3)")
    stride = -(-max(pixels.shape[:2]) // MOST_PIXELS)
    while True:
        encoded = _encode_png(np.ascontiguousarray(pixels[::stride, ::stride, :3]))
        if len(encoded) <= MOST_BYTES:
            return encoded
        stride += 1


def _encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encodes a PNG (https://www.w3.org/TR/png-3/). Each row holds the differences to the row above, which compress better."""
    height, width, _ = pixels.shape
    rows = np.empty((height, 1 + 3 * width), dtype=np.uint8)
    up = 2
    rows[:, 0] = up
    flat = pixels.reshape(height, 3 * width)
    rows[0, 1:] = flat[0]
    rows[1:, 1:] = flat[1:] - flat[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, RGB, 0, 0, 0)
    return (
        SIGNATURE + _encode_chunk(b"IHDR", header) + _encode_chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + _encode_chunk(b"IEND", b"")
    )


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

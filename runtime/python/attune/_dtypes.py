"""Element types: their numbers in attune.h, what numpy calls them, and bf16, which numpy has no type for.

A bf16 array is a numpy array of uint16 that holds the bits.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InvalidArgumentError

# name in specs: (number in attune.h, numpy's type)
DTYPES: dict[str, tuple[int, np.dtype[Any]]] = {
    "bf16": (1, np.dtype(np.uint16)),
    "fp16": (2, np.dtype(np.float16)),
    "f32": (3, np.dtype(np.float32)),
    "i32": (4, np.dtype(np.int32)),
    "i64": (5, np.dtype(np.int64)),
    "i16": (6, np.dtype(np.int16)),
    "i8": (7, np.dtype(np.int8)),
    "u8": (8, np.dtype(np.uint8)),
    "bool": (9, np.dtype(np.bool_)),
}
_BY_NUMPY = {numpy_type: name for name, (_, numpy_type) in DTYPES.items()}


def name_of(numpy_type: np.dtype[Any], what: str) -> str:
    """What specs call a type of numpy; uint16 is bf16."""
    if numpy_type.name == "bfloat16":  # of the ml_dtypes package
        return "bf16"
    found = _BY_NUMPY.get(numpy_type)
    if not found:
        legal = ", ".join(f"{known} ({name})" for known, name in _BY_NUMPY.items())
        raise InvalidArgumentError(f"{what}: a kernel reads no arrays of {numpy_type}; legal are {legal}")
    return found


def to_bf16(values: Any) -> np.ndarray[Any, Any]:
    """The nearest bf16 numbers, ties to even, as uint16 bits. Any shape; NaN stays NaN."""
    given = np.ascontiguousarray(values, dtype=np.float32)
    bits = given.view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    quiet = ((bits >> 16) | 0x40).astype(np.uint16)
    return np.where(np.isnan(given), quiet, rounded).reshape(np.shape(values))


def from_bf16(bits: Any) -> np.ndarray[Any, Any]:
    """bf16 bits (uint16) as float32, exactly. Any shape."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)

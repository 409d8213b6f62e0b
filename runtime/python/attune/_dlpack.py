"""Tensors of other libraries by DLPack, read from the capsule with ctypes: numpy's own reader refuses bf16 and GPUs."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, Optional

from ._errors import InvalidArgumentError

CPU, ROCM, ROCM_HOST = 1, 10, 11
_TYPES = {(4, 16): "bf16", (2, 16): "fp16", (2, 32): "f32", (0, 32): "i32", (0, 64): "i64", (0, 16): "i16",
          (0, 8): "i8", (1, 8): "u8", (6, 8): "bool"}


class _Tensor(Structure):  # DLTensor
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [py_object, c_char_p], c_void_p


class Imported:
    """A tensor of another library: where it lies, without a copy. Strides in elements."""

    def __init__(self, tensor: Any, what: str, stream: Optional[int]) -> None:
        device_type, self.device_id = (int(number) for number in tensor.__dlpack_device__())
        if device_type not in (CPU, ROCM, ROCM_HOST):
            raise InvalidArgumentError(f"{what}: lies on a device of DLPack's kind {device_type}; legal are the CPU "
                                       f"({CPU}) and ROCm ({ROCM})")
        self.on_gpu = device_type == ROCM
        # Unread, a capsule frees its tensor itself: it is kept as long as the address is used.
        self.keep = tensor.__dlpack__(stream=stream or 0) if self.on_gpu else tensor.__dlpack__()
        # DLManagedTensor begins with its DLTensor.
        dl = ctypes.cast(_pointer_of(self.keep, b"dltensor"), POINTER(_Tensor)).contents
        self.dtype = _TYPES.get((dl.code, dl.bits), "") if dl.lanes == 1 else ""
        if not self.dtype:
            raise InvalidArgumentError(f"{what}: a kernel reads no elements of DLPack's type ({dl.code}, {dl.bits} bits, "
                                       f"{dl.lanes} lanes)")
        self.address = (dl.data or 0) + dl.byte_offset
        self.shape = tuple(dl.shape[: dl.ndim])
        packed, step = [], 1
        for extent in reversed(self.shape):
            packed.insert(0, step)
            step *= extent
        self.strides = tuple(dl.strides[: dl.ndim]) if dl.strides else tuple(packed)
        if any(stride < 0 for stride in self.strides):
            raise InvalidArgumentError(f"{what}: strides must be 0 or more, got {self.strides}; copy a reversed view first")

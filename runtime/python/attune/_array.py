"""Arrays on the device, and how an argument of a call becomes one."""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _abi
from ._abi import library
from ._context import Context, Memory, context_of
from ._dlpack import ROCM, Imported
from ._dtypes import DTYPES, name_of
from ._errors import InvalidArgumentError


class DeviceArray:
    """A strided array in a device's memory. Slicing and transposing make views that share it.

    shape and strides are tuples, strides in elements. dtype is the spec language's name: "bf16", "fp16", "f32", "i32"...
    """

    def __init__(self, context: Context, shape: Sequence[int], dtype: str, *, strides: Optional[Sequence[int]] = None,
                 address: Optional[int] = None, keep: Any = None) -> None:
        if dtype not in DTYPES:
            raise InvalidArgumentError(f"dtype: must be one of {', '.join(DTYPES)}, got {dtype!r}")
        self.context, self.dtype = context, dtype
        self.shape = tuple(int(extent) for extent in shape)
        if any(extent < 0 for extent in self.shape):
            raise InvalidArgumentError(f"shape: extents must be 0 or more, got {self.shape}")
        self.strides = tuple(int(s) for s in strides) if strides is not None else packed_strides(self.shape)
        self._keep = keep if address is not None else Memory(context, self.size * self.itemsize)
        self.address = address if address is not None else self._keep.address

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: str, device: Union[str, Context, None] = None) -> "DeviceArray":
        """Fresh memory, undefined."""
        return cls(context_of(device), shape, dtype)

    @classmethod
    def from_numpy(cls, array: Any, device: Union[str, Context, None] = None) -> "DeviceArray":
        """A packed copy of a numpy array of the same shape; uint16 holds bf16."""
        host = np.asarray(array)
        made = cls(context_of(device), host.shape, name_of(host.dtype, "array"))
        made._fill(host)
        return made

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype][1].itemsize

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy on the host, of the same shape; bf16 as uint16. Work on other streams must be finished."""
        kind = DTYPES[self.dtype][1]
        if not self.size:
            return np.empty(self.shape, kind)
        steps = [stride * kind.itemsize for stride in self.strides]
        reach = sum((extent - 1) * step for extent, step in zip(self.shape, steps))
        host = np.empty(reach + kind.itemsize, np.uint8)
        library.copy_out(self.context._handle, host.ctypes.data, self.address, host.nbytes)
        return np.ndarray(self.shape, kind, host, 0, steps).copy()

    def transpose(self, *axes: int) -> "DeviceArray":
        """A view with its dimensions in another order."""
        if sorted(axes) != list(range(self.ndim)):
            raise InvalidArgumentError(f"transpose: must name each of {self.ndim} dimensions once, got {axes}")
        return self._view([self.shape[a] for a in axes], [self.strides[a] for a in axes], 0)

    def __getitem__(self, key: Any) -> "DeviceArray":
        """A view, by whole numbers and slices of positive step."""
        shape, strides, offset = [], [], 0
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for {self.ndim} dimensions")
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides)):
            item = keys[axis] if axis < len(keys) else slice(None)
            if isinstance(item, slice):
                begin, end, step = item.indices(extent)
                if step < 0:
                    raise IndexError("a view can't run backwards")
                shape.append(len(range(begin, end, step)))
                strides.append(stride * step)
                offset += stride * begin if shape[-1] else 0
            else:
                if not -extent <= item < extent:
                    raise IndexError(f"index {item} is outside dimension {axis} of {extent}")
                offset += stride * (item % extent)
        return self._view(shape, strides, offset)

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> "DeviceArray":
        return DeviceArray(self.context, shape, self.dtype, strides=strides,
                           address=self.address + offset * self.itemsize, keep=self._keep)

    def _fill(self, host: np.ndarray[Any, Any]) -> None:
        """Copies from the host into a packed array."""
        packed = np.ascontiguousarray(host)
        if packed.nbytes:
            library.copy_in(self.context._handle, self.address, packed.ctypes.data, packed.nbytes)

    def _tensor(self) -> _abi.Tensor:
        """As attune.h describes it."""
        if self.ndim > _abi.MAX_RANK:
            raise InvalidArgumentError(f"an array of {self.ndim} dimensions: at most {_abi.MAX_RANK} are possible")
        made = _abi.Tensor(DTYPES[self.dtype][0], self.ndim)
        made.shape[: self.ndim] = self.shape
        made.strides[: self.ndim] = self.strides
        return made

    def __repr__(self) -> str:
        return f"<attune.DeviceArray {self.dtype}{list(self.shape)} on {self.context.device}>"


def packed_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of an array whose elements lie one after another."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


def host_array(given: Any, what: str) -> Optional[np.ndarray[Any, Any]]:
    """An argument that lies in host memory, as numpy sees it; None for one on a device."""
    if isinstance(given, DeviceArray):
        return None
    if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack_device__"):
        if int(given.__dlpack_device__()[0]) == ROCM:
            return None
        tensor = Imported(given, what, None)
        kind = DTYPES[tensor.dtype][1]
        reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.strides))
        if 0 in tensor.shape:
            return np.empty(tensor.shape, kind)
        memory = (ctypes.c_uint8 * ((reach + 1) * kind.itemsize)).from_address(tensor.address)
        memory._keep = tensor  # type: ignore[attr-defined]
        return np.ndarray(tensor.shape, kind, memory, 0, [stride * kind.itemsize for stride in tensor.strides])
    return np.asarray(given)


def on_device(given: Any, context: Context, what: str, stream: Optional[int]) -> tuple[DeviceArray, bool]:
    """An argument as an array on the device, and whether it had to be copied there."""
    if isinstance(given, DeviceArray):
        if given.context is not context:
            raise InvalidArgumentError(f"{what}: lies in the memory of {given.context}, but the kernel is on {context}; "
                                       "make it with device= the kernel's context")
        return given, False
    host = host_array(given, what)
    if host is None:
        tensor = Imported(given, what, stream)
        if context.device != f"hip:{tensor.device_id}":
            raise InvalidArgumentError(f"{what}: lies on GPU {tensor.device_id}, but the kernel is on {context.device}")
        return DeviceArray(context, tensor.shape, tensor.dtype, strides=tensor.strides, address=tensor.address,
                           keep=tensor), False
    made = DeviceArray(context, host.shape, name_of(host.dtype, what))
    made._fill(host)
    return made, True

"""A compiled kernel and its calls. Plans are kept: a call with shapes that were seen before only fills in addresses."""
from __future__ import annotations

import json
import threading
import weakref
from collections import OrderedDict
from ctypes import byref, c_double, c_size_t, c_uint64, c_void_p, string_at
from typing import Any, Mapping, Optional, Union

import numpy as np

from . import _abi
from ._abi import library
from ._array import DeviceArray, host_array, on_device
from ._context import Context, Memory
from ._dtypes import DTYPES
from ._errors import InvalidArgumentError

MOST_PLANS = 256


class _Plan:
    """A launch on tensors of given shapes (attune_plan)."""

    def __init__(self, kernel: c_void_p, shapes: _abi.Shapes) -> None:
        self.handle = c_void_p()
        library.plan_create(kernel, byref(shapes), byref(self.handle))
        weakref.finalize(self, library.plan_destroy, self.handle)
        self.info = _abi.sized(_abi.PlanInfo)
        library.plan_get_info(self.handle, byref(self.info))


class _Call:
    """One call: its arguments on the device, what was copied there, and what must be copied back."""

    def __init__(self, context: Context, stream: Optional[int]) -> None:
        self.context, self.stream = context, stream
        self.copied = False
        self.host_results: list[tuple[np.ndarray[Any, Any], DeviceArray]] = []

    def given(self, array: Any, what: str) -> DeviceArray:
        made, copied = on_device(array, self.context, what, self.stream)
        self.copied = self.copied or copied
        return made

    def result(self, wanted: Any, what: str, shape: tuple[int, ...], dtype: str, on_host: bool) -> tuple[Any, DeviceArray]:
        """What the caller gets, and the array that the kernel writes."""
        host = host_array(wanted, what) if wanted is not None else None
        if host is None and (wanted is not None or not on_host):
            device = self.given(wanted, what) if wanted is not None else DeviceArray(self.context, shape, dtype)
            return (wanted if wanted is not None else device), device
        kind = DTYPES[dtype][1]
        if host is None:
            wanted = host = np.empty(shape, kind)
        if host.shape != shape or host.dtype != kind or not host.flags.writeable:
            raise InvalidArgumentError(f"{what}: must be a writable {dtype} array ({kind}) of shape {shape}, got "
                                       f"{host.dtype} of {host.shape}")
        device = DeviceArray(self.context, shape, dtype)
        self.host_results.append((host, device))
        return wanted, device

    def finish(self) -> None:
        """Memory of this call may go only when the device is done with it."""
        if self.copied or self.host_results:
            library.synchronize(self.context._handle, self.stream)
        for host, device in self.host_results:
            host[...] = device.numpy()


class Kernel:
    """A kernel on a device. Call it with q, k, v; see __call__. One kernel may be used by many threads."""

    def __init__(self, context: Context, handle: c_void_p, spec_digest: str) -> None:
        self.context, self._handle, self.spec_digest = context, handle, spec_digest
        weakref.finalize(self, library.kernel_destroy, handle)
        info = _abi.sized(_abi.KernelInfo)
        library.kernel_get_info(handle, byref(info))
        self.name: str = info.name.decode()
        self.digest: str = info.digest.decode()
        self.sidecar: dict[str, Any] = json.loads(info.sidecar)
        self._problem = self.sidecar["problem"]
        self.tensor_names = tuple(tensor["name"] for tensor in self._problem["tensors"])
        self.scalar_names = tuple(scalar["name"] for scalar in self._problem["scalars"])
        self._plans: OrderedDict[Any, _Plan] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def varlen(self) -> bool:
        """Whether sequences lie one after another, with bounds in cu_seqlens."""
        return bool(self._problem["q_storage"] == "varlen")

    @property
    def code(self) -> bytes:
        """The code object, an ELF file for the device."""
        at, size = c_void_p(), c_size_t()
        library.kernel_code(self._handle, byref(at), byref(size))
        return string_at(at, size.value)

    def __call__(self, q: Any, k: Any, v: Any, *, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
                 max_q_len: Optional[int] = None, tensors: Mapping[str, Any] = {}, scalars: Mapping[str, float] = {},
                 sink: Any = None, out: Any = None, lse: Any = None, stream: Any = None) -> Any:
        """Runs the kernel. Returns out, or (out, lse) where the spec has an lse.

        Shapes, dense and varlen:
          q    [batch, q_len, num_q_heads, head_dim]      [q tokens, num_q_heads, head_dim]
          k    [batch, kv_len, num_kv_heads, head_dim]    [kv tokens, num_kv_heads, head_dim]
          v    [batch, kv_len, num_kv_heads, v_head_dim]  [kv tokens, num_kv_heads, v_head_dim]
          out  [batch, q_len, num_q_heads, v_head_dim]    [q tokens, num_q_heads, v_head_dim]
          lse  f32 [batch, num_q_heads, q_len]            f32 [num_q_heads, q tokens]
          sink f32 [num_q_heads]
          cu_seqlens_q, cu_seqlens_k                      i32 [batch + 1]

        Arrays are numpy arrays (bf16 as uint16, see to_bf16) or CPU tensors with __dlpack__, which are copied to the
        device; DeviceArray and GPU tensors with __dlpack__ are used where they lie.
        max_q_len is at least the longest q length. It is read from cu_seqlens_q where that is on the host; where it is on
        the device, None stands for all q tokens, which is right and starts more workgroups than needed. Rows of a
        sequence beyond it would not be written.
        tensors and scalars are what the spec's score and mask read, by name.
        out and lse are written where they are given, else made: on the host if q, k and v are all there.
        stream is the number of a hipStream_t or has it as `cuda_stream`. If nothing lies on the host, the call returns
        without waiting for the device.
        """
        stream = getattr(stream, "cuda_stream", stream) or None
        call = _Call(self.context, stream)
        self._check_names("tensors", tensors, self.tensor_names)
        self._check_names("scalars", scalars, self.scalar_names)
        on_host = all(host_array(array, name) is not None for name, array in (("q", q), ("k", k), ("v", v)))
        arrays = {"q": call.given(q, "q"), "k": call.given(k, "k"), "v": call.given(v, "v")}
        out, arrays["out"] = call.result(out, "out", self._out_shape(arrays["q"]), self._problem["out_dtype"], on_host)
        if self._problem["lse"] != "none":
            lse, arrays["lse"] = call.result(lse, "lse", self._lse_shape(arrays["q"]), "f32", on_host)
        elif lse is not None:
            raise InvalidArgumentError("lse: given, but the spec has no lse output")
        if sink is not None:
            arrays["sink"] = call.given(sink, "sink")
        for name in self.tensor_names:
            _check_fits_i32(f"tensor {name}", host_array(tensors[name], name))
        captured = [call.given(tensors[name], f"tensor {name}") for name in self.tensor_names]
        lengths = self._lengths(call, arrays, cu_seqlens_q, cu_seqlens_k, max_q_len)
        plan = self._plan(arrays, captured, [float(scalars[name]) for name in self.scalar_names], lengths)
        self._run(call, plan, arrays, captured, lengths)
        return out if self._problem["lse"] == "none" else (out, lse)

    def _run(self, call: _Call, plan: _Plan, arrays: dict[str, DeviceArray], captured: list[DeviceArray],
             lengths: dict[str, Any]) -> None:
        pointers = _abi.sized(_abi.Pointers)
        for name, array in arrays.items():
            setattr(pointers, name, array.address)
        for name in ("cu_seqlens_q", "cu_seqlens_k"):
            setattr(pointers, name, lengths[name].address if name in lengths else 0)
        pointers.tensors = (c_uint64 * max(len(captured), 1))(*(array.address for array in captured))
        workspace = Memory(self.context, plan.info.workspace_bytes) if plan.info.workspace_bytes else None
        pointers.workspace = workspace.address if workspace else 0
        call.copied = call.copied or workspace is not None
        library.run(plan.handle, byref(pointers), call.stream)
        call.finish()

    def _plan(self, arrays: dict[str, DeviceArray], captured: list[DeviceArray], scalars: list[float],
              lengths: dict[str, Any]) -> _Plan:
        views = tuple((name, a.dtype, a.shape, a.strides) for name, a in [*arrays.items(), *zip(self.tensor_names, captured)])
        key = (views, tuple(scalars), lengths["batch"], lengths["max_q_len"])
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        shapes = _abi.sized(_abi.Shapes)
        for name, array in arrays.items():
            setattr(shapes, name, array._tensor())
        shapes.batch, shapes.max_q_len = lengths["batch"], lengths["max_q_len"]
        shapes.tensors = (_abi.Tensor * max(len(captured), 1))(*(array._tensor() for array in captured))
        shapes.scalars = (c_double * max(len(scalars), 1))(*scalars)
        plan = _Plan(self._handle, shapes)
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return plan

    def _lengths(self, call: _Call, arrays: dict[str, DeviceArray], cu_q: Any, cu_k: Any,
                 max_q_len: Optional[int]) -> dict[str, Any]:
        """batch and max_q_len for the plan, and cu_seqlens on the device. Zeros for dense storage: q's shape says all."""
        if not self.varlen:
            if cu_q is not None or cu_k is not None:
                raise InvalidArgumentError("cu_seqlens: the kernel is built for dense storage, which has none")
            return {"batch": 0, "max_q_len": max_q_len or 0}
        found: dict[str, Any] = {"max_q_len": max_q_len}
        for name, given, tokens in (("cu_seqlens_q", cu_q, arrays["q"].shape[:1]), ("cu_seqlens_k", cu_k, arrays["k"].shape[:1])):
            if given is None:
                raise InvalidArgumentError(f"{name}: varlen storage needs i32[batch + 1], got None")
            host = host_array(given, name)
            if host is not None:
                longest = _check_seqlens(name, host, tokens[0] if tokens else 0)
                if name == "cu_seqlens_q" and max_q_len is None:
                    found["max_q_len"] = longest
                elif name == "cu_seqlens_q" and max_q_len < longest:  # rows beyond it would not be written
                    raise InvalidArgumentError(f"max_q_len: {max_q_len} given, but cu_seqlens_q has a sequence of {longest} "
                                               f"rows; give at least {longest}, or None")
                given = host.astype(np.int32)
            found[name] = array = call.given(given, name)
            if array.dtype != "i32" or array.ndim != 1 or array.shape[0] < 1 or array.strides != (1,):
                raise InvalidArgumentError(f"{name}: must be packed i32[batch + 1], got {array}")
            batch = found.setdefault("batch", array.shape[0] - 1)
            if batch != array.shape[0] - 1:
                raise InvalidArgumentError(f"cu_seqlens_k: must have {batch + 1} elements as cu_seqlens_q, got {array.shape[0]}")
        if found["max_q_len"] is None:
            found["max_q_len"] = arrays["q"].shape[0]
        return found

    def _out_shape(self, q: DeviceArray) -> tuple[int, ...]:
        return (*q.shape[:-1], int(self._problem["v_head_dim"]))

    def _lse_shape(self, q: DeviceArray) -> tuple[int, ...]:
        return (*q.shape[:-3], *q.shape[-2:-1], *q.shape[-3:-2])  # heads before rows

    def _check_names(self, kind: str, given: Mapping[str, Any], declared: tuple[str, ...]) -> None:
        for name in given:
            if name not in declared:
                raise InvalidArgumentError(f"{kind}: the spec {self._problem['spec_name']} has no {name!r}; it reads "
                                           f"{', '.join(declared) or 'none'}")
        for name in declared:
            if name not in given:
                raise InvalidArgumentError(f"{kind}: the spec {self._problem['spec_name']} reads {name!r}, which is not given")

    def __repr__(self) -> str:
        return f"<attune.Kernel {self.name} on {self.context.device}>"


def _check_fits_i32(what: str, host: Optional[np.ndarray[Any, Any]]) -> None:
    """Kernels read i64 as i32."""
    if host is not None and host.dtype == np.int64 and host.size and (host.min() < -2**31 or host.max() >= 2**31):
        raise InvalidArgumentError(f"{what}: kernels read i64 as i32, -2^31 to 2^31 - 1, got values from {host.min()} to "
                                   f"{host.max()}")


def _check_seqlens(name: str, bounds: np.ndarray[Any, Any], tokens: int) -> int:
    """Checks sequence bounds that the host can read; the longest length."""
    if bounds.ndim != 1 or len(bounds) < 1 or bounds.dtype.kind not in "iu":
        raise InvalidArgumentError(f"{name}: must be i32[batch + 1], got {bounds.dtype} of {bounds.shape}")
    lengths = np.diff(bounds.astype(np.int64))
    if bounds[0] != 0 or (lengths < 0).any() or bounds[-1] > tokens:
        raise InvalidArgumentError(f"{name}: must begin with 0, never fall and end at most at {tokens} tokens, got "
                                   f"{bounds.tolist()}")
    return int(lengths.max(initial=0))

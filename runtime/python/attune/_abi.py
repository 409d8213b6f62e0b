"""attune.h in ctypes: its structs, its functions, and the search for the library.

Nothing here has an opinion: names and orders are those of attune.h, which is the manual.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._errors import NotFoundError, raise_for

ABI_VERSION = 1
MAX_RANK = 8
FILE_NAME = "libattune.so.0"

WARN = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class ContextOptions(Structure):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("cache_directory", c_char_p), ("no_jit", c_int32),
                ("sim_threads", c_int32), ("warn", WARN), ("warn_data", c_void_p), ("compile_in_child", c_int32),
                ("compile_timeout", c_int32)]


class Setting(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class SpecOptions(Structure):
    _fields_ = [("size", c_size_t), ("file_name", c_char_p), ("attention", c_char_p), ("parameters", POINTER(Setting)),
                ("num_parameters", c_size_t)]


class KernelOptions(Structure):
    _fields_ = [("size", c_size_t), ("knobs", POINTER(Setting)), ("num_knobs", c_size_t)]


class KernelInfo(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("digest", c_char_p), ("sidecar", c_char_p),
                ("vgprs", c_int32), ("agprs", c_int32), ("sgprs", c_int32), ("lds_bytes", c_int32),
                ("scratch_bytes", c_int32), ("occupancy", c_int32), ("num_tensors", c_int32), ("num_scalars", c_int32)]


class Tensor(Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * MAX_RANK), ("strides", c_int64 * MAX_RANK)]


class Shapes(Structure):
    _fields_ = [("size", c_size_t), *((name, Tensor) for name in ("q", "k", "v", "out", "lse", "sink")),
                ("batch", c_int64), ("max_q_len", c_int64), ("tensors", POINTER(Tensor)), ("scalars", POINTER(c_double))]


class PlanInfo(Structure):
    _fields_ = [("size", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("workspace_bytes", c_uint64),
                ("empty", c_int32), ("num_splits", c_int32), ("valid_while", c_char_p), ("batch", c_int64),
                ("max_q_len", c_int64), ("q_tokens", c_int64), ("kv_tokens", c_int64)]


class Pointers(Structure):
    _fields_ = [("size", c_size_t), *((name, c_uint64) for name in ("q", "k", "v", "out", "lse", "sink", "cu_seqlens_q",
                                                                    "cu_seqlens_k")),
                ("tensors", POINTER(c_uint64)), ("workspace", c_uint64), ("batch", c_int64), ("max_q_len", c_int64),
                ("q_tokens", c_int64), ("kv_tokens", c_int64)]


# Arguments of each function; all but those in RESULTS return a status.
FUNCTIONS: dict[str, list[Any]] = {
    "abi_version": [],
    "alloc": [c_void_p, c_uint64, POINTER(c_uint64)],
    "context_add_bundle": [c_void_p, c_char_p],
    "context_arch": [c_void_p],
    "context_counters": [c_void_p, POINTER(c_char_p)],
    "context_create": [POINTER(ContextOptions), POINTER(c_void_p)],
    "context_destroy": [c_void_p],
    "context_device": [c_void_p],
    "copy_in": [c_void_p, c_uint64, c_void_p, c_uint64],
    "copy_out": [c_void_p, c_void_p, c_uint64, c_uint64],
    "free": [c_void_p, c_uint64],
    "kernel_code": [c_void_p, POINTER(c_void_p), POINTER(c_size_t)],
    "kernel_destroy": [c_void_p],
    "kernel_get": [c_void_p, c_void_p, POINTER(KernelOptions), POINTER(c_void_p)],
    "kernel_get_info": [c_void_p, POINTER(KernelInfo)],
    "last_error": [],
    "plan_create": [c_void_p, POINTER(Shapes), POINTER(c_void_p)],
    "plan_destroy": [c_void_p],
    "plan_get_info": [c_void_p, POINTER(PlanInfo)],
    "run": [c_void_p, POINTER(Pointers), c_void_p],
    "spec_destroy": [c_void_p],
    "spec_digest": [c_void_p],
    "spec_name": [c_void_p],
    "spec_parse": [c_char_p, c_size_t, POINTER(SpecOptions), POINTER(c_void_p)],
    "spec_parse_file": [c_char_p, POINTER(SpecOptions), POINTER(c_void_p)],
    "synchronize": [c_void_p, c_void_p],
}
RESULTS: dict[str, Any] = {
    "abi_version": c_uint32,
    "context_arch": c_char_p,
    "context_destroy": None,
    "context_device": c_char_p,
    "free": None,
    "kernel_destroy": None,
    "last_error": c_char_p,
    "plan_destroy": None,
    "spec_destroy": None,
    "spec_digest": c_char_p,
    "spec_name": c_char_p,
}


def _candidates() -> list[Path]:
    """Where the library may be: beside the package, then in the lib folders above it (PREFIX/lib/python3/...)."""
    here = Path(__file__).resolve().parent
    folders = [here, here / "lib"]
    for above in here.parents:
        folders += [above] if above.name in ("lib", "lib64") else []
        folders += [above / "lib"] if (above / "lib" / FILE_NAME).exists() else []
    return [folder / FILE_NAME for folder in folders]


def _open() -> ctypes.CDLL:
    named = os.environ.get("ATTUNE_LIBRARY")
    if named:
        try:
            return ctypes.CDLL(named)
        except OSError as error:
            raise NotFoundError(f"ATTUNE_LIBRARY={named}: {error}") from None
    for path in _candidates():
        if path.exists():
            return ctypes.CDLL(str(path))
    try:
        return ctypes.CDLL(FILE_NAME)
    except OSError:
        looked = ", ".join(str(path.parent) for path in _candidates())
        raise NotFoundError(f"there is no {FILE_NAME}: looked in {looked} and the system's folders; install attune or "
                            "set ATTUNE_LIBRARY to its path") from None


class Library:
    """The loaded library: each function of FUNCTIONS as a method that raises what is not ATTUNE_OK."""

    def __init__(self) -> None:
        self._dll = _open()
        for name, arguments in FUNCTIONS.items():
            function = getattr(self._dll, "attune_" + name)
            function.argtypes = arguments
            function.restype = RESULTS.get(name, c_int32)
            setattr(self, name, function if name in RESULTS else self._checked(function))
        if self.abi_version() < ABI_VERSION:
            raise NotFoundError(f"{self._dll._name}: its ABI version is {self.abi_version()}; this package needs "
                                f"{ABI_VERSION} or later")

    def _checked(self, function: Any) -> Any:
        def call(*arguments: Any) -> None:
            status = function(*arguments)
            if status:
                raise_for(status, self.last_error().decode(errors="replace"))

        return call

    def __getattr__(self, name: str) -> Any:  # for type checkers: the methods are made above
        raise AttributeError(name)


library = Library()


def sized(struct: Any) -> Any:
    """A struct of attune.h with its size set."""
    made = struct()
    made.size = ctypes.sizeof(struct)
    return made


def settings(given: dict[str, Any]) -> tuple[Any, int]:
    """attune_setting[] of a dict. Numbers and bools are spelled as the spec language spells them."""
    array = (Setting * len(given))()
    for place, (name, value) in zip(array, given.items()):
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)
        place.name, place.value = name.encode(), text.encode()
    return array, len(given)

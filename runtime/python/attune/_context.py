"""A device with its caches, and what is made on it: memory and kernels."""
from __future__ import annotations

import os
import threading
import weakref
from ctypes import byref, c_char_p, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from . import _abi
from ._abi import library
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._kernel import Kernel

Setting = Union[int, float, bool, str]


class Context:
    """A device and the caches of its kernels.

    device: "sim", "hip", "hip:N" or "auto"; None: the variable ATTUNE_DEVICE, else "auto".
    cache_directory: where kernels are kept; None: as docs/cache.md says.
    no_jit: never compile; a kernel that no cache and no bundle has is a NotFoundError.
    sim_threads: host threads of the simulator, 0: all.
    compile_in_child: a crash of the compiler is then an error of one call; False: as ATTUNE_COMPILE says.
    compile_timeout: seconds that such a child may take for one kernel; 0: as ATTUNE_COMPILE_TIMEOUT says, else 600.
    """

    def __init__(self, device: Optional[str] = None, *, cache_directory: Union[str, os.PathLike[str], None] = None,
                 no_jit: bool = False, sim_threads: int = 0, compile_in_child: bool = False,
                 compile_timeout: int = 0) -> None:
        options = _abi.sized(_abi.ContextOptions)
        options.device = device.encode() if device else None
        options.cache_directory = os.fsencode(cache_directory) if cache_directory else None
        options.no_jit, options.sim_threads = int(no_jit), sim_threads
        options.compile_in_child, options.compile_timeout = int(compile_in_child), compile_timeout
        self._handle = c_void_p()
        library.context_create(byref(options), byref(self._handle))
        weakref.finalize(self, library.context_destroy, self._handle)

    @property
    def device(self) -> str:
        """"sim" or "hip:N"."""
        return str(library.context_device(self._handle).decode())

    @property
    def arch(self) -> str:
        """The chip that kernels are compiled for."""
        return str(library.context_arch(self._handle).decode())

    def add_bundle(self, path: Union[str, os.PathLike[str]]) -> None:
        """Lets kernels be found in a file that `attune aot` wrote, before the compiler is asked."""
        library.context_add_bundle(self._handle, os.fsencode(path))

    def counters(self) -> dict[str, int]:
        """What the cache has counted (docs/cache.md)."""
        text = c_char_p()
        library.context_counters(self._handle, byref(text))
        lines = (text.value or b"").decode().splitlines()
        return {name: int(value) for name, value in (line.rsplit(None, 1) for line in lines)}

    def synchronize(self, stream: Optional[int] = None) -> None:
        """Waits for all work on a stream (the number of a hipStream_t; None: the default stream)."""
        library.synchronize(self._handle, stream)

    def compile(self, text_or_path: Union[str, os.PathLike[str]], attention: Optional[str] = None,
                parameters: Mapping[str, Setting] = {}, knobs: Mapping[str, Setting] = {}) -> "Kernel":
        """As attune.compile, on this context."""
        from ._kernel import Kernel
        spec = _parse(text_or_path, attention, parameters)
        try:
            options = _abi.sized(_abi.KernelOptions)
            options.knobs, options.num_knobs = _abi.settings(dict(knobs))
            handle = c_void_p()
            library.kernel_get(self._handle, spec, byref(options), byref(handle))
            return Kernel(self, handle, library.spec_digest(spec).decode())
        finally:
            library.spec_destroy(spec)

    def __repr__(self) -> str:
        return f"<attune.Context {self.device} {self.arch}>"


class Memory:
    """Bytes on a context's device, freed with the object."""

    def __init__(self, context: Context, size: int) -> None:
        address = c_uint64()
        library.alloc(context._handle, max(size, 1), byref(address))
        self.context, self.size, self.address = context, size, address.value
        # The context is an argument so that it outlives its memory.
        weakref.finalize(self, lambda owner, at: library.free(owner._handle, at), context, self.address)


def _parse(text_or_path: Union[str, os.PathLike[str]], attention: Optional[str],
           parameters: Mapping[str, Setting]) -> c_void_p:
    options = _abi.sized(_abi.SpecOptions)
    options.attention = attention.encode() if attention is not None else None
    options.parameters, options.num_parameters = _abi.settings(dict(parameters))
    spec = c_void_p()
    if isinstance(text_or_path, str) and ("{" in text_or_path or "\n" in text_or_path):
        text = text_or_path.encode()
        library.spec_parse(text, len(text), byref(options), byref(spec))
    elif isinstance(text_or_path, (str, os.PathLike)):
        library.spec_parse_file(os.fsencode(text_or_path), byref(options), byref(spec))
    else:
        raise InvalidArgumentError(f"text_or_path: must be the text or the path of a spec, got {type(text_or_path)}")
    return spec


_lock = threading.Lock()
_contexts: dict[Optional[str], Context] = {}


def context_of(device: Union[str, Context, None]) -> Context:
    """The context of a device, one for each name in this process."""
    if isinstance(device, Context):
        return device
    with _lock:
        if device not in _contexts:
            _contexts[device] = Context(device)
        return _contexts[device]


def compile(text_or_path: Union[str, os.PathLike[str]], attention: Optional[str] = None,
            parameters: Mapping[str, Setting] = {}, knobs: Mapping[str, Setting] = {},
            device: Union[str, Context, None] = None) -> "Kernel":
    """The kernel of a spec, from memory, the disk, a bundle, or the compiler.

    text_or_path: the spec's text, or the path of its file. A str is a text if it has a brace or more than one line.
    attention: which attention of the text; None: the first.
    parameters: values of the spec's parameters. knobs: of the schedule; they override the spec's own.
    device: "sim", "hip", "hip:N", "auto", or a Context; None: the variable ATTUNE_DEVICE, else "auto".
    """
    return context_of(device).compile(text_or_path, attention, parameters, knobs)

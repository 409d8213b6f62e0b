"""Attention kernels for gfx950, compiled on first use.

    import attune, numpy as np
    kernel = attune.compile("causal_gqa.attn")
    out, lse = kernel(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu)

The package is a thin layer over libattune's C interface (attune.h); it needs numpy and no compiler of its own.
"""
from ._array import DeviceArray
from ._context import Context, compile
from ._dtypes import from_bf16, to_bf16
from ._errors import (DeviceError, Error, FileError, InternalError, InvalidArgumentError, NotFoundError, SimulatorFault,
                      SpecError, UnsupportedError)
from ._kernel import Kernel

__all__ = ["Context", "DeviceArray", "DeviceError", "Error", "FileError", "InternalError", "InvalidArgumentError", "Kernel",
           "NotFoundError", "SimulatorFault", "SpecError", "UnsupportedError", "compile", "from_bf16", "to_bf16"]
__version__ = "0.1.0"

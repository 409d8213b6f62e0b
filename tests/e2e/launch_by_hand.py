#!/usr/bin/env python3
"""Kernels launched as docs/launching.md says, from code object and sidecar alone, against attune run, bit by bit.

    launch_by_hand.py ATTUNE SPECS     Exit 0: the same bits; 1: not; 77: numpy is missing (ctest: skipped)

Nothing of libattune packs the arguments here: what the page leaves out or has wrong, this test gets wrong. attune exec runs
them strictly, with memory that arrives late and waves in reverse.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing; tools/dev installs it (Debian: python3-numpy)")
    sys.exit(77)

ATTUNE, SPECS = sys.argv[1], Path(sys.argv[2])
TYPES = {"bf16": np.uint16, "fp16": np.float16, "f32": np.float32, "i32": np.int32}
RANDOM = np.random.default_rng(7)


def drawn(dtype, *shape):
    """Of bf16, numbers whose bits are those of a float's upper half."""
    values = RANDOM.normal(size=shape).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bf16" else values.astype(TYPES[dtype])


def captured(tensor, extents):
    shape = [extents[dim] if dim in extents else int(dim) for dim in tensor["dims"]]
    if tensor["dtype"] != "i32":
        return drawn(tensor["dtype"], *shape)
    return np.sort(RANDOM.integers(0, 40, shape).astype(np.int32), axis=-1)


def strides(array):
    return [step // array.itemsize for step in np.empty(array.shape, array.dtype).strides]


class Case:
    """A spec's kernel, drawn inputs, and what attune run makes of them."""

    def __init__(self, folder, spec, q_lens, kv_lens, *options):
        self.folder, self.q_lens, self.kv_lens = folder, q_lens, kv_lens
        subprocess.run([ATTUNE, "compile", spec, "-o", folder / "k.hsaco", *options], check=True, stdout=subprocess.DEVNULL)
        sidecar = json.loads((folder / "k.json").read_text())
        self.kernel, self.problem = sidecar["kernel"], sidecar["problem"]
        p = self.problem
        self.dense = p["q_storage"] == "dense"
        self.batch = len(q_lens)
        self.extents = {"batch": self.batch, "heads": p["num_q_heads"], "kv_heads": p["num_kv_heads"], "tokens": sum(kv_lens),
                        "q": max(q_lens), "k": max(kv_lens)}
        self.tensors = {"q": self.rows(q_lens, p["num_q_heads"], p["head_dim"]),
                        "k": self.rows(kv_lens, p["num_kv_heads"], p["head_dim"]),
                        "v": self.rows(kv_lens, p["num_kv_heads"], p["v_head_dim"])}
        if p["has_sink"]:
            self.tensors["sink"] = drawn("f32", p["num_q_heads"])
        for tensor in p["tensors"]:
            self.tensors[tensor["name"]] = captured(tensor, self.extents)
        self.scalars = {scalar["name"]: 0.75 if scalar["dtype"] == "f32" else 40 for scalar in p["scalars"]}
        np.savez(folder / "in.npz", **self.tensors)
        lengths = ["--batch", self.batch, "--q-len", q_lens[0], "--kv-len", kv_lens[0]] if self.dense else [
            "--q-lens", ",".join(map(str, q_lens)), "--kv-lens", ",".join(map(str, kv_lens))]
        scalars = [part for name, value in self.scalars.items() for part in ("--scalar", f"{name}={value}")]
        run = [ATTUNE, "run", spec, "--inputs", folder / "in.npz", "--out", folder / "out.npz", "--check", *options, *scalars, *lengths]
        subprocess.run(list(map(str, run)), check=True, stdout=subprocess.DEVNULL)
        self.wanted = dict(np.load(folder / "out.npz"))

    def rows(self, lengths, heads, dim):
        shape = (self.batch, lengths[0]) if self.dense else (sum(lengths),)
        return drawn(self.problem["dtype"], *shape, heads, dim)

    def contents(self, name):
        """What a pointer argument points at."""
        if name.startswith("cu_seqlens_"):
            lengths = self.q_lens if name.endswith("q") else self.kv_lens
            return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return self.tensors[name.removeprefix("tensor.")]

    def number(self, name):
        if name in ("batch", "num_q_blocks", "q_len", "kv_len"):
            blocks = -(-max(self.q_lens) // self.kernel["grid"]["block_m"])
            return {"batch": self.batch, "num_q_blocks": blocks, "q_len": self.q_lens[0], "kv_len": self.kv_lens[0]}[name]
        if name.startswith("scalar."):
            return self.scalars[name.removeprefix("scalar.")]
        if name.startswith("tensor."):
            _, tensor, what, *dimension = name.split(".")
            array = self.tensors[tensor]
            return array.size if what == "elements" else strides(array)[int(dimension[0])]
        tensor, dimension = name.split("_stride_")
        array = self.wanted[tensor] if tensor in self.wanted else self.tensors[tensor]
        names = ["head", "row"] if tensor == "lse" else ["token", "head", "column"]
        return dict(zip((["batch"] if self.dense else []) + names, strides(array)))[dimension]

    def argument(self, arg):
        name, made = arg["name"], {"name": arg["name"], "offset": arg["offset"]}
        if arg["kind"] != "ptr":
            return made | {"kind": arg["kind"], "value": self.number(name)}
        if name in self.wanted:
            return made | {"kind": "buffer", "size": self.wanted[name].nbytes, "out": f"{name}.bin"}
        self.contents(name).tofile(self.folder / f"{name}.in")
        return made | {"kind": "buffer", "file": f"{name}.in"}

    def launch(self):
        groups = self.number("num_q_blocks") * self.problem["num_q_heads"] * self.batch
        (self.folder / "launch.json").write_text(json.dumps({
            "kernel": self.kernel["name"], "grid": [groups], "block": [self.kernel["grid"]["workgroup_threads"]],
            "args": [self.argument(arg) for arg in self.kernel["args"]]}))
        subprocess.run([ATTUNE, "exec", self.folder / "k.hsaco", "--launch", self.folder / "launch.json", "--strict",
                        "--policy", "arrival=latest,schedule=reverse"], check=True, stdout=subprocess.DEVNULL)
        for name, array in self.wanted.items():
            if (self.folder / f"{name}.bin").read_bytes() != array.tobytes():
                return f"{name} differs"
        return ""


def main():
    failed = False
    for name, q_lens, kv_lens, *options in (("causal_gqa", [1, 40, 33], [70, 40, 5]), ("composed", [70, 0], [131, 9], "--set", "wide=40"),
                                            ("gpt_oss", [3, 33], [70, 33]), ("user_bias", [65, 65], [131, 131])):
        with tempfile.TemporaryDirectory() as folder:
            fault = Case(Path(folder), SPECS / f"{name}.attn", q_lens, kv_lens, *options).launch()
        print(f"{name}: {fault or 'the same bits'}")
        failed = failed or bool(fault)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

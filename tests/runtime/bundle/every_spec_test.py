#!/usr/bin/env python3
"""Every spec from a bundle, where nothing can compile, gives the bits that it gives compiled on first use.

    every_spec_test.py ATTUNE LIBATTUNE SPECS LIST      LIST: the kernels (variants.toml)
                                                        exit 77: there is no numpy, said in one line

Two processes run the same calls through the Python package: one compiles, the other has a copy of libattune in a folder
of its own, with no compiler beside it, and the bundle. What the second must not do, it cannot.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77
LENGTHS = [([5, 33, 40], [20, 33, 70]), ([0, 3, 64], [7, 0, 65])]  # varlen: q and kv of each sequence
DENSE = [(2, 37, 70), (1, 64, 65)]  # batch, q_len, kv_len


def kernels(list_file):
    """(spec, parameters, knobs) of each kernel of a list."""
    for row in tomllib.loads(list_file.read_text())["kernel"]:
        choices = [{"set": {}, "knob": {}}]
        for kind in ("set", "knob"):
            for name, value in row.get(kind, {}).items():
                values = value if isinstance(value, list) else [value]
                choices = [{**c, kind: {**c[kind], name: v}} for c, v in product(choices, values)]
        for choice in choices:
            yield (list_file.parent / row["spec"]).resolve(), choice["set"], choice["knob"]


# --- the process that runs ------------------------------------------------------------------------------------------


class Inputs:
    """Drawn from a seed that both processes share."""

    def __init__(self, np, attune, problem, seed):
        self.np, self.attune, self.problem = np, attune, problem
        self.random = np.random.default_rng(seed)

    def tensor(self, dtype, *shape):
        if dtype == "i32":  # documents that rise along the tokens, or prefixes
            return self.np.sort(self.random.integers(0, 4, shape)).astype(self.np.int32)
        values = self.random.standard_normal(shape).astype(self.np.float32)
        return {"bf16": self.attune.to_bf16, "fp16": self.np.float16, "f32": self.np.float32}[dtype](values)

    def call(self, which):
        """Arguments of the call with the which-th lengths."""
        np, p = self.np, self.problem
        heads, kv_heads, dim, v_dim = (p[n] for n in ("num_q_heads", "num_kv_heads", "head_dim", "v_head_dim"))
        more = {}
        if p["q_storage"] == "varlen":
            q_lens, kv_lens = LENGTHS[which]
            more = {f"cu_seqlens_{side}": np.cumsum([0, *lens], dtype=np.int32)
                    for side, lens in (("q", q_lens), ("k", kv_lens))}
            rows, keys = (sum(q_lens),), (sum(kv_lens),)
            sizes = {"batch": len(q_lens), "tokens": keys[0], "q": max(q_lens), "k": max(kv_lens)}
        else:
            batch, q_len, kv_len = DENSE[which]
            rows, keys = (batch, q_len), (batch, kv_len)
            sizes = {"batch": batch, "tokens": batch * kv_len, "q": q_len, "k": kv_len}
        sizes |= {"heads": heads, "kv_heads": kv_heads}
        if p["has_sink"]:
            more["sink"] = self.tensor("f32", heads)
        more["tensors"] = {t["name"]: self.tensor(t["dtype"], *(sizes.get(d) or int(d) for d in t["dims"]))
                           for t in p["tensors"]}
        more["scalars"] = {s["name"]: 1.25 for s in p["scalars"]}
        q, k, v = ((*rows, heads, dim), (*keys, kv_heads, dim), (*keys, kv_heads, v_dim))
        return [self.tensor(p["dtype"], *shape) for shape in (q, k, v)], more


def run_all(list_file, cache, bundle, output):
    """Runs every kernel; its results, counters and whether LLVM was mapped go to a file."""
    import numpy as np
    sys.path.insert(0, str(ROOT / "runtime/python"))
    import attune
    context = attune.Context("sim", cache_directory=cache, no_jit=bool(bundle))
    if bundle:
        context.add_bundle(bundle)
    results = {}
    for number, (spec, parameters, knobs) in enumerate(kernels(Path(list_file))):
        kernel = context.compile(spec, parameters=parameters, knobs=knobs)
        results[f"{number:02} code"] = np.frombuffer(kernel.code, np.uint8)
        for which in range(len(LENGTHS)):
            tensors, more = Inputs(np, attune, kernel.sidecar["problem"], 100 * number + which).call(which)
            got = kernel(*tensors, **more)
            for name, array in zip(("out", "lse"), got if isinstance(got, tuple) else (got,)):
                results[f"{number:02} {name} {which}"] = array
    np.savez(output, **results)
    mapped = "libLLVM" in Path("/proc/self/maps").read_text()
    print(json.dumps({"llvm": mapped, "counters": context.counters()}))


def refuse(list_file, cache, bundle, spec, parameters, knobs):
    """Asks for a kernel that the bundle has not; prints the error."""
    sys.path.insert(0, str(ROOT / "runtime/python"))
    import attune
    context = attune.Context("sim", cache_directory=cache, no_jit=True)
    context.add_bundle(bundle)
    try:
        context.compile(spec, parameters=json.loads(parameters), knobs=json.loads(knobs))
        print(json.dumps({"error": None}))
    except attune.NotFoundError as error:
        print(json.dumps({"error": str(error)}))


# --- the test -------------------------------------------------------------------------------------------------------


class EverySpec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.bundle = cls.folder / "kernels.attune"
        cls.report = json.loads(cls.aot("-j2", "-o", cls.bundle, "--json"))
        cls.bare = cls.folder / "bare"  # libattune and the simulator; no compiler
        cls.bare.mkdir()
        for library in (LIBATTUNE, LIBATTUNE.parent / "libattune-sim.so"):
            shutil.copy(library, cls.bare)

    @classmethod
    def attune(cls, *arguments):
        return subprocess.run([ATTUNE, *arguments], check=True, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "ATTUNE_CACHE": "off"}).stdout

    @classmethod
    def aot(cls, *arguments):
        return cls.attune("aot", LIST, "--arch", "gfx950", *arguments)

    def python(self, library, *arguments):
        """This file in a process of its own, whose caches are its own."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "ATTUNE_LIBRARY": str(library)}
        run = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True,
                             env=environment)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def bare_library(self):
        return self.bare / LIBATTUNE.name

    def test_the_list_has_every_spec(self):
        listed = {spec.name for spec, _, _ in kernels(LIST)}
        self.assertEqual({file.name for file in SPECS.glob("*.attn")}, listed)
        self.assertEqual(len(self.report["kernels"]), len(list(kernels(LIST))))

    def test_the_same_bits_as_compiled_on_first_use(self):
        import numpy as np
        jit, aot = self.folder / "jit.npz", self.folder / "aot.npz"
        compiled = self.python(LIBATTUNE, "--run", LIST, self.folder / "cache", "", jit)
        bundled = self.python(self.bare_library(), "--run", LIST, self.folder / "empty", self.bundle, aot)
        count = len(list(kernels(LIST)))
        self.assertEqual((compiled["llvm"], compiled["counters"]["builds"]), (True, count))
        self.assertEqual((bundled["llvm"], bundled["counters"]["builds"]), (False, 0))
        wanted, got = np.load(jit), np.load(aot)
        self.assertEqual(wanted.files, got.files)
        self.assertGreaterEqual(len(wanted.files), 3 * count)
        for name in wanted.files:
            self.assertGreater(wanted[name].size, 0)
            self.assertEqual((wanted[name].dtype, wanted[name].shape), (got[name].dtype, got[name].shape), name)
            self.assertEqual(wanted[name].tobytes(), got[name].tobytes(), name)
        # The inputs tell kernels apart: parameters that change the mask change the bits.
        outs = [wanted[name].tobytes() for name in wanted.files if "out" in name]
        self.assertEqual(len(set(outs)), len(outs))

    def test_what_the_bundle_has_not_is_refused_with_its_key_the_nearest_and_the_command(self):
        spec = SPECS / "gpt_oss.attn"
        for parameters, knobs, differing, words in (
                ({"width": 99}, {}, "spec", "--set width=99"),
                ({}, {"waves": 8}, "knobs", "--knob waves=8")):
            for library in (self.bare_library(), LIBATTUNE):  # without and with a compiler to ask for its name
                with self.subTest(words=words, library=str(library)):
                    error = self.python(library, "--refuse", LIST, self.folder / "empty", self.bundle, spec,
                                        json.dumps(parameters), json.dumps(knobs))["error"]
                    self.assertIsNotNone(error)
                    for part in ("ATTUNE_NO_JIT forbids compiling it", str(self.bundle), "the nearest is gpt_oss",
                                 f"differs in {differing}", f"attune aot {spec} --attention gpt_oss {words} --arch gfx950"):
                        self.assertIn(part, error)
                    self.assertRegex(error, r"\b[0-9a-f]{64}\b")
        self.assertIn("its key: arch gfx950, knobs waves=8, name gpt_oss", self.python(
            self.bare_library(), "--refuse", LIST, self.folder / "empty", self.bundle, spec, "{}", '{"waves": 8}')["error"])

    def test_the_command_that_a_refusal_names_builds_what_was_refused(self):
        asked = (SPECS / "gpt_oss.attn", '{"width": 99}', '{"waves": 2}')
        before = (self.bare_library(), "--refuse", LIST, self.folder / "empty")
        error = self.python(*before, self.bundle, *asked)["error"]
        command = error.rsplit("build a bundle that has it with: attune ", 1)[1].split()
        added = self.folder / "added.attune"
        self.attune(*command[:-1], added)
        self.assertIsNone(self.python(*before, added, *asked)["error"])

    def test_building_again_gives_the_same_bytes(self):
        for i in (1, 2):  # other processes, other orders, one worker
            self.aot("-j1", "--shard", f"{i}/2", "-o", self.folder / f"part{i}.attune")
        merged = self.folder / "merged.attune"
        self.attune("aot", "merge", self.folder / "part2.attune", self.folder / "part1.attune", "-o", merged)
        self.assertEqual(self.bundle.read_bytes(), merged.read_bytes())


if __name__ == "__main__":
    if sys.argv[1] in ("--run", "--refuse"):
        {"--run": run_all, "--refuse": refuse}[sys.argv[1]](*sys.argv[2:])
        sys.exit()
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: there is no numpy")
        sys.exit(SKIPPED)
    ATTUNE, LIBATTUNE, SPECS, LIST = (Path(argument).resolve() for argument in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""What is shipped: how large it is, for which chip, what the building machine has to do with it, and who can replace it.

    package_test.py ATTUNE LIBATTUNE FAKE_HIP ROOT      FAKE_HIP: a HIP library with a gfx942; ROOT: the source tree
                                                        exit 77: there is no numpy, said in one line

The field cases F80 to F83 of docs/field-cases.md, from outside: the command builds, processes with a copy of libattune
and no compiler load.
"""
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77
# Bytes, a third above what they were when this was written.
MOST_OF_ALL_SPECS = 130_000
MOST_OF_A_KERNEL = 28_500
GFX942, GFX950 = 0x4C, 0x4F  # EF_AMDGPU_MACH of LLVM's AMDGPUUsage
SMALL = """attention {name} {{
  q, kv : bf16[tokens, 2 / 1, 64]
  mask  = window({width})
}}
"""


def sections(code):
    """Name and bytes of each section of an ELF file."""
    offset, size, count, names = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<HHH", code, 58)
    rows = [struct.unpack_from("<IIQQQQ", code, offset + i * size) for i in range(count)]
    strings = rows[names][4]
    return {code[strings + r[0]:code.index(b"\0", strings + r[0])].decode(): code[r[4]:r[4] + r[5]]
            for r in rows if r[1] != 8}  # all but SHT_NOBITS


def flags(code):
    return struct.unpack_from("<I", code, 48)[0]


# --- the process that loads -----------------------------------------------------------------------------------------


def load(asked):
    """Takes kernels from bundles where nothing can compile; prints code, digests and what was counted."""
    asked = json.loads(asked)
    sys.path.insert(0, str(ROOT / "runtime/python"))
    import attune
    context = attune.Context(asked["device"], no_jit=True)
    for bundle in asked["bundles"]:
        context.add_bundle(bundle)
    answer = {"arch": context.arch, "codes": [], "digests": [], "errors": []}
    for spec in asked["specs"]:
        try:
            kernel = context.compile(Path(spec))
            answer["codes"].append(bytes(kernel.code).hex())
            answer["digests"].append(kernel.digest)
        except attune.Error as error:
            answer["errors"].append(str(error))
    print(json.dumps(answer | {"counters": context.counters()}))


# --- the test -------------------------------------------------------------------------------------------------------


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.whole = Path(folder.name)
        cls.specs = sorted((ROOT / "specs").glob("*.attn"))
        cls.bundle = cls.whole / "all.attune"
        run = subprocess.run([ATTUNE, "aot", *cls.specs, "--arch", "gfx950", "-o", cls.bundle, "--json"],
                             capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": folder.name})
        assert run.returncode == 0, run.stdout + run.stderr
        cls.report = json.loads(run.stdout)
        cls.bare = cls.whole / "bare"  # libattune and the simulator; no compiler
        cls.bare.mkdir()
        for library in (LIBATTUNE, LIBATTUNE.parent / "libattune-sim.so"):
            shutil.copy(library, cls.bare)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def spec(self, name, width=16, folder=None):
        path = (folder or self.folder) / f"{name}.attn"
        path.write_text(SMALL.format(name=name, width=width))
        return path

    def attune(self, *args, code=0, how={}, **environment):
        run = subprocess.run([ATTUNE, *map(str, args)], capture_output=True, text=True,
                             **({"cwd": self.folder} | how),
                             env={"PATH": os.environ["PATH"], "HOME": str(self.folder)} | environment)
        self.assertEqual(run.returncode, code, f"attune {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def build(self, output, *specs, **how):
        self.attune("aot", *specs, "--arch", "gfx950", "-o", output, **how)
        return output

    def load(self, bundles, specs, device="sim", **environment):
        asked = {"device": device, "bundles": [str(b) for b in bundles], "specs": [str(s) for s in specs]}
        run = subprocess.run([sys.executable, __file__, "--load", json.dumps(asked)], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "HOME": str(self.folder),
                                  "ATTUNE_LIBRARY": str(self.bare / LIBATTUNE.name)} | environment)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def codes(self, bundles, specs, **environment):
        answer = self.load(bundles, specs, **environment)
        self.assertEqual(answer["errors"], [])
        return [bytes.fromhex(code) for code in answer["codes"]]

    # --- F80: packages grow until nobody can host them ---------------------------------------------------------------

    def test_f80_a_bundle_of_all_specs_keeps_to_its_budget(self):
        kernels = self.report["kernels"]
        self.assertEqual(len(kernels), len(self.specs))
        self.assertEqual({kernel["arch"] for kernel in kernels}, {"gfx950"})
        for kernel in kernels:
            self.assertGreater(kernel["code_bytes"], 1000)
            self.assertLessEqual(kernel["code_bytes"], MOST_OF_A_KERNEL, kernel["kernel"])
        self.assertEqual(self.report["bytes"], self.bundle.stat().st_size)
        self.assertLessEqual(self.report["bytes"], MOST_OF_ALL_SPECS)
        self.assertLess(self.report["bytes"], sum(kernel["code_bytes"] for kernel in kernels))

    def test_f80_code_objects_hold_nothing_to_strip(self):
        for spec, code in zip(self.specs, self.codes([self.bundle], self.specs)):
            with self.subTest(spec=spec.name):
                before = sections(code)
                self.assertEqual([name for name in before if name.startswith((".debug", ".symtab", ".comment"))], [])
                file = self.folder / "k.hsaco"
                file.write_bytes(code)
                subprocess.run(["llvm-strip-22", "--strip-debug", file], check=True)
                after = sections(file.read_bytes())
                self.assertEqual(hashlib.sha256(before[".text"]).digest(), hashlib.sha256(after[".text"]).digest())
                self.assertNotIn(str(ROOT).encode(), code)

    def test_f80_a_list_of_specs_gives_a_part_of_the_bundle(self):
        two = [self.specs[1], self.specs[-1]]
        part = self.build(self.folder / "part.attune", *two)
        self.assertLess(part.stat().st_size, self.bundle.stat().st_size / 3)
        self.assertEqual(self.codes([part], two), self.codes([self.bundle], two))
        rest = self.load([part], [self.specs[0]])
        self.assertIn("has no such kernel", rest["errors"][0])

    # --- F81: a chip is guessed; code for another chip fails late ----------------------------------------------------

    def test_f81_code_is_for_the_chip_that_was_named_and_none_is_guessed(self):
        for code in self.codes([self.bundle], self.specs):
            self.assertEqual(flags(code) & 0xFF, GFX950)
        spec = self.spec("a")
        for machine in ({}, {"ATTUNE_DEVICE": "hip", "ATTUNE_HIP_LIBRARY": str(FAKE_HIP)}, {"HIP_VISIBLE_DEVICES": ""}):
            said = self.attune("aot", spec, "-o", "x.attune", code=2, **machine).stderr
            self.assertIn("--arch", said)
            self.assertFalse((self.folder / "x.attune").exists())
        self.assertIn("gfx942 lacks", self.attune("aot", spec, "--arch", "gfx942", "-o", "x.attune", code=2).stderr)

    def test_f81_a_kernel_for_another_chip_is_refused_by_name_before_a_launch(self):
        spec = self.spec("a")
        self.attune("compile", spec, "-o", "k.hsaco")
        code = bytearray((self.folder / "k.hsaco").read_bytes())
        struct.pack_into("<I", code, 48, flags(code) & ~0xFF | GFX942)
        (self.folder / "k.hsaco").write_bytes(code)
        said = self.attune("run", "k.hsaco", "--q-lens", "3", code=2).stderr
        self.assertIn("the code object is for gfx942, sim is gfx950", said)
        self.assertIn("build it for gfx950", said)
        other = self.load([self.build(self.folder / "a.attune", spec)], [spec], device="hip", ATTUNE_HIP_LIBRARY=str(FAKE_HIP))
        self.assertEqual((other["arch"], other["codes"]), ("gfx942", []))
        for part in ("arch gfx942", "the nearest is a", "differs in arch"):
            self.assertIn(part, other["errors"][0])

    # --- F82: what the building machine has changes the package ------------------------------------------------------

    def machine_with_everything(self):
        """Variables and tools of a machine with another GPU; a tool that is run leaves a mark."""
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("rocminfo", "rocm_agent_enumerator", "amdgpu-arch", "hipconfig", "hipcc", "offload-arch", "ld.lld",
                     "clang", "git", "uname", "nproc"):
            (tools / name).write_text(f"#!/bin/sh\necho {name} >> {self.folder}/run\necho gfx1100\n")
            (tools / name).chmod(0o755)
        home = self.folder / "another home"
        home.mkdir()
        rocm = {name: "/opt/rocm-9" for name in ("ROCM_PATH", "HIP_PATH", "ROCM_HOME", "HIP_CLANG_PATH", "DEVICE_LIB_PATH",
                                                 "HSA_PATH", "LLVM_PATH")}
        chips = {name: "gfx1100" for name in ("HIP_ARCHITECTURES", "GPU_ARCHS", "PYTORCH_ROCM_ARCH", "AMDGPU_TARGETS",
                                              "HCC_AMDGPU_TARGET")}
        return {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(home), "LC_ALL": "tr_TR.UTF-8",
                "LANG": "de_DE.UTF-8", "LANGUAGE": "de", "TZ": "Pacific/Kiritimati", "USER": "somebody", "LOGNAME": "else",
                "HOSTNAME": "elsewhere", "SOURCE_DATE_EPOCH": "1", "CFLAGS": "-O0", "CXXFLAGS": "-g", "LDFLAGS": "-s",
                "HSA_OVERRIDE_GFX_VERSION": "11.0.0", "HIP_VISIBLE_DEVICES": "3", "ROCR_VISIBLE_DEVICES": "3",
                "CUDA_VISIBLE_DEVICES": "0", "GPU_MAX_HW_QUEUES": "1", "AMD_LOG_LEVEL": "4", "OMP_NUM_THREADS": "1",
                "MALLOC_PERTURB_": "85", "XDG_CACHE_HOME": str(home), "ATTUNE_DEVICE": "hip",
                "ATTUNE_HIP_LIBRARY": str(FAKE_HIP), "ATTUNE_CACHE_DIR": str(home / "cache")} | rocm | chips

    def test_f82_what_the_building_machine_has_does_not_reach_the_package(self):
        specs = [self.spec("a"), self.spec("b", 8)]
        plain = self.build(self.folder / "plain.attune", *specs).read_bytes()
        elsewhere = self.folder / "else where"
        elsewhere.mkdir()
        others = [self.spec(path.stem, width, elsewhere) for path, width in zip(specs, (16, 8))]
        one_cpu = {min(os.sched_getaffinity(0))}

        def changed():  # in the child, before attune: one processor, other masks and niceness
            os.sched_setaffinity(0, one_cpu)
            os.umask(0o077)
            os.nice(5)

        other = self.build(elsewhere / "other.attune", *others, how={"cwd": "/", "preexec_fn": changed},
                           **self.machine_with_everything())
        self.assertEqual(other.read_bytes(), plain)
        self.assertEqual(other.stat().st_mode & 0o777, 0o600)
        self.assertFalse((self.folder / "run").exists(), "a tool of the machine was run")
        for trace in (socket.gethostname(), str(self.folder), str(ROOT), os.environ.get("USER", "root") + "@"):
            self.assertNotIn(trace.encode(), plain)

    # --- F83: a variable lets another package's kernels in -----------------------------------------------------------

    def test_f83_a_variable_puts_no_other_kernel_in_the_place_of_a_bundles(self):
        spec = self.spec("a")
        ours = self.build(self.folder / "ours.attune", spec)
        mine, = self.codes([ours], [spec])
        elsewhere = self.folder / "theirs"
        elsewhere.mkdir()
        theirs = self.spec("a", 32, elsewhere)  # the same name, another body
        cache = self.folder / "their cache"
        self.attune("cache", "warm", theirs, ATTUNE_CACHE_DIR=str(cache))
        entry, = cache.glob("*.kernel")
        empty = self.folder / "empty"
        empty.mkdir()
        their_bundle = self.build(self.folder / "theirs.attune", theirs)
        identity = self.identity_of(entry)

        # An empty directory; one with a kernel of the same name; the same as a store's and as the user's own.
        for variables in ({"ATTUNE_CACHE_BASE": str(empty)}, {"ATTUNE_CACHE_BASE": f"{cache}:{empty}"},
                          {"ATTUNE_CACHE_DIR": str(cache)}, {"XDG_CACHE_HOME": str(cache)},
                          {"ATTUNE_CACHE_BASE": str(their_bundle)}, {"ATTUNE_CACHE_URL": "http://127.0.0.1:9"}):
            for known in ({}, {"ATTUNE_COMPILER_ID": identity}):  # with and without caches that can be searched
                with self.subTest(variables=variables, known=bool(known)):
                    self.assertEqual(self.codes([ours], [spec], **variables, **known), [mine])
        # Bundles: the other package's kernel of the same name is another kernel, in either order.
        for bundles in ([their_bundle, ours], [ours, their_bundle]):
            self.assertEqual(self.codes(bundles, [spec]), [mine])
        self.assertNotEqual(self.codes([their_bundle], [theirs]), [mine])

        # Another kernel's file under our kernel's name: its digest and key are not ours.
        digest = self.load([ours], [spec], ATTUNE_COMPILER_ID=identity)["digests"][0]
        forged = self.folder / "forged"
        forged.mkdir()
        shutil.copy(entry, forged / f"{digest}.kernel")
        answer = self.load([ours], [spec], ATTUNE_CACHE_BASE=str(forged), ATTUNE_COMPILER_ID=identity)
        self.assertEqual([bytes.fromhex(code) for code in answer["codes"]], [mine])
        self.assertEqual((answer["counters"]["foreign"], answer["counters"]["baseHits"]), (1, 0))

        # The documented precedence: a directory with this very kernel comes before bundles, and it is counted.
        warm = self.folder / "warm"
        self.attune("cache", "warm", spec, ATTUNE_CACHE_DIR=str(warm))
        answer = self.load([ours], [spec], ATTUNE_CACHE_BASE=str(warm), ATTUNE_COMPILER_ID=identity)
        self.assertEqual([bytes.fromhex(code) for code in answer["codes"]], [mine])
        self.assertEqual(answer["counters"]["baseHits"], 1)
        said = self.attune("run", spec, "--q-lens", "3", ATTUNE_CACHE_BASE=str(warm)).stdout
        self.assertRegex(said, rf"cache   hit: {digest} in a directory of ATTUNE_CACHE_BASE")

    def identity_of(self, entry):
        """COMPILER:LLVM of a kernel, as its key has them."""
        shown = json.loads(self.attune("cache", "show", entry.stem, "--directory", entry.parent, "--json").stdout)
        fields = dict(line.split(" ", 1) for line in shown["key"].splitlines() if line.startswith(("compiler ", "llvm ")))
        return ":".join(fields[name].split(":", 1)[1] for name in ("compiler", "llvm"))


if __name__ == "__main__":
    if sys.argv[1] == "--load":
        load(sys.argv[2])
        sys.exit()
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: there is no numpy")
        sys.exit(SKIPPED)
    ATTUNE, LIBATTUNE, FAKE_HIP, ROOT = (Path(argument).resolve() for argument in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])

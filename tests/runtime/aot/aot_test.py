#!/usr/bin/env python3
"""attune aot from outside: the same bytes however a bundle is built, builds that are stopped, crashes, refusals, plans.

    aot_test.py ATTUNE ROOT      ATTUNE: the command; ROOT: the source tree, for specs/
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ATTUNE, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SPEC = """attention small(width: int = 64, d: int = 32) {
  q, kv : bf16[tokens, 2 / 1, d]
  mask  = window(width)
}
"""
LIST = """[[kernel]]
spec = "small.attn"
set = {width = [32, 64, 96, 128, 160, 192]}
"""
LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "torch_dtype": "bfloat16",
}
# A compiler that dies of one kernel and passes every other to the real one.
CRASHING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
typedef void (*Reply)(void *, const char *, size_t);
typedef void (*Compile)(const char *, size_t, Reply, void *);
void attune_compile_v1(const char *request, size_t bytes, Reply reply, void *context) {
  if (memmem(request, bytes, "\\"96\\"", 4))
    abort();
  ((Compile)dlsym(dlopen(getenv("REAL_COMPILER"), RTLD_NOW), "attune_compile_v1"))(request, bytes, reply, context);
}
"""


class Aot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("small.attn", SPEC)
        self.write("list.toml", LIST)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def bytes(self, name):
        return (self.folder / name).read_bytes()

    def attune(self, *args, code=0, env=None):
        run = subprocess.run(
            [ATTUNE, "aot", *map(str, args)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, **(env or {})},
        )
        self.assertEqual(run.returncode, code, f"attune aot {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def build(self, *args, code=0, env=None):
        """The report of a build for gfx950."""
        return json.loads(self.attune(*args, "--arch", "gfx950", "--json", code=code, env=env).stdout)

    def whole(self):
        """The bundle of list.toml, as a single worker builds it."""
        self.build("list.toml", "-j", 1, "-o", "whole.attune")
        return self.bytes("whole.attune")

    # --- the same bytes ---------------------------------------------------------------------------------------------

    def test_same_bytes(self):
        first = self.whole()
        report = self.build("list.toml", "-j", 2, "-o", "two.attune")
        self.assertEqual(self.bytes("two.attune"), first)
        self.assertEqual((report["ok"], len(report["kernels"])), (True, 6))
        for kernel in report["kernels"]:
            self.assertGreater(kernel["code_bytes"], 1000)
            self.assertGreater(kernel["vgpr"], 0)
            self.assertGreater(kernel["compile_ms"], 0)
            self.assertFalse(kernel["kept"])
        again = self.build("list.toml", "-o", "two.attune")
        self.assertTrue(all(kernel["kept"] for kernel in again["kernels"]))
        self.assertEqual(self.bytes("two.attune"), first)

    def test_shards_merge_to_the_whole(self):
        first = self.whole()
        parts = []
        for i in (1, 2, 3):
            self.build("list.toml", "--shard", f"{i}/3", "-o", f"part{i}.attune")
            parts.append(f"part{i}.attune")
        self.attune("merge", *reversed(parts), "-o", "merged.attune")
        self.assertEqual(self.bytes("merged.attune"), first)

    @unittest.skipUnless(shutil.which("ninja"), "no ninja")
    def test_ninja_builds_the_whole(self):
        self.write("list.toml", LIST.replace(", 96, 128, 160, 192", ""))
        first = self.whole()
        (self.folder / "farm of $x").mkdir()
        self.attune("list.toml", "--arch", "gfx950", "--emit", "ninja", "-o", "farm of $x/build.ninja")
        for again in (False, True):
            run = subprocess.run(
                ["ninja", "-f", self.folder / "farm of $x/build.ninja"], capture_output=True, text=True, cwd="/"
            )
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertEqual("no work to do" in run.stdout, again)
        self.assertEqual(self.bytes("farm of $x/kernels.attune"), first)

    def test_killed_build_goes_on(self):
        first = self.whole()
        command = [ATTUNE, "aot", "list.toml", "--arch", "gfx950", "-j", "1", "-o", "late.attune"]
        run = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not list(self.folder.glob("late.attune.work/**/*.kernel")) and time.monotonic() < end:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        self.assertEqual(run.wait(), -signal.SIGKILL)
        self.assertFalse((self.folder / "late.attune").exists())
        report = self.build("list.toml", "-o", "late.attune")
        kept = sum(kernel["kept"] for kernel in report["kernels"])
        self.assertIn(kept, range(1, 6))
        self.assertEqual(self.bytes("late.attune"), first)

    def test_damaged_work_is_built_again(self):
        first = self.whole()
        for kernel in self.folder.glob("whole.attune.work/**/*.kernel"):
            content = bytearray(kernel.read_bytes())
            content[len(content) // 2] ^= 1
            kernel.write_bytes(content)
        report = self.build("list.toml", "-o", "whole.attune")
        self.assertFalse(any(kernel["kept"] for kernel in report["kernels"]))
        self.assertEqual(self.bytes("whole.attune"), first)

    # --- failures and refusals --------------------------------------------------------------------------------------

    def crashing_compiler(self):
        self.write("crashing.c", CRASHING)
        library = self.folder / "libcrashing.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, self.folder / "crashing.c", "-ldl"], check=True)
        real = ATTUNE.parent / "../lib/libattune-compiler.so"
        return {"ATTUNE_COMPILER": str(library), "ATTUNE_COMPILER_ID": "fake:fake", "REAL_COMPILER": str(real.resolve())}

    def test_a_crash_costs_one_kernel(self):
        report = self.build("list.toml", "-o", "k.attune", code=1, env=self.crashing_compiler())
        failed = [kernel for kernel in report["kernels"] if "error" in kernel]
        self.assertEqual([kernel["kernel"] for kernel in failed], ["small width=96"])
        self.assertIn("signal 6", failed[0]["error"])
        self.assertEqual(len(report["kernels"]), 6)
        self.assertFalse((self.folder / "k.attune").exists())
        self.assertEqual(len(list(self.folder.glob("k.attune.work/**/*.kernel"))), 5)

    def test_worker_memory(self):
        run = self.attune("list.toml", "--arch", "gfx950", "--worker-memory", 1, "-o", "k.attune", code=1)
        self.assertIn("--worker-memory", run.stdout + run.stderr)

    def test_refusals_come_at_once(self):
        self.write("bad.attn", SPEC.replace("window(width)", "windo(width)"))
        self.write("list.toml", LIST + '[[kernel]]\nspec = "bad.attn"\n[[kernel]]\nspec = "small.attn"\nset = {w = 1}\n')
        said = self.attune("list.toml", "--arch", "gfx950", "-o", "k.attune", code=2).stderr
        self.assertIn("bad.attn:3:", said)
        self.assertIn("list.toml:6", said)
        self.assertFalse((self.folder / "k.attune.work").exists())

    def test_what_the_compiler_refuses(self):
        self.write("list.toml", LIST.replace("set = {", "set = {d = [32, 48], "))
        report = self.build("list.toml", "-o", "k.attune", code=2)
        failed = [kernel for kernel in report["kernels"] if "error" in kernel]
        self.assertEqual((len(report["kernels"]), len(failed)), (12, 6))
        self.assertIn("48", failed[0]["error"])

    def test_usage(self):
        for args, says in (
            (["list.toml", "-o", "k"], "--arch"),
            (["list.toml", "--arch", "gfx950"], "--output"),
            (["--arch", "gfx950", "-o", "k"], "INPUTS"),
            (["list.toml", "--arch", "gfx9000", "-o", "k"], "gfx9000"),
            (["list.toml", "--arch", "gfx950", "-o", "k", "--shard", "3/2"], "--shard"),
            (["list.toml", "--arch", "gfx950", "-o", "k", "--set", "width=3"], "--set"),
            (["list.toml", "--arch", "gfx950", "-o", "k", "--only", "abc"], "--only abc"),
            (["none.toml", "--arch", "gfx950", "-o", "k"], "none.toml"),
        ):
            with self.subTest(args=args):
                run = self.attune(*args, code=2)
                self.assertIn(says, run.stdout + run.stderr)

    # --- bundles ----------------------------------------------------------------------------------------------------

    def test_show_and_verify(self):
        content = bytearray(self.whole())
        shown = json.loads(self.attune("show", "whole.attune", "--json").stdout)
        self.assertEqual(sorted(k["kernel"] for k in shown["kernels"])[0], "small width=128")
        self.assertEqual(shown["bytes"], len(content))
        self.assertIn("6 kernels", self.attune("show", "whole.attune").stdout)
        self.assertIn("6 kernels", self.attune("verify", "whole.attune").stdout)
        content[len(content) * 3 // 4] ^= 1
        (self.folder / "damaged.attune").write_bytes(content)
        self.assertIn("damaged", self.attune("verify", "damaged.attune", code=1).stderr)
        self.attune("verify", "none.attune", code=2)

    def test_embedded_in_a_program(self):
        first = self.whole()
        self.attune("merge", "whole.attune", "--emit", "object", "--symbol", "these", "-o", "these.o")
        self.attune("merge", "whole.attune", "--emit", "c", "--symbol", "those", "-o", "those.c")
        self.write(
            "main.c",
            "#include <stdio.h>\nextern const unsigned char these[], those[];\n"
            "extern const unsigned long long these_size, those_size;\n"
            "int main() { fwrite(these, 1, these_size, stdout); fwrite(those, 1, those_size, stdout); }\n",
        )
        subprocess.run(["cc", "main.c", "these.o", "those.c", "-o", "main"], check=True, cwd=self.folder)
        run = subprocess.run([self.folder / "main"], capture_output=True, check=True)
        self.assertEqual(run.stdout, first + first)

    # --- plans ------------------------------------------------------------------------------------------------------

    def test_plan_build_coverage(self):
        self.write("config.json", json.dumps(LLAMA))
        serving = ["--model", "config.json", "--tp", 2, "--page-size", 64, "--kv-dtype", "bf16", "--spec-decode", 3]
        said = self.attune("plan", *serving, "-o", "plan/list.toml").stdout
        self.assertIn("not covered: llama paged", said)
        self.whole()
        coverage = ["coverage", *serving, "--arch", "gfx950"]
        missing = self.attune(*coverage, "whole.attune", code=1).stdout
        self.assertRegex(missing, r"llama full +MISSING")
        # The commands that it prints do add what is missing.
        commands = [line.split() for line in missing.splitlines() if line.startswith("  attune aot ")]
        self.assertEqual(len(commands), 3)
        for command in commands:
            self.attune(*command[2:])
        self.assertRegex(self.attune(*coverage, "whole.attune").stdout, r"llama full +in bundle")
        report = json.loads(self.attune(*coverage, "whole.attune", "--json").stdout)
        self.assertEqual([v["in_bundle"] for v in report["variants"]], [True])
        self.assertIn("llama decode", [one["variant"] for one in report["not_covered"]])

    def test_plan_leaves_other_files_alone(self):
        self.write("config.json", json.dumps(LLAMA))
        self.write("prefill.attn", SPEC)
        said = self.attune("plan", "--model", "config.json", "-o", "list.toml", code=2).stderr
        self.assertIn("prefill.attn", said)
        self.assertEqual((self.folder / "prefill.attn").read_text(), SPEC)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""attune aot from outside: the same bytes each time, builds that are killed, spread, refused or crash; plans, coverage.

    aot_test.py ATTUNE COMPILER CC      the command, libattune-compiler.so, a C compiler
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

ATTUNE, COMPILER, CC = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]

SPEC = (Path(__file__).parents[1] / "two_kernels.attn").read_text()
LIST = """[[kernel]]
spec = "small.attn"
set = {width = [16, 32, 48]}
[[kernel]]
spec = "small.attn"
attention = "other"
reason = "a second form"
[[kernel]]
spec = "./small.attn"
set = {width = 32}
knob = {waves = 2}
"""

# A compiler that is given the name of an accident by an attention's name; all else goes to the real one.
FAKE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef void (*Compile)(const char *, size_t, void (*)(void *, const char *, size_t), void *);
void attune_compile_v1(const char *request, size_t bytes, void (*reply)(void *, const char *, size_t), void *to) {
  printf("a line that a library prints\n"), fflush(stdout);
  if (memmem(request, bytes, "attention crash", 15)) abort();
  if (memmem(request, bytes, "attention greedy", 16)) {
    size_t size = (size_t)1 << 30;
    memset(malloc(size), 1, size), sleep(60);
  }
  static Compile real;
  if (!real) real = (Compile)dlsym(dlopen(REAL, RTLD_NOW), "attune_compile_v1");
  real(request, bytes, reply, to);
}
"""

LLAMA = {"model_type": "llama", "num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 512,
         "num_hidden_layers": 2, "torch_dtype": "bfloat16"}


class Aot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "small.attn").write_text(SPEC)
        (self.folder / "list.toml").write_text(LIST)
        self.environment = {"PATH": os.environ["PATH"], "ATTUNE_COMPILER": str(COMPILER)}

    def aot(self, *args, code=0, cwd=None):
        run = subprocess.run([ATTUNE, "aot", *map(str, args)], capture_output=True, text=True, cwd=cwd or self.folder,
                             env=self.environment)
        self.assertEqual(run.returncode, code, f"attune aot {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def build(self, output, *args, source="list.toml", **kw):
        return json.loads(self.aot(source, "--arch", "gfx950", "-o", output, "--json", *args, **kw).stdout)

    def bytes(self, name):
        return (self.folder / name).read_bytes()

    def test_bytes_do_not_depend_on_jobs_folders_or_repetition(self):
        report = self.build("one.attune", "-j1")
        self.assertEqual(len(report["kernels"]), 5)
        self.assertTrue(report["ok"])
        for kernel in report["kernels"]:
            self.assertGreater(kernel["vgpr"], 0)
            self.assertGreater(kernel["compile_ms"], 0)
            self.assertEqual((kernel["arch"], kernel["kept"]), ("gfx950", False))
        self.build("two.attune", "-j2")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for name in ("small.attn", "list.toml"):
            shutil.copy(self.folder / name, elsewhere)
        self.aot("list.toml", "--arch", "gfx950", "-o", "three.attune", cwd=elsewhere)
        again = self.build("one.attune")
        self.assertTrue(all(kernel["kept"] for kernel in again["kernels"]))
        for other in ("two.attune", "elsewhere/three.attune"):
            self.assertEqual(self.bytes("one.attune"), self.bytes(other))
        self.assertNotIn(bytes(self.folder), self.bytes("one.attune"))
        shown = json.loads(self.aot("show", "one.attune", "--json").stdout)
        self.assertEqual({k["key"] for k in shown["kernels"]}, {k["key"] for k in report["kernels"]})
        self.assertIn("5 kernels", self.aot("verify", "one.attune").stdout)

    def test_a_killed_build_goes_on_where_it_was(self):
        self.build("whole.attune")
        work = self.folder / "killed.attune.work"
        build = subprocess.Popen([ATTUNE, "aot", "list.toml", "--arch", "gfx950", "-o", "killed.attune", "-j1"],
                                 cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL)
        while not list(work.glob("*.kernel")):
            self.assertIsNone(build.poll(), "the build ended before it could be killed")
            time.sleep(0.01)
        build.send_signal(signal.SIGKILL)
        build.wait()
        self.assertFalse((self.folder / "killed.attune").exists())
        kept = {file.stem for file in work.glob("*.kernel")}
        broken = next(work.glob("*.kernel"))
        broken.write_bytes(broken.read_bytes()[:-1])
        report = self.build("killed.attune")
        again = {kernel["key"] for kernel in report["kernels"] if kernel["kept"]}
        self.assertEqual(again, kept - {broken.stem})
        self.assertEqual(self.bytes("killed.attune"), self.bytes("whole.attune"))

    def test_shards_and_ninja_come_to_the_same_bundle(self):
        self.build("whole.attune")
        shards = [f"s{i}.attune" for i in (1, 2, 3)]
        counts = [len(self.build(name, "--shard", f"{i + 1}/3", "--work", "whole.attune.work")["kernels"])
                  for i, name in enumerate(shards)]
        self.assertEqual(sum(counts), 5)
        self.aot("merge", *reversed(shards), "-o", "merged.attune")
        self.assertEqual(self.bytes("merged.attune"), self.bytes("whole.attune"))

        place = self.folder / "a $place: x"
        written = self.aot("list.toml", "--arch", "gfx950", "--emit", "ninja", "-o", place / "build.ninja", "--json")
        self.assertEqual(json.loads(written.stdout), {"ok": True, "kernels": 5, "output": str(place / "build.ninja")})
        ninja = ["ninja", "-C", place, "-j2"]
        subprocess.run(ninja, check=True, capture_output=True, env=self.environment)
        self.assertEqual((place / "kernels.attune").read_bytes(), self.bytes("whole.attune"))
        idle = subprocess.run(ninja, check=True, capture_output=True, text=True, env=self.environment)
        self.assertIn("no work to do", idle.stdout)
        (self.folder / "small.attn").write_text(SPEC.replace("width: int = 64", "width: int = 64, c: f32 = 2.0").replace(
            "mask  = window(width)", "mask  = window(width)\n  score = softcap(s, c)"))
        subprocess.run(ninja, check=True, capture_output=True, env=self.environment)
        self.build("changed.attune")
        self.assertEqual((place / "kernels.attune").read_bytes(), self.bytes("changed.attune"))

    def test_only_what_is_named(self):
        key = self.build("whole.attune")["kernels"][1]["key"]
        one = self.build("one.attune", "--only", key, "--work", "whole.attune.work")
        self.assertEqual([kernel["key"] for kernel in one["kernels"]], [key])
        self.assertIn("no kernel asked for has this key", self.aot(
            "list.toml", "--arch", "gfx950", "-o", "x", "--only", "0123", code=2).stderr)

    def test_what_cannot_be_built_is_refused_before_anything_is(self):
        (self.folder / "bad.toml").write_text('[[kernel]]\nspec = "small.attn"\nset = {width = [0, 16, -1]}\n'
                                              '[[kernel]]\nspec = "none.attn"\n')
        said = self.aot("bad.toml", "--arch", "gfx950", "-o", "x", code=2).stderr
        for part in ("got 0", "got -1", "none.attn", "bad.toml:1", "bad.toml:4"):
            self.assertIn(part, said)
        self.assertIn("gfx906", self.aot("list.toml", "--arch", "gfx906", "-o", "x", code=2).stderr)
        self.assertIn("gfx942 lacks", self.aot("list.toml", "--arch", "gfx950,gfx942", "-o", "x", code=2).stderr)
        self.assertIn("--arch", self.aot("list.toml", "-o", "x", code=2).stderr)
        self.assertIn("a list says its own",
                      self.aot("list.toml", "--arch", "gfx950", "-o", "x", "--set", "width=1", code=2).stderr)
        for wrong in ("0/2", "3/2", "1", "a/b"):
            self.aot("list.toml", "--arch", "gfx950", "-o", "x", "--shard", wrong, code=2)
        self.assertFalse((self.folder / "x").exists())
        self.assertFalse((self.folder / "x.work").exists())

    def test_a_kernel_that_the_compiler_refuses_is_named_and_the_rest_is_kept(self):
        (self.folder / "wide.attn").write_text("attention wide {\n  q, kv : bf16[tokens, 2 / 1, 80]\n}\n")
        run = self.aot("list.toml", "wide.attn", "--arch", "gfx950", "-o", "x", code=2)
        self.assertIn("failed: wide (wide.attn)", run.stdout)
        self.assertIn("head_dim", run.stdout)
        self.assertFalse((self.folder / "x").exists())
        self.assertTrue(all(kernel["kept"] for kernel in self.build("x")["kernels"]))

    def fake_compiler(self):
        (self.folder / "fake.c").write_text(FAKE)
        subprocess.run([CC, "-shared", "-fPIC", f'-DREAL="{COMPILER}"', "fake.c", "-o", "fake.so", "-ldl"], check=True,
                       cwd=self.folder)
        self.environment |= {"ATTUNE_COMPILER": str(self.folder / "fake.so"), "ATTUNE_COMPILER_ID": "fake:22"}
        for name in ("crash", "greedy"):
            (self.folder / f"{name}.attn").write_text(f"attention {name} {{\n  q, kv : bf16[tokens, 2 / 1, 64]\n}}\n")

    def test_a_crash_of_the_compiler_costs_one_kernel(self):
        self.fake_compiler()
        run = self.aot("crash.attn", "list.toml", "--arch", "gfx950", "-o", "x", "-j2", code=1)
        self.assertIn("failed: crash (crash.attn)", run.stdout)
        self.assertIn("signal 6", run.stdout)
        self.assertIn("6 kernels, 1 failed", run.stdout)
        self.assertFalse((self.folder / "x").exists())
        self.assertTrue(all(kernel["kept"] for kernel in self.build("x")["kernels"]))

    def test_a_kernel_that_eats_memory_costs_itself(self):
        self.fake_compiler()
        report = json.loads(self.aot("greedy.attn", "small.attn", "--arch", "gfx950", "-o", "x", "-j1", "--json",
                                     "--worker-memory", "300", code=1).stdout)
        self.assertIn("600 MiB", report["kernels"][0]["error"])
        self.assertNotIn("error", report["kernels"][1])

    def test_embedded_forms(self):
        self.build("x.attune")
        (self.folder / "main.c").write_text(
            "#include <string.h>\nextern const unsigned char k[];\nextern const unsigned long long k_size;\n"
            'int main(void) { return k_size < 1000 || memcmp(k, "ATTUNEB", 7); }\n')
        for form, file in (("c", "k.c"), ("object", "k.o")):
            self.build(file, "--emit", form, "--symbol", "k", "--work", "x.attune.work")
            merged = "merged" + file
            self.aot("merge", "x.attune", "--emit", form, "--symbol", "k", "-o", merged)
            self.assertEqual(self.bytes(file), self.bytes(merged))
            subprocess.run([CC, "main.c", file, "-o", "main"], check=True, cwd=self.folder)
            subprocess.run([self.folder / "main"], check=True)
        self.aot("merge", "x.attune", "--emit", "c", "--symbol", "1k", "-o", "y.c", code=2)

    def test_a_damaged_bundle_fails_verify(self):
        self.build("x.attune")
        damaged = bytearray(self.bytes("x.attune"))
        damaged[-100] ^= 1
        (self.folder / "x.attune").write_bytes(damaged)
        self.assertIn("damaged", self.aot("verify", "x.attune", code=1).stderr)
        self.aot("verify", "nothing", code=2)
        self.aot("merge", "x.attune", "-o", "y", code=2)
        self.assertFalse((self.folder / "y").exists())

    def test_plan_build_coverage(self):
        (self.folder / "config.json").write_text(json.dumps(LLAMA | {"model_type": "gpt_oss", "sliding_window": 128}))
        serving = ("--model", "config.json", "--tp", "2", "--page-size", "64")
        said = self.aot("plan", *serving, "-o", "plan/LIST.toml").stdout
        for part in ("gpt_oss window 128", "gpt_oss full", "not covered: gpt_oss paged", "2 variants"):
            self.assertIn(part, said)
        self.build("small.attune", source="small.attn")
        missing = self.aot("coverage", *serving, "--arch", "gfx950", "small.attune", code=1).stdout
        self.assertEqual(missing.count("MISSING"), 2)
        for command in [line.split() for line in missing.splitlines() if line.startswith("  attune aot ")]:
            self.aot(*command[2:])
        covered = json.loads(self.aot("coverage", *serving, "--arch", "gfx950", "small.attune", "--json").stdout)
        self.assertEqual([variant["in_bundle"] for variant in covered["variants"]], [True, True])
        self.assertIn("gpt_oss paged", [one["variant"] for one in covered["not_covered"]])
        self.aot("plan", *serving, "-o", "plan/LIST.toml")  # may replace its own files
        (self.folder / "plan/prefill_sink.attn").write_text("// mine\n")
        self.assertIn("was not written by attune aot plan",
                      self.aot("plan", *serving, "-o", "plan/LIST.toml", code=2).stderr)

    def test_a_model_without_kernels_is_no_success(self):
        """An empty list builds an empty bundle, which has all that the list names: the pipeline must stop earlier."""
        (self.folder / "config.json").write_text(json.dumps(LLAMA | {"model_type": "deepseek_v3"}))
        refused = self.aot("plan", "--model", "config.json", "-o", "none/LIST.toml", code=2)
        self.assertIn("not covered: deepseek_v3: MLA", refused.stderr)
        self.assertFalse((self.folder / "none").exists())
        planned = json.loads(self.aot("plan", "--model", "config.json", "-o", "L.toml", "--json", code=2).stdout)
        self.assertEqual((planned["ok"], planned["variants"]), (False, []))
        self.build("small.attune", source="small.attn")
        coverage = ("coverage", "--model", "config.json", "--arch", "gfx950", "small.attune")
        self.assertIn("MLA", self.aot(*coverage, code=1).stdout)
        report = json.loads(self.aot(*coverage, "--json", code=1).stdout)
        self.assertEqual((report["ok"], report["not_covered"][0]["layers_without_kernel"]), (False, True))

    def test_a_list_without_kernels_is_refused(self):
        (self.folder / "none.toml").write_text("# nothing\n")
        self.assertIn("none.toml: names no kernel", self.build("none.attune", source="none.toml", code=2)["error"])

    def test_plan_json(self):
        (self.folder / "config.json").write_text(json.dumps(LLAMA))
        planned = json.loads(self.aot("plan", "--model", "config.json", "-o", "a/b/LIST.toml", "--json").stdout)
        self.assertEqual([variant["variant"] for variant in planned["variants"]], ["llama full"])
        self.assertTrue((self.folder / planned["output"]).exists())

    def test_outputs_are_checked_before_the_work(self):
        self.build("new/folder/x.attune")
        (self.folder / "file").write_text("")
        self.assertIn("file is no folder", self.build("file/x.attune", code=2)["error"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

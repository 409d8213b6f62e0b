#!/usr/bin/env python3
"""attune cache and the cache of attune run from outside: every action as text and as JSON, exit codes, damage, limits,
clearing beside users. Each test has a directory of its own.

    cache_test.py ATTUNE
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ATTUNE = Path(sys.argv[1]).resolve()
SPEC = (Path(__file__).parents[1] / "two_kernels.attn").read_text()
LIST = """[[kernel]]
spec = "small.attn"
set = {width = [64, 32]}
[[kernel]]
spec = "small.attn"
attention = "other"
"""


class CacheCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The three kernels of LIST, compiled once; tests work on copies."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.compiled = Path(folder.name) / "compiled"
        (Path(folder.name) / "small.attn").write_text(SPEC)
        (Path(folder.name) / "list.toml").write_text(LIST)
        cls.files = {name: (Path(folder.name) / name).read_text() for name in ("small.attn", "list.toml")}
        environment = {"PATH": os.environ["PATH"], "ATTUNE_CACHE_DIR": str(cls.compiled)}
        subprocess.run([ATTUNE, "cache", "warm", "list.toml"], check=True, capture_output=True, cwd=folder.name,
                       env=environment)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache"
        for name, text in self.files.items():
            (self.folder / name).write_text(text)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "ATTUNE_CACHE_DIR": str(self.cache)}

    def attune(self, *args, code=0, **more):
        run = subprocess.run([ATTUNE, *map(str, args)], capture_output=True, text=True, cwd=self.folder,
                             env=self.environment | more)
        self.assertEqual(run.returncode, code, f"attune {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def act(self, action, *args, code=0, **more):
        return self.attune("cache", action, *args, code=code, **more).stdout

    def json(self, action, *args, code=0, **more):
        return json.loads(self.act(action, *args, "--json", code=code, **more))

    def refused(self, *args, **more):
        return self.attune("cache", *args, code=2, **more).stderr

    def filled(self):
        """Copies the three kernels; their files, the most recently used first."""
        shutil.copytree(self.compiled, self.cache)
        files = sorted(self.cache.glob("*.kernel"))
        for age, file in enumerate(files):
            os.utime(file, (2_000_000_000 - 1000 * age,) * 2)
        return files


class Actions(CacheCase):
    def test_warm_compiles_what_is_not_there(self):
        first = self.attune("cache", "warm", "list.toml")
        self.assertIn("3 compiled, 0 were there", first.stderr)
        lines = first.stdout.splitlines()
        self.assertEqual([line.split("  ")[1] for line in lines], ["small width=64", "small width=32", "other"])
        for line in lines:
            self.assertTrue((self.cache / f"{line.split('  ')[0]}.kernel").exists())
        again = self.attune("cache", "warm", "list.toml")
        self.assertEqual(again.stdout, first.stdout)
        self.assertIn("0 compiled, 3 were there", again.stderr)
        report = self.json("warm", "small.attn", "--set", "width=32")
        self.assertEqual((report["compiled"], report["present"], report["directory"]), (0, 1, str(self.cache)))
        self.assertEqual([(k["kernel"], k["digest"]) for k in report["kernels"]],
                         [("small width=32", lines[1].split("  ")[0])])
        self.assertEqual(self.json("warm", "small.attn", "--knob", "waves=2")["compiled"], 1)
        self.assertEqual(len(list(self.cache.glob("*.kernel"))), 4)

    def test_warm_goes_on_after_a_refusal(self):
        (self.folder / "bad.attn").write_text(SPEC.replace("window", "windows"))
        (self.folder / "wide.attn").write_text("attention wide {\n  q, kv : bf16[tokens, 2 / 1, 80]\n}\n")
        run = self.attune("cache", "warm", "bad.attn", "none.attn", "wide.attn", "small.attn", code=2)
        for part in ("bad.attn:3", "none.attn", "head_dim", "1 compiled, 0 were there"):
            self.assertIn(part, run.stderr)
        report = self.json("warm", "bad.attn", "small.attn", code=2)
        self.assertEqual([("error" in k) for k in report["kernels"]], [True, False])
        self.assertEqual((report["compiled"], report["present"]), (0, 1))

    def test_warm_that_keeps_nothing_is_refused_or_fails(self):
        for mode in ("off", "readonly"):
            self.assertIn(f"ATTUNE_CACHE is {mode}", self.refused("warm", "small.attn", ATTUNE_CACHE=mode))
        self.cache.write_text("in the way")
        self.attune("cache", "warm", "small.attn", code=1)
        self.assertIn("gfx906", self.refused("warm", "small.attn", "--arch", "gfx906"))
        self.assertIn("a list says its own", self.refused("warm", "list.toml", "--set", "width=3"))

    def test_ls(self):
        self.assertEqual(self.json("ls")["entries"], [])  # no directory yet
        self.assertIn("0 kernels, 0 bytes, 0 not whole", self.act("ls"))
        files = self.filled()
        entries = self.json("ls")["entries"]
        self.assertEqual([e["digest"] for e in entries], [f.stem for f in files])
        self.assertEqual([e["bytes"] for e in entries], [f.stat().st_size for f in files])
        self.assertEqual({e["state"] for e in entries}, {"good"})
        self.assertEqual({e["spec"] for e in entries}, {"small", "other"})
        text = self.act("ls").splitlines()
        self.assertEqual([line[:16] for line in text[:3]], [f.stem[:16] for f in files])
        self.assertRegex(text[3], rf"^3 kernels, {sum(f.stat().st_size for f in files)} bytes, 0 not whole, in ")
        elsewhere = self.folder / "elsewhere"
        self.cache.rename(elsewhere)
        self.assertEqual(len(self.json("ls", "--directory", elsewhere)["entries"]), 3)

    def test_show(self):
        files = self.filled()
        shown = self.json("show", files[0].stem[:8])
        self.assertEqual(shown["digest"], files[0].stem)
        for field in ("arch", "compiler", "knobs", "llvm", "name", "spec"):
            self.assertRegex(shown["key"], rf"(?m)^{field}\b")
        text = self.act("show", files[0].stem)
        self.assertIn(str(files[0]), text)
        self.assertIn(shown["key"], text)
        self.assertIn(f'"spec_name": "{shown["sidecar"]["problem"]["spec_name"]}"', text)
        self.assertIn("give more of it", self.refused("show", ""))
        self.assertIn("no kernel in", self.refused("show", "zz"))
        self.assertIn("DIGEST is required", self.refused("show"))

    def test_verify_finds_damage(self):
        files = self.filled()
        self.assertIn("3 kernels", self.act("verify"))
        good = files[1].read_bytes()
        middle = len(good) // 2
        for damaged in (good[:-1], good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], b""):
            files[1].write_bytes(damaged)
            text = self.act("verify", code=1)
            self.assertRegex(text, rf"(?m)^{files[1].stem[:16]} .* corrupt: ")
            self.assertIn("1 not whole", text)
            states = {e["digest"]: e for e in self.json("verify", code=1)["entries"]}
            self.assertEqual(states[files[1].stem]["state"], "corrupt")
            self.assertTrue(states[files[1].stem]["reason"])
            self.assertEqual(states[files[0].stem]["state"], "good")
            self.attune("cache", "show", files[1].stem, code=2)
        files[1].write_bytes(files[0].read_bytes())  # whole, but of another key
        self.assertIn("foreign: ", self.act("verify", code=1))
        self.attune("cache", "warm", "list.toml")  # what is not whole is made again
        self.act("verify")
        self.assertEqual(self.json("show", files[1].stem)["digest"], files[1].stem)

    def test_gc_keeps_what_was_used_last(self):
        files = self.filled()
        sizes = [f.stat().st_size for f in files]
        (self.cache / "notes.txt").write_text("mine")
        left_behind = self.cache / f"{files[0].stem}.x.tmp"
        left_behind.write_text("half")
        os.utime(left_behind, (0, 0))
        report = self.json("gc", "--limit", sum(sizes))
        self.assertEqual((report["removed"], report["kept"], report["leftovers"]), (0, 3, 1))
        report = self.json("gc", "--limit", sum(sizes) - 1)
        self.assertEqual((report["removed"], report["removed_bytes"], report["kept_bytes"]), (1, sizes[2], sum(sizes[:2])))
        self.assertEqual(sorted(self.cache.glob("*.kernel")), files[:2])
        self.assertIn("removed 1 kernels", self.act("gc", ATTUNE_CACHE_LIMIT=str(sizes[0])))
        self.assertEqual(sorted(self.cache.glob("*.kernel")), files[:1])
        self.assertIn("removed 0 kernels", self.act("gc"))  # far below the standard limit
        self.assertTrue((self.cache / "notes.txt").exists())
        for wrong in ("much", "-1", "1T2"):
            self.assertIn("--limit", self.refused("gc", f"--limit={wrong}"))
        self.assertIn("ATTUNE_CACHE_LIMIT", self.refused("gc", ATTUNE_CACHE_LIMIT="much"))

    def test_clear(self):
        files = self.filled()
        (self.cache / "notes.txt").write_text("mine")
        report = self.json("clear")
        self.assertEqual((report["removed"], report["kept"], report["directory"]), (3, 0, str(self.cache)))
        self.assertEqual(report["removed_bytes"], sum(f.stat().st_size for f in self.compiled.glob("*.kernel")))
        self.assertFalse(any(f.exists() for f in files))
        self.assertTrue((self.cache / "notes.txt").exists())
        self.assertIn("removed 0 kernels", self.act("clear"))

    def test_clear_beside_users(self):
        """A directory that is cleared all the time costs its users compiles and nothing else."""
        done = threading.Event()
        cleared = []

        def clear():
            while not done.is_set():
                cleared.append(self.json("clear")["removed"])

        thread = threading.Thread(target=clear)
        thread.start()
        try:
            for _ in range(4):
                run = self.attune("run", "small.attn", "--q-lens", "3", "--check", "--json")
                self.assertTrue(json.loads(run.stdout)["ok"])
        finally:
            done.set()
            thread.join()
        self.assertGreater(len(cleared), 4)
        self.act("verify")

    def test_wrong_usage_is_refused(self):
        self.refused()
        self.refused("fly")
        self.refused("warm")
        self.assertIn("--nothing", self.refused("ls", "--nothing"))
        self.assertIn("on, readonly or off", self.refused("ls", ATTUNE_CACHE="maybe"))
        for action in ("ls", "show", "verify", "gc", "clear", "warm"):
            self.assertIn(action, self.attune("cache", "--help").stdout)

    def test_a_home_that_cannot_be_used(self):
        own = {k: v for k, v in self.environment.items() if k != "ATTUNE_CACHE_DIR"}
        self.environment = own | {"HOME": "/", "TMPDIR": str(self.folder)}
        self.attune("cache", "warm", "small.attn")
        made = list(self.folder.glob("attune-*/*.kernel"))
        self.assertEqual(len(made), 1)
        self.assertEqual(self.json("ls")["directory"], str(made[0].parent))


class Run(CacheCase):
    """The kernels of attune run are kept, and it says where each came from."""

    def report(self, *args, code=0, **more):
        return json.loads(self.attune("run", "small.attn", "--q-lens", "3", "--json", *args, code=code, **more).stdout)

    def text(self, *args, **more):
        return self.attune("run", "small.attn", "--q-lens", "3", *args, **more).stdout

    def entries(self):
        return sorted(file.stem for file in self.cache.glob("*.kernel"))

    def test_compiled_once_and_then_read(self):
        first = self.report()
        self.assertEqual(first["cache"]["result"], "miss")
        self.assertGreater(first["compile_ms"], 0)
        self.assertEqual(self.entries(), [first["cache"]["digest"]])
        second = self.report()
        self.assertEqual(second["cache"], {"result": "hit", "from": "disk", "digest": first["cache"]["digest"],
                                           "directory": str(self.cache)})
        self.assertEqual(second["compile_ms"], 0)
        self.assertEqual(first["kernels"], second["kernels"])
        self.assertRegex(self.text(), rf"(?m)^cache   hit: {self.entries()[0]} in {re.escape(str(self.cache))}$")
        self.assertNotIn("compiled in", self.text())
        text = self.text("--set", "width=16")
        self.assertRegex(text, rf"(?m)^cache   miss: compiled, and kept as [0-9a-f]{{64}} in {re.escape(str(self.cache))}$")
        self.assertIn("compiled in", text)
        self.assertEqual(len(self.entries()), 2)

    def test_the_same_results_either_way(self):
        for name, more in (("miss", ()), ("hit", ()), ("none", ("--no-cache",))):
            self.report("--out", f"{name}.npz", "--check", *more)
        results = {(self.folder / f"{name}.npz").read_bytes() for name in ("miss", "hit", "none")}
        self.assertEqual(len(results), 1)

    def test_without_the_cache(self):
        self.assertEqual(self.report("--no-cache")["cache"], {"result": "off", "reason": "--no-cache"})
        self.assertEqual(self.report(ATTUNE_CACHE="off")["cache"], {"result": "off", "reason": "ATTUNE_CACHE=off"})
        self.assertFalse(self.cache.exists())
        self.assertIn("cache   off: --no-cache", self.text("--no-cache"))
        kept = self.report()["cache"]["digest"]
        self.assertEqual(self.report("--knob", "waves=2", ATTUNE_CACHE="readonly")["cache"]["result"], "miss")
        self.assertEqual(self.report(ATTUNE_CACHE="readonly")["cache"]["result"], "hit")
        self.assertEqual(self.entries(), [kept])

    def test_without_the_library_of_the_caches(self):
        """The command has a compiler of its own; what it makes has no key and is not kept."""
        report = self.report("--check", ATTUNE_COMPILER="/nowhere/libattune-compiler.so")
        self.assertEqual((report["ok"], report["cache"]["result"]), (True, "off"))
        self.assertIn("/nowhere/libattune-compiler.so", report["cache"]["reason"])
        run = self.attune("run", "small.attn", code=2, ATTUNE_COMPILER="/nowhere/libattune-compiler.so", ATTUNE_NO_JIT="1")
        self.assertIn("/nowhere/libattune-compiler.so", run.stderr)
        self.assertFalse(self.cache.exists())

    def test_base_directories(self):
        report = self.report(ATTUNE_CACHE_BASE=str(self.compiled))
        self.assertEqual((report["cache"]["result"], report["cache"]["from"]), ("hit", "base"))
        self.assertIn("in a directory of ATTUNE_CACHE_BASE", self.text(ATTUNE_CACHE_BASE=str(self.compiled)))
        self.assertFalse(self.cache.exists())

    def test_warm_and_run_mean_the_same_kernel(self):
        warmed = self.json("warm", "small.attn", "--attention", "other")["kernels"][0]["digest"]
        report = json.loads(self.attune("run", "small.attn", "--attention", "other", "--json", "--q-len", "5").stdout)
        self.assertEqual((report["cache"]["result"], report["cache"]["digest"]), ("hit", warmed))

    def test_compiling_forbidden(self):
        run = self.attune("run", "small.attn", "--set", "width=24", code=2, ATTUNE_NO_JIT="1")
        self.assertIn("forbids compiling", run.stderr)
        command = re.search(r"build it with: attune (.*)", run.stderr)[1].split()
        self.attune(*command)
        self.assertEqual(self.report("--set", "width=24", ATTUNE_NO_JIT="1")["cache"]["result"], "hit")

    def test_damage_and_disks_that_cannot_be_used(self):
        digest = self.report()["cache"]["digest"]
        file = self.cache / f"{digest}.kernel"
        file.write_bytes(file.read_bytes()[:-7])
        run = self.attune("run", "small.attn", "--q-lens", "3", "--check")
        self.assertIn("cache   miss", run.stdout)
        self.assertIn("built anew", run.stderr)
        self.act("verify")
        shutil.rmtree(self.cache)
        self.cache.write_text("in the way")
        run = self.attune("run", "small.attn", "--q-lens", "3", "--check")
        self.assertIn("cache   miss: compiled, and not kept", run.stdout)
        self.assertTrue(run.stderr)
        self.assertIn("ATTUNE_CACHE_LIMIT", self.attune("run", "small.attn", code=2, ATTUNE_CACHE_LIMIT="x").stderr)

    def test_sources_that_are_not_cached(self):
        self.attune("compile", "small.attn", "-o", "k.hsaco")
        self.attune("compile", "small.attn", "--emit", "attn", "-o", "k.mlir")
        for source in ("k.hsaco", "k.mlir"):
            report = json.loads(self.attune("run", source, "--q-lens", "3", "--json").stdout)
            self.assertEqual(report["cache"]["result"], "off")
            self.assertIn(".attn", report["cache"]["reason"])


class Profile(CacheCase):
    """attune profile takes its kernel as attune run does; the lines of the tile dialect take the compiler."""

    def report(self, *args, **more):
        command = ("profile", "small.attn", "--q-len", "40", "--batch", "1", "--json")
        return json.loads(self.attune(*command, *args, **more).stdout)

    def lines(self, report):
        return sum("tile" in row for row in report["instructionReports"])

    def test_compiled_once_and_then_read(self):
        first, second = self.report(), self.report()
        self.assertEqual((first["cache"]["result"], first["cache"]["kept"]), ("miss", True))
        self.assertEqual((second["cache"]["result"], second["cache"]["from"]), ("hit", "disk"))
        self.assertEqual([file.stem for file in self.cache.glob("*.kernel")], [second["cache"]["digest"]])
        self.assertGreater(self.lines(first), 100)
        for report in (first, second):
            del report["cache"]
        self.assertEqual(first, second)
        text = self.attune("profile", "small.attn", "--q-len", "40").stdout
        self.assertIn("cache hit: ", text)

    def test_without_the_cache(self):
        kept = self.report()
        for args, more, reason in ((("--no-cache",), {}, "--no-cache"), ((), {"ATTUNE_CACHE": "off"}, "ATTUNE_CACHE=off")):
            report = self.report(*args, **more)
            self.assertEqual(report["cache"], {"result": "off", "reason": reason})
            self.assertEqual(report["instructionReports"], kept["instructionReports"])

    def test_lines_take_the_compiler(self):
        self.assertEqual(self.lines(self.report("--no-lines")), 0)
        report = self.report(ATTUNE_NO_JIT="1")
        self.assertEqual((report["cache"]["result"], self.lines(report)), ("hit", 0))
        self.assertIn("ATTUNE_NO_JIT", report["noLines"])
        self.assertNotIn("noLines", self.report("--no-lines", ATTUNE_NO_JIT="1"))
        self.assertIn("takes the", self.attune("profile", "--help").stdout)

    def test_what_is_timed(self):
        """A kernel whose lines every XCD reads finds them in the MALL; a number of the model is one option away."""
        alone = self.report("--workgroups", "256", "--sharers", "1")
        shared = self.report("--workgroups", "256", "--sharers", "1", "--xcds", "8")
        slower = self.report("--workgroups", "256", "--sharers", "1", "--param", "hbmClk=8500")
        self.assertLess(shared["clk"], alone["clk"])
        self.assertGreater(slower["clk"], alone["clk"] + 7000)
        for args, said in ((("--xcds", "9"), "--xcds"), (("--param", "hbmClock=1"), "nearest: hbmClk = 850"),
                           (("--param", "hbmClk"), "name=value"), (("--param", "hbmClk=-3"), "from 9 to 85000")):
            run = self.attune("profile", "small.attn", *args, code=2)
            self.assertIn(said, run.stderr)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""The attune command from outside: options, files, exit codes (0 right, 1 wrong, 2 refused), JSON.

    cli_test.py ATTUNE ROOT      ATTUNE: the command; ROOT: the source tree, for specs/
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ATTUNE, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
CAUSAL, DENSE = ROOT / "specs/causal_gqa.attn", ROOT / "specs/vit.attn"
SMALL = """attention small {
  q, kv : bf16[tokens, 2 / 1, 64]
  mask  = causal
  lse   : f32 natural
}
"""


def npy(descr, shape, data):
    """The bytes of a .npy file, by the format's own document."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def members(path):
    """Name and raw elements of each array of an .npz."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {n: archive.read(n)[10 + struct.unpack("<H", archive.read(n)[8:10])[0] :] for n in archive.namelist()}


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.small = self.folder / "small.attn"
        self.small.write_text(SMALL)

    def attune(self, *args, code=0):
        run = subprocess.run([ATTUNE, *map(str, args)], capture_output=True, text=True, cwd=self.folder,
                             env=os.environ | {"ATTUNE_CACHE_DIR": str(self.folder / "cache")})
        self.assertEqual(run.returncode, code, f"attune {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def report(self, *args, code=0):
        return json.loads(self.attune("run", *args, "--json", code=code).stdout)

    def refused(self, *args):
        """What is said on stderr; nothing else may have happened."""
        return self.attune(*args, code=2).stderr

    # --- exec: kernels of others ------------------------------------------------------------------------------------

    def example(self):
        """The example of docs/exec.md, built as it says there."""
        blocks = (ROOT / "docs/exec.md").read_text().split("```")[1::2]
        source, launch, commands, printed = blocks[:4]
        (self.folder / "vadd.s").write_text(source)
        (self.folder / "vadd.json").write_text(launch.removeprefix("json"))
        build, command = commands.strip().rsplit("\n", 1)
        subprocess.run(build, shell=True, check=True, cwd=self.folder)
        return command.split()[1:], printed.strip()

    def test_exec_example(self):
        command, printed = self.example()

        def timeless(text):
            return [line for line in text.strip().splitlines() if not line.startswith("run ")]

        self.assertEqual(timeless(self.attune(*command).stdout), timeless(printed))
        self.assertEqual((self.folder / "c.npy").read_bytes()[-400:], struct.pack("<f", 3) * 100)
        report = json.loads(self.attune(*command, "--json", "--policy", "arrival=latest,schedule=reverse").stdout)
        self.assertEqual((report["ok"], report["stats"]["opcodes"]["v_add_f32"]), (True, 2))

    def test_exec_refusals(self):
        command, _ = self.example()
        self.assertIn("policies: arrival", self.refused(*command, "--policy", "speed=1"))
        self.assertIn("--launch is required", self.refused("exec", "vadd.co"))
        self.assertIn("its budget", self.attune(*command, "--budget", "3", code=1).stderr)
        text = (self.folder / "vadd.json").read_text()
        (self.folder / "vadd.json").write_text(text.replace('"i32"', '"i31"'))
        self.assertIn("vadd.json: args[3].kind: no kind is called i31", self.refused(*command))
        self.assertFalse(json.loads(self.attune(*command, "--json", code=2).stdout)["ok"])

    # --- usage ---------------------------------------------------------------------------------------------------

    def test_help_names_the_commands(self):
        text = self.attune("--help").stdout
        for command in ("compile", "run", "explain", "golden"):
            self.assertIn(command, text)

    def test_wrong_usage_is_refused(self):
        self.refused()
        self.refused("fly")
        self.refused("run")
        self.assertIn("--nothing", self.refused("run", self.small, "--nothing"))
        self.assertIn("'x' is not a whole number", self.refused("run", self.small, "--q-lens", "5,x"))
        self.assertIn("a length must be 0 or more, got -5", self.refused("run", self.small, "--q-lens=-5"))
        self.assertIn("'width' is not of the form name=value", self.refused("run", self.small, "--set", "width"))
        self.assertIn("not a number", self.refused("run", self.small, "--scalar", "a=b"))
        self.refused("run", self.small, "--q-lens", "5", "--q-len", "5")
        self.assertIn("each sequence needs both", self.refused("run", self.small, "--q-lens", "5,6", "--kv-lens", "5"))

    def test_a_wrong_command_is_named(self):
        self.assertIn("no command is called 'fly'; commands: compile, run", self.refused("fly"))
        self.assertIn("no command is called 'fly'; commands: check, bless", self.refused("golden", "fly"))
        self.assertRegex(self.attune("--version").stdout, r"^attune \d+\.\d+\n$")

    def test_numbers_name_their_limits(self):
        for option, value in (("--seed", "-1"), ("--threads", "-1"), ("--q-len", "-1"), ("--kv-len", "1e3"), ("--batch", "99999999999")):
            self.assertRegex(self.refused("run", self.small, option, value), f"{option}: '{value}' is not a whole number from 0 to \\d+\n")
        self.assertIn("from 1 to 8", self.refused("profile", self.small, "--xcds", "9"))

    def test_nothing_is_given_twice(self):
        self.assertIn("'waves=4' sets its knob twice", self.refused("run", self.small, "--knob", "waves=2", "--knob", "waves=4"))
        self.assertIn("'a=1' sets its scalar twice", self.refused("run", self.small, "--scalar", "a=1", "--scalar", "a=1"))
        self.assertIn("'a=1' sets its parameter twice", self.refused("run", self.small, "--set", "a=2", "--set", "a=1"))

    def test_lengths_beyond_the_machine_are_refused_before_they_are_drawn(self):
        for lengths in (("--q-len", "3000000000000"), ("--q-lens", "5,9000000000000000")):
            self.assertRegex(self.refused("run", self.small, *lengths), r"take [\d.]+ GiB, this machine has [\d.]+; give shorter")
        self.assertIn("nothing to time; give --q-len", self.refused("profile", self.small, "--q-len", "0"))

    def test_outputs_are_checked_before_the_work(self):
        (self.folder / "file").write_text("")
        for command in (("run", self.small, "--out"), ("profile", self.small, "--html"), ("profile", self.small, "--trace")):
            self.assertIn("there is no folder none", self.refused(*command, "none/x"))
            self.assertIn("file is no folder", self.refused(*command, "file/x"))
        self.assertIn("there is no folder none", self.refused("compile", self.small, "-o", "none/x"))

    def test_files_that_are_not_there_or_not_right(self):
        self.assertIn("none.attn: no such file", self.refused("run", "none.attn"))
        self.assertIn("none.hsaco", self.refused("run", "none.hsaco"))
        self.assertIn("is no readable file", self.refused("run", "."))
        (self.folder / "alone.hsaco").write_bytes(b"\x7fELF")
        self.assertIn("alone.json: no such file; alone.hsaco needs its sidecar", self.refused("run", "alone.hsaco"))
        (self.folder / "bad.attn").write_text(SMALL.replace("causal", "cusal"))
        error = self.refused("compile", "bad.attn")
        self.assertIn("bad.attn:3:11: error", error)
        self.assertIn("causal", error)
        self.assertIs(self.report("bad.attn", code=2)["ok"], False)
        self.assertIn("--set", self.refused("compile", "x.mlir", "--set", "a=1"))
        (self.folder / "bad.mlir").write_text("module {")
        self.refused("compile", "bad.mlir")

    # --- compile and explain -------------------------------------------------------------------------------------

    def test_every_stage_can_be_shown(self):
        for stage, sign in (("attn", "attn.kernel"), ("tile", "tile."), ("rocdl", "rocdl."), ("llvm", "define"), ("isa", "v_mfma")):
            self.assertIn(sign, self.attune("compile", CAUSAL, "--emit", stage).stdout, stage)
        self.assertIn("name the file with -o", self.refused("compile", CAUSAL, "--emit", "object"))
        self.attune("compile", CAUSAL, "--emit", "object", "-o", "x.o")
        self.assertEqual((self.folder / "x.o").read_bytes()[:4], b"\x7fELF")
        self.refused("compile", CAUSAL, "--emit", "ptx")
        self.refused("compile", CAUSAL, "--arch", "gfx90a")
        for wrong, said in ((("--knob", "waves=3"), "nearest legal"), (("--knob", "wavs=4"), "did you mean 'waves'"), (("--arch", "gfx90"), "known: ")):
            self.assertIn(said, self.refused("compile", CAUSAL, "--emit", "attn", *wrong))

    def test_the_attn_dialect_is_a_source_too(self):
        self.attune("compile", self.small, "--emit", "attn", "-o", "small.mlir")
        from_mlir = self.attune("compile", "small.mlir", "--emit", "isa").stdout
        self.assertEqual(from_mlir, self.attune("compile", self.small, "--emit", "isa").stdout)
        self.assertIn("vgpr", self.attune("explain", "small.mlir").stdout)
        self.attune("run", "small.mlir", "--q-lens", "3", "--out", "a.npz")
        self.attune("run", self.small, "--q-lens", "3", "--out", "b.npz")
        self.assertEqual(members(self.folder / "a.npz"), members(self.folder / "b.npz"))
        self.assertIn("--check", self.refused("run", "small.mlir", "--check"))

    def test_a_saved_kernel_runs(self):
        self.assertIn("saved   k.hsaco and k.json\n", self.attune("compile", self.small, "-o", "k.hsaco").stdout)
        self.assertIn("saved   k.bin.hsaco and k.bin.json\n", self.attune("compile", self.small, "-o", "k.bin").stdout)
        self.assertEqual((self.folder / "k.hsaco").read_bytes()[:4], b"\x7fELF")
        sidecar = json.loads((self.folder / "k.json").read_text())
        self.assertEqual(self.report("k.hsaco")["kernels"][0]["vgpr"], sidecar["kernel"]["resources"]["vgpr"])
        self.assertIn("--knob", self.refused("run", "k.hsaco", "--knob", "waves=2"))
        self.assertIn("k.hsaco is compiled for gfx950", self.refused("run", "k.hsaco", "--arch", "gfx942"))
        (self.folder / "k.json").write_text("{}")
        self.refused("run", "k.hsaco")

    def test_explain_says_what_and_why(self):
        text = self.attune("explain", CAUSAL).stdout
        for word in ("causal_gqa", "mask", "plan"):
            self.assertIn(word, text)
        (self.folder / "odd.attn").write_text(SMALL.replace("64]", "96]"))
        refused = self.attune("explain", "odd.attn", code=2).stdout
        self.assertIn("refused", refused)
        self.assertIn("head_dim is 96; supported: 32, 64, 128", refused)

    # --- run -----------------------------------------------------------------------------------------------------

    def test_a_checked_run(self):
        r = self.report(CAUSAL, "--q-lens", "1,7,40", "--kv-lens", "30,7,70", "--check")
        self.assertIs(r["ok"], True)
        self.assertGreater(r["max_abs_err"], 0)
        self.assertLess(r["max_abs_err"], 1e-2)
        self.assertLess(r["lse_max_abs_err"], 1e-3)
        self.assertEqual(r["tolerance"].split(",")[1], " 2 ulp of bf16)")
        self.assertGreater(r["compile_ms"], 0)
        self.assertIn(r["worst"]["tensor"], ("out", "lse"))
        kernel = r["kernels"][0]
        for key in ("vgpr", "agpr", "sgpr", "lds_bytes", "scratch_bytes", "occupancy"):
            self.assertIsInstance(kernel[key], int)
        self.assertEqual(kernel["scratch_bytes"], 0)
        text = self.attune("run", CAUSAL, "--q-lens", "3", "--check").stdout
        self.assertIn("ok: agrees with the float64 oracle", text)
        self.assertIn("occupancy", text)

    def test_empty_and_short_calls(self):
        for q, kv in (("0", "5"), ("0", "0"), ("3", "0"), ("5", "2"), ("0,3,0,2", "0,0,4,1")):
            self.assertIs(self.report(self.small, "--q-lens", q, "--kv-lens", kv, "--check")["ok"], True, f"{q} {kv}")
            self.assertIs(self.report(DENSE, "--q-lens", q, "--kv-lens", kv, "--check")["ok"], True, f"dense {q} {kv}")

    def test_dense_calls_of_unequal_lengths_run_one_by_one(self):
        r = self.report(DENSE, "--q-lens", "3,5", "--kv-lens", "4,4", "--check", "--out", "o.npz")
        self.assertEqual([c["lengths"] for c in r["calls"]], ["q 3  kv 4", "q 5  kv 4"])
        self.assertIn("one by one", " ".join(r["notes"]))
        self.assertEqual(set(members(self.folder / "o.npz")), {"out.0.npy", "out.1.npy"})
        one = self.report(DENSE, "--batch", "2", "--q-len", "3", "--kv-len", "4", "--check")
        self.assertEqual(len(one["calls"]), 1)

    def test_results_depend_on_the_seed_and_on_nothing_else(self):
        def out(name, *args):
            self.attune("run", self.small, "--q-lens", "70,3", "--out", name, *args)
            return members(self.folder / name)

        first = out("a.npz", "--threads", "1")
        self.assertEqual(first, out("b.npz", "--threads", "3"))
        self.assertNotEqual(first, out("c.npz", "--seed", "2"))

    def test_inputs_from_files(self):
        rows, keys = 2, 3
        one, two = struct.pack("<H", 0x3F80), struct.pack("<f", 2.0)
        arrays = self.folder / "arrays"
        arrays.mkdir()
        (arrays / "q.npy").write_bytes(npy("<u2", f"({rows}, 2, 64)", one * rows * 2 * 64))
        (arrays / "k.npy").write_bytes(npy("<u2", f"({keys}, 1, 64)", one * keys * 64))
        (arrays / "v.npy").write_bytes(npy("<f4", f"({keys}, 1, 64)", two * keys * 64))
        with zipfile.ZipFile(self.folder / "in.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("q", "k", "v"):
                archive.write(arrays / f"{name}.npy", f"{name}.npy")
        for source in ("arrays", "in.npz"):
            r = self.report(self.small, "--inputs", source, "--out", "o.npz", "--check")
            self.assertIs(r["ok"], True)
            self.assertIn("v: rounded from f32 to bf16", r["notes"])
            self.assertEqual(members(self.folder / "o.npz")["out.npy"], struct.pack("<H", 0x4000) * rows * 2 * 64)

        (arrays / "mask.npy").write_bytes(npy("|b1", "(1,)", b"\1"))
        self.assertIn("the spec has no tensor mask", self.refused("run", self.small, "--inputs", "arrays"))
        (arrays / "mask.npy").unlink()
        (arrays / "v.npy").write_bytes(npy("<u2", f"({keys}, 2, 64)", one * keys * 2 * 64))
        self.assertIn("v: dimension 1 (num_kv_heads) must be 1, got 2", self.refused("run", self.small, "--inputs", "arrays"))
        (self.folder / "cut.npz").write_bytes((self.folder / "in.npz").read_bytes()[:-30])
        self.assertIn("cut.npz", self.refused("run", self.small, "--inputs", "cut.npz"))

    def test_parameters_change_the_kernel(self):
        spec = ROOT / "specs/mistral_window.attn"
        out = {}
        for width in (1, 64):
            self.assertIs(self.report(spec, "--set", f"width={width}", "--q-lens", "3", "--kv-lens", "90", "--check", "--out", "o.npz")["ok"], True)
            out[width] = members(self.folder / "o.npz")
        self.assertNotEqual(out[1], out[64])
        self.assertIn("width", self.refused("run", spec, "--set", "wdith=3"))
        self.assertIn("at least 1, got 0", self.refused("run", spec, "--set", "width=0"))

    # --- golden --------------------------------------------------------------------------------------------------

    def golden(self):
        """One blessed spec: how to check and bless it, and the two folders."""
        specs, golden = self.folder / "specs", self.folder / "golden"
        specs.mkdir()
        (specs / "small.attn").write_text(SMALL)
        where = ("--specs", specs, "--golden", golden)

        def bless(cause, reason, *more, code=0):
            return self.attune("golden", "bless", *where, "--cause", cause, "--reason", reason, *more, code=code)

        def check(*more, code=0):
            return self.attune("golden", "check", *where, *more, code=code).stdout

        self.assertIn("small                no golden", bless("spec", "a first variant").stdout)
        return check, bless, specs, golden

    def test_golden_files(self):
        check, bless, specs, golden = self.golden()
        self.assertIn("nothing moved", check())
        self.assertIn("nothing written", bless("spec", "a first variant").stdout)
        self.assertEqual((golden / "LOG.md").read_text().count("a first variant [small]"), 1)
        self.refused("golden", "bless", "--reason", "x")
        self.refused("golden", "bless", "--cause", "mood", "--reason", "x")
        self.assertIn("say in a sentence", bless("spec", " ", code=2).stderr)

        # Text, not place: a comment moves nothing. Another mask does, and the first line that shows it is the spec's.
        (specs / "small.attn").write_text("// A comment.\n" + SMALL)
        check()
        (specs / "small.attn").write_text(SMALL.replace("causal", "window(64)"))
        text = check(code=1)
        self.assertIn("the first stage that moved is spec (then attn, tile, llvm, isa)", text)
        self.assertRegex(text, r"(?m)^  - +\d+ mask .*\n  \+ +\d+ mask ")
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("  - ")]), 1)
        self.assertIn("instructions", text)
        self.assertLess(len(text.splitlines()), 40)
        self.assertIn("small: spec, attn, tile, llvm, isa moved, the same LLVM: cause spec", bless("llvm", "x", code=2).stderr)
        (specs / "small.attn").write_text(SMALL)

        # What a wrong hand, a merge or a lost file leaves behind.
        record, text = next(golden.glob("small.*.golden")), next(golden.glob("small.*.ir.zst"))
        kept, packed = record.read_text(), text.read_bytes()
        isa = next(line for line in kept.splitlines() if line.startswith("sha256.isa"))
        record.write_text(kept.replace(isa, "sha256.isa 0"))
        self.assertIn("the first stage that moved is isa", check(code=1))
        record.write_text("<<<<<<< HEAD\n" + kept)
        self.assertIn("line 1 is not of the form", self.attune("golden", "check", "--specs", specs, "--golden", golden, code=2).stderr)
        record.write_text(kept)
        for damage in (b"", packed[:200] + bytes([packed[200] ^ 1]) + packed[201:]):
            text.write_bytes(damage)
            self.assertIn("kept text is missing, damaged", check(code=1))
        text.unlink()
        bless("compiler", "lost the text")
        self.assertEqual(text.read_bytes(), packed)  # the same bytes again

        record.rename(golden / record.name.replace("small", "gone"))
        self.assertIn("gone: has a golden file but no spec", check(code=1))
        bless("spec", "tidied")
        self.assertEqual([f.name for f in golden.glob("*.golden")], [record.name])
        self.refused("golden", "check", "--specs", self.folder / "nowhere", "--golden", golden)

    def test_golden_picks_specs_and_counts_refused_ones(self):
        check, bless, specs, golden = self.golden()
        (specs / "other.attn").write_text(SMALL.replace("causal", "window(64)").replace("small", "other"))
        (specs / "bad.attn").write_text(SMALL.replace("causal", "cusal"))
        text = check(code=2)
        self.assertIn("bad: does not compile: ", text)
        self.assertIn("other: has no golden file", text)
        self.assertIn("cause compiler does not explain", bless("compiler", "x", "--spec", "other", code=2).stderr)
        self.assertEqual(check("--threads", "3", code=2), text)
        self.assertIn("golden: 1 specs, nothing moved", check("--spec", "small"))
        self.assertIn("bad does not compile", bless("spec", "x", code=2).stderr)
        bless("spec", "another", "--spec", "other")
        check("--spec", "small", "--spec", "other")
        self.refused("golden", "check", "--specs", specs, "--golden", golden, "--spec", "nobody")
        report = json.loads(check("--json", code=2))
        self.assertEqual([(s["spec"], s["verdict"]) for s in report["specs"]], [("bad", "refused"), ("other", "same"), ("small", "same")])
        self.assertIs(report["ok"], False)

    def test_golden_budget_and_another_llvm(self):
        check, bless, specs, golden = self.golden()
        record = next(golden.glob("small.*.golden"))
        kept = record.read_text()
        vgpr = next(line for line in kept.splitlines() if line.startswith("resource.vgpr "))
        record.write_text(kept.replace(vgpr, "resource.vgpr 8"))
        now = vgpr.split()[1]
        text = check(code=1)
        self.assertIn(f"over budget:\n  small                vgpr 8 -> {now}\n", text)
        self.assertIn("1 of 1 specs differ, 1 over budget", text)

        llvm = next(line for line in kept.splitlines() if line.startswith("origin.llvm"))
        running = llvm.split()[1]
        record.write_text(kept.replace(vgpr, "resource.vgpr 8").replace(llvm, "origin.llvm 21.0.0"))
        text = check(code=1)
        self.assertIn(f"LLVM 21.0.0 -> {running}, in all specs", text)
        self.assertRegex(text, rf"(?m)^  small +none +8 -> {now}! ")
        self.assertLess(len(text.splitlines()), 8)
        report = json.loads(check("--json", code=1))
        self.assertEqual((report["toolchain_moved"], report["over_budget"]), (True, 1))
        self.assertIn("cause llvm", bless("compiler", "x", code=2).stderr)
        self.assertIn(f"vgpr 8 -> {now}", bless("llvm", "a newer LLVM").stdout)
        self.assertIn(f"llvm (gfx950): a newer LLVM [small] over budget: small vgpr 8 -> {now}", (golden / "LOG.md").read_text())
        self.assertEqual(record.read_text(), kept)
        check()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

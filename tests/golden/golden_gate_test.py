#!/usr/bin/env python3
"""A compiler that makes one instruction otherwise, at each of its stages, is caught by `attune golden check`.

    golden_gate_test.py ATTUNE OTHERWISE ROOT      OTHERWISE: the same command with doors (Otherwise.cpp); ROOT: the tree

The goldens are the tree's own; what must be said is worked out here from the text of the two compilers.
"""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ATTUNE, OTHERWISE, ROOT = (Path(argument).resolve() for argument in sys.argv[1:4])
SPEC = "causal_gqa"
# door: (stage, stages after it, what stands in the golden's line, what instead)
DOORS = {
    "attn": ("attn", "tile, llvm, isa", "arith.cmpi sle", "arith.cmpi slt"),
    "tile": ("tile", "llvm, isa", "arith.minsi", "arith.maxsi"),
    "rocdl": ("llvm", "isa", "@llvm.smin.", "@llvm.smax."),
    "llvm": ("llvm", "isa", "= sub", "= add"),
}


def run_it(command, *args, door=""):
    return subprocess.run([command, *map(str, args)], capture_output=True, text=True, cwd=ROOT,
                          env=os.environ | {"OTHERWISE": door})


@functools.cache
def text_of(stage, door=""):
    return run_it(OTHERWISE, "compile", f"specs/{SPEC}.attn", "--emit", stage, door=door).stdout.splitlines()


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_it(self, command, *args, door="", code=0):
        run = run_it(command, *args, door=door)
        self.assertEqual(run.returncode, code, f"{door} {' '.join(map(str, args))}\n{run.stdout}{run.stderr}")
        return run

    def check(self, *args, command=OTHERWISE, **how):
        return self.run_it(command, "golden", "check", *args, **how).stdout

    def copy_of_goldens(self, *specs):
        place = self.folder / "golden"
        place.mkdir()
        for file in (ROOT / "golden").iterdir():
            if not specs or file.name.split(".")[0] in specs:
                shutil.copy(file, place)
        return place

    def test_the_doors_change_nothing_by_themselves(self):
        self.assertEqual(self.check("--spec", SPEC), self.check("--spec", SPEC, command=ATTUNE))

    def test_one_instruction_otherwise_is_found_on_its_line(self):
        for door, (stage, later, kept, now) in DOORS.items():
            with self.subTest(door=door):
                said = self.check("--spec", SPEC, door=door, code=1)
                self.assertIn(f"{SPEC}: the first stage that moved is {stage} (then {later})\n", said)
                number, old = re.search(r"^  - +(\d+) (.*)$", said, re.M).groups()
                new = re.search(rf"^  \+ +{number} (.*)$", said, re.M)[1]
                self.assertIn(kept, old)
                self.assertEqual(old.replace(kept, now), new)
                before, after = text_of(stage), text_of(stage, door)
                at = int(number) - 1
                self.assertEqual((before[at], after[at]), (old, new))
                # No line before it differs in more than the numbers of values.
                for line in range(at):
                    self.assertEqual(re.sub(r"%\d+", "%", before[line]), re.sub(r"%\d+", "%", after[line]))
                self.assertLess(len(said.splitlines()), 40)
                self.assertIn("attune golden bless --cause compiler", said)
                first = json.loads(self.check("--spec", SPEC, "--json", door=door, code=1))["specs"][0]["first_line"]
                self.assertEqual((first["stage"], first["number"], first["golden"], first["now"]),
                                 (stage, int(number), old, new))

    def test_a_change_that_only_the_isa_shows(self):
        self.assertGreater(len(text_of("isa")), 500)
        self.assertNotEqual(text_of("isa"), text_of("isa", "isa"))
        self.assertEqual(text_of("llvm"), text_of("llvm", "isa"))
        self.assertIn("the first stage that moved is isa\n", self.check("--spec", SPEC, door="isa", code=1))

    def test_a_change_is_accepted_by_its_own_cause_only(self):
        where = ("--golden", self.copy_of_goldens(SPEC), "--spec", SPEC)
        for cause in ("spec", "llvm"):
            said = self.run_it(OTHERWISE, "golden", "bless", *where, "--cause", cause, "--reason", "x", door="tile", code=2)
            self.assertIn("cause compiler", said.stderr)
        self.check(*where, command=ATTUNE)  # nothing was written
        self.run_it(OTHERWISE, "golden", "bless", *where, "--cause", "compiler", "--reason", "other minima", door="tile")
        self.check(*where, door="tile")
        self.check(*where, command=ATTUNE, code=1)
        self.assertIn(f"compiler (gfx950): other minima [{SPEC}]", (self.folder / "golden/LOG.md").read_text())

    def test_another_llvm_gives_one_table_of_all_specs(self):
        """Records that say another version, and IR that moved in every spec, as when LLVM is replaced."""
        place = self.copy_of_goldens()
        specs = sorted(file.name.split(".")[0] for file in place.glob("*.golden"))
        self.assertEqual(specs, sorted(file.stem for file in (ROOT / "specs").glob("*.attn")))
        for file in place.glob("*.golden"):
            file.write_text(re.sub(r"(?m)^origin\.llvm .*$", "origin.llvm 21.1.0", file.read_text()))
        said = self.check("--golden", place, door="llvm", code=1)
        self.assertRegex(said, r"^LLVM 21\.1\.0 -> 22[.\d]+, in all specs")
        for spec in specs:
            self.assertRegex(said, rf"(?m)^  {spec} +llvm isa ")
        self.assertLessEqual(len(said.splitlines()), len(specs) + 4)
        self.assertNotRegex(said, r"(?m)^  [-+] ")  # no line of any stage
        self.assertIn("--cause llvm", said)

    def test_a_spec_without_a_golden_fails(self):
        place = self.copy_of_goldens(SPEC)
        said = self.check("--golden", place, "--spec", SPEC, "--spec", "mha_d64", command=ATTUNE, code=1)
        self.assertIn("mha_d64: has no golden file", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

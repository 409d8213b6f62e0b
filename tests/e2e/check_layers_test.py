#!/usr/bin/env python3
"""The layer check must be able to fail: a small tree with one breach of each rule, and one without any."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"


def run_on(files):
    """The exit code and the lines that tools/check_layers.py prints for a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        run = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
    return run.returncode, run.stdout.strip().splitlines()


class CheckLayers(unittest.TestCase):
    def breach(self, path, text, line, *words):
        code, lines = run_on({path: text})
        self.assertEqual(code, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{path}:{line}: "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def clean(self, path, text):
        self.assertEqual(run_on({path: text}), (0, ["layers: clean"]))

    def test_downward_include_is_clean(self):
        self.clean("compiler/lower/A.cpp", '#include "compiler/analysis/B.h"\n#include <mlir/IR/Builders.h>\n')
        self.clean("tools/attune/A.cpp", '#include "attune/Compiler.h"\n'.replace("attune/", "compiler/include/attune/"))

    def test_upward_include(self):
        self.breach("compiler/analysis/A.cpp", '\n#include "compiler/lower/B.h"\n', 2, "compiler/lower/B.h")

    def test_runtime_sees_no_compiler(self):
        self.breach("runtime/sim/A.cpp", '#include "compiler/spec/Model.h"\n', 1, "runtime/sim")

    def test_runtime_sees_no_mlir(self):
        self.breach("runtime/launch/A.h", "#include <llvm/ADT/StringRef.h>\n", 1, "no MLIR or LLVM")

    def test_command_sees_public_headers_only(self):
        self.breach("tools/attune/A.cpp", '#include "compiler/lower/B.h"\n', 1, "compiler/lower/B.h")

    def test_oracle_shares_nothing_with_the_compiler(self):
        self.breach("tests/oracle/A.cpp", '#include "compiler/analysis/MaskBounds.h"\n', 1, "tests/oracle")

    def test_include_from_the_root(self):
        code, lines = run_on({"compiler/spec/A.cpp": '#include "B.h"\n', "compiler/spec/B.h": ""})
        self.assertEqual(code, 1)
        self.assertIn("root of the tree", lines[0])
        self.clean("compiler/spec/A.cpp", '#include "somelibrary.h"\n')

    def test_stray_file_at_the_top(self):
        self.breach("t.attn", "attention a {}\n", 1, "top of the tree")
        self.clean("README.md", "# A tree\n")
        self.clean(".gitignore", "build/\n")

    def test_folder_without_a_row(self):
        self.breach("runtime/unheard/A.cpp", "int a;\n", 1, "no row")

    def test_chip_name(self):
        self.breach("compiler/lower/A.cpp", '// gfx950 here is prose\nauto a = "gfx950";\n', 2, "gfx950")
        self.clean("compiler/target/A.cpp", 'auto a = "gfx950";\n')

    def test_sorted_table(self):
        self.clean("compiler/spec/A.def", "ROW(f10, 1)\nROW(f2, 2)\n\nROW(a, 0)\n")
        self.breach("compiler/spec/A.def", "ROW(b, 1)\nROW(a, 2)\n", 2, "before b")


if __name__ == "__main__":
    unittest.main()

"""attune.h is C99 and C++, attune.hpp is C++17, each alone and without a warning; and libattune needs no LLVM.

    headers_test.py INCLUDE LIBATTUNE
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

INCLUDE, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
C, CPP = ("-xc", "-std=c99"), ("-xc++", "-std=c++17")
CASES = [("gcc", C, "attune.h"), ("g++", CPP, "attune.h"), ("g++", CPP, "attune.hpp"), ("clang-22", C, "attune.h"),
         ("clang++-22", CPP, "attune.h"), ("clang++-22", CPP, "attune.hpp")]


class Headers(unittest.TestCase):
    def test_each_header_alone(self):
        ran = 0
        for compiler, language, header in CASES:
            if not shutil.which(compiler):
                continue
            ran += 1
            with self.subTest(compiler=compiler, header=header):
                done = subprocess.run([compiler, *language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                                       f"-I{INCLUDE}", "-"], input=f"#include <attune/{header}>\n", capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(ran, 0, "there is no C compiler")

    def test_the_library_needs_no_llvm(self):
        needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("libc.so.6", needed)
        self.assertNotRegex(needed, "LLVM|MLIR")

    def test_the_library_is_small(self):
        symbols = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True).stdout
        if "__asan_init" in symbols or "__tsan_init" in symbols:
            self.skipTest("a sanitizer's checks are several times the size of the code")
        with tempfile.TemporaryDirectory() as folder:
            stripped = Path(folder) / "stripped.so"
            subprocess.run(["strip", "-o", stripped, LIBRARY], check=True)
            self.assertLessEqual(stripped.stat().st_size, 2 << 20)


if __name__ == "__main__":
    unittest.main()

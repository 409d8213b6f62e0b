"""The programs of docs/library.md, outside the tree, with only what an install or the .debs put there.

    install_test.py CMAKE BUILD SOURCE      exit 77: the build has no compiler, or there is no numpy, said in one line
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD, SOURCE = sys.argv.pop(1), Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
SKIPPED = 77
CONTACT = "Ada Example <ada@packages.example>"
# Bytes of each .deb, a third above what they were when this was written.
BUDGETS = {"attune": 1_800_000, "attune-compiler": 7_800_000, "attune-dev": 15_000}
PAGE = (SOURCE / "docs/library.md").read_text()
# Nothing of the tree and of this session may help.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ATTUNE_", "PYTHON", "LD_"))}


def example(language):
    return re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S).group(1)


def run(*command, cwd, **environment):
    ran = subprocess.run([str(word) for word in command], cwd=cwd, env={**CLEAN, **environment}, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ran.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{ran.stdout}")
    return ran.stdout


class Programs:
    """Runs the three programs from self.prefix."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.here = Path(holder.name) / "project"
        self.here.mkdir()
        self.cache = {"ATTUNE_CACHE_DIR": str(Path(holder.name) / "cache")}

    def right(self, *command, **environment):
        self.assertIn("right", run(*command, cwd=self.here, **self.cache, **environment))

    def test_c_by_pkg_config(self):
        (self.here / "example.c").write_text(example("c"))
        flags = run("pkg-config", "--cflags", "--libs", "attune", cwd=self.here,
                    PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig"), PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1",
                    PKG_CONFIG_ALLOW_SYSTEM_LIBS="1").split()
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-missing-field-initializers", "example.c", "-o", "example", *flags, "-lm", cwd=self.here)
        self.right("./example", LD_LIBRARY_PATH=str(self.prefix / "lib"))
        self.right("./example", LD_LIBRARY_PATH=str(self.prefix / "lib"), ATTUNE_COMPILE="child", ATTUNE_CACHE="off")

    def test_c_with_a_bundle_linked_in(self):
        """No compiler, no cache and no file beside the program: `attune aot --emit`, the library, and that is all."""
        source = example("c")
        text = re.search(r'static const char text\[\] = (.*?);', source, re.S).group(1)
        (self.here / "example.attn").write_text("\n".join(re.findall(r'"(.*)\\n"', text)) + "\n")
        source = source.replace("int main(void)", "extern const unsigned char kernels[];\n"
                                "extern const unsigned long long kernels_size;\n\nint main(void)")
        source = source.replace('options.device = "sim";', 'options.device = "sim";\n  options.no_jit = 1;')
        source = source.replace("check(attune_spec_parse(",
                                "check(attune_context_add_bundle_memory(context, kernels, kernels_size));\n  "
                                "check(attune_spec_parse(")
        (self.here / "program.c").write_text(source)
        libraries = (f"-I{self.prefix}/include", f"-L{self.prefix}/lib", "-lattune", "-lm")
        alone = {"LD_LIBRARY_PATH": str(self.prefix / "lib"), "ATTUNE_COMPILER": "/nowhere", "ATTUNE_CACHE": "off"}
        for form, file in (("c", "kernels.c"), ("object", "kernels.o")):
            run(self.prefix / "bin/attune", "aot", "example.attn", "--arch", "gfx950", "--emit", form, "--symbol", "kernels",
                "-o", file, cwd=self.here, LD_LIBRARY_PATH=str(self.prefix / "lib"))
            run("gcc", "-std=c99", "program.c", file, "-o", "program", *libraries, cwd=self.here)
            self.assertIn("right", run("./program", cwd=self.here, **alone))
        # The bundle is what serves: without it the same program is refused.
        (self.here / "without.c").write_text(re.sub(r"  check\(attune_context_add_bundle_memory.*\n", "", source))
        run("gcc", "-std=c99", "without.c", "kernels.o", "-o", "without", *libraries, cwd=self.here)
        with self.assertRaisesRegex(AssertionError, "forbids compiling"):
            run("./without", cwd=self.here, **alone)

    def test_cpp_by_cmake(self):
        (self.here / "CMakeLists.txt").write_text(example("cmake"))
        (self.here / "example.cpp").write_text(example("cpp"))
        run(CMAKE, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", cwd=self.here)
        run(CMAKE, "--build", "build", cwd=self.here)
        self.right("build/example")

    def test_python(self):
        (self.here / "example.py").write_text(example("python"))
        self.right(sys.executable, "example.py", PYTHONPATH=str(self.prefix / "lib/python3/dist-packages"))

    def test_command(self):
        shown = run(self.prefix / "bin/attune", "--help", cwd=self.here)
        self.assertIn("explain", shown)
        self.assertTrue((self.prefix / "share/attune/specs/lib/masks.attn").exists())
        self.assertTrue((self.prefix / "share/doc/attune/library.md").exists())


class Installed(Programs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        run(CMAKE, "--install", BUILD, "--prefix", Path(cls.holder.name) / "first", cwd="/")
        cls.prefix = Path(cls.holder.name) / "moved"
        shutil.move(Path(cls.holder.name) / "first", cls.prefix)


class Debs(Programs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        folder = Path(cls.holder.name)
        cls.cpack = (Path(CMAKE).with_name("cpack"), "--config", BUILD / "CPackConfig.cmake", "-B", folder / "debs")
        run(*cls.cpack, "-D", f"CPACK_PACKAGE_CONTACT={CONTACT}", cwd=folder)
        cls.fields = {}
        for deb in (folder / "debs").glob("*.deb"):
            run("dpkg-deb", "-x", deb, folder / "root", cwd=folder)
            lines = run("dpkg-deb", "-f", deb, cwd=folder).splitlines()
            fields = dict(line.split(": ", 1) for line in lines if re.match(r"[A-Z][\w-]*: ", line))
            fields["bytes"] = deb.stat().st_size
            cls.fields[fields["Package"]] = fields
        cls.prefix = folder / "root/usr"

    def test_the_maintainer_is_who_packs_and_nobody_is_made_up(self):
        self.assertEqual({fields["Maintainer"] for fields in self.fields.values()}, {CONTACT})
        with self.assertRaisesRegex(AssertionError, "requires a maintainer"):
            run(*self.cpack, cwd=self.holder.name)

    def test_packages_keep_to_their_budgets(self):
        """F80: what grows does so here first, and not where packages are hosted."""
        for name, most in BUDGETS.items():
            self.assertLessEqual(self.fields[name]["bytes"], most, name)
        runtime = (self.prefix / "lib/libattune.so").resolve()
        self.assertLessEqual(runtime.stat().st_size, 2 << 20)
        self.assertNotIn(".debug", run("readelf", "-SW", runtime, cwd="/"))

    def test_only_the_compiler_needs_llvm(self):
        self.assertEqual(sorted(self.fields), ["attune", "attune-compiler", "attune-dev"])
        needs = {name: fields["Depends"] for name, fields in self.fields.items()}
        self.assertRegex(needs["attune-compiler"], r"attune \(= .*libmlir-22 .*")
        self.assertIn("mlir", needs["attune-compiler"])
        for other in ("attune", "attune-dev"):
            self.assertNotRegex(needs[other], "llvm|mlir")
        self.assertIn("libcurl4", self.fields["attune"]["Recommends"])


if __name__ == "__main__":
    if not (BUILD / "lib/libattune-compiler.so").exists():
        print("skipped: the build has no compiler")
        sys.exit(SKIPPED)
    if subprocess.run([sys.executable, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: there is no numpy")
        sys.exit(SKIPPED)
    unittest.main()

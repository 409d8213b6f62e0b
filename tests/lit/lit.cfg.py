# lit configuration of all text tests: .mlir, .attn and .test files under tests/ with RUN lines.
# By hand: build/dev/tests/lit is the suite, so  /usr/lib/llvm-22/bin/lit -v build/dev/tests/lit --filter codegen
import os

import lit.formats

config.name = "attune"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".attn", ".test"]
config.test_source_root = os.path.join(config.attune_source_dir, "tests")
config.test_exec_root = os.path.join(config.attune_build_dir, "tests", "lit", "output")
config.excludes = ["Inputs", "corpus", "oracle", "e2e", "sim", "runtime", "layout", "schedule", "lit"]
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.attune_build_dir, "tools", "attune-opt"),
        os.path.join(config.attune_build_dir, "tools", "attune"),
        config.llvm_tools_dir,
        os.environ["PATH"],
    ]
)
config.substitutions.append(("%specs", os.path.join(config.attune_source_dir, "specs")))

#!/usr/bin/env python3
"""Checks the shape of the tree: who may include whom, who may see MLIR, where a chip may be named, sorted tables, the top.

    tools/check_layers.py [ROOT]      exit 0: clean; exit 1: one line per breach, file:line: what and what is allowed

The rule is one table, LAYERS. A folder may include itself and what its row lists; arrows never point up, so a lower
folder cannot name a higher one. Folders of the row's first column are matched by their longest prefix.
"""
import re
import sys
from pathlib import Path

ABI = ["runtime/abi"]
PLAIN = ABI + ["compiler/spec", "compiler/layout", "compiler/target", "compiler/schedule"]
DIALECTS = PLAIN + ["compiler/dialect"]
LOWER = DIALECTS + ["compiler/analysis"]
PIPELINE = LOWER + ["compiler/lower"]
CODEGEN = PIPELINE + ["compiler/pipeline"]
PUBLIC = ["compiler/include/attune", "compiler/spec/Model.h", "compiler/spec/Spec.h"]
TOP_FILES = ["CMakeLists.txt", "CMakePresets.json", "README.md"]
EVERYTHING = ["compiler", "runtime", "tests", "tools"]

# folder: (folders it may include besides itself, may it see MLIR and LLVM headers?)
LAYERS = {
    "runtime/abi": ([], False),
    "runtime/process": (ABI, False),
    "runtime/cache": (ABI, False),
    "runtime/include": ([], False),  # what a C program sees
    "runtime/compile": (ABI + ["runtime/cache", "runtime/process", "compiler/spec"], False),  # keys are made from specs; no LLVM
    "runtime/bundle": (ABI + ["runtime/cache"], False),
    "runtime/aot": (ABI, False),  # lists and plans: text in, text out
    "runtime/sim": (ABI, False),  # must run foreign kernels: knows nothing of our compiler
    "runtime/comgr": (ABI + ["runtime/process"], False),
    "runtime/device": (ABI + ["runtime/sim"], False),
    "runtime/launch": (ABI + ["runtime/device"], False),
    "runtime/exec": (ABI + ["runtime/sim", "runtime/launch"], False),
    "runtime/hip": (ABI + ["runtime/sim", "runtime/launch"], False),
    "runtime/api": (ABI + ["runtime/bundle", "runtime/cache", "runtime/compile", "runtime/device", "runtime/launch", "runtime/include", "compiler/spec"], False),
    "compiler/spec": (ABI, False),
    "compiler/layout": (ABI, False),
    "compiler/target": (ABI + ["compiler/layout"], False),
    "compiler/schedule": (ABI + ["compiler/layout", "compiler/target"], False),
    "compiler/include": (ABI + ["compiler/spec/Model.h"], False),  # what clients see
    "compiler/dialect/attn": (PLAIN, True),
    "compiler/dialect/tile": (PLAIN, True),
    "compiler/analysis": (PLAIN + ["compiler/dialect/attn"], True),
    "compiler/lower": (LOWER, True),
    "compiler/pipeline": (PIPELINE, True),
    "compiler/codegen": (CODEGEN, True),
    "compiler/driver": (CODEGEN + ["compiler/codegen", "compiler/include"], True),
    "compiler/library": (PUBLIC + ABI + ["compiler/library"], False),  # the compiler behind one C function
    "compiler": ([], True),  # MlirPch.h
    "tests/oracle": (ABI + ["compiler/spec", "runtime/launch"], False),  # shares no mask or score code with the compiler
    "tests": (EVERYTHING, True),
    "tools/attune": (PUBLIC + ["compiler/schedule/Limits.h", "compiler/target/Arch.h", "runtime", "tests/oracle"], False),
    "tools": (EVERYTHING, True),
}

FOREIGN = re.compile(r"(mlir|mlir-c|llvm|llvm-c|lld|clang)/")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CHIP_LITERAL = re.compile(r'"[^"\n]*\bgfx[0-9a-f]+[^"\n]*"')
COMMENT = re.compile(r"//.*$")
# Code asks the Arch, it does not compare chip names. Where a name may be written: folder or file -> why.
CHIP_HOMES = {
    "compiler/target/": "the table of chips",
    "compiler/include/attune/Compiler.h": "the default of an option",
    "compiler/lower/Lower.h": "the default of an option",
    "runtime/abi/CodeObjectTarget.cpp": "an example of a target id",
    "runtime/abi/Processors.def": "the table of ELF's machine numbers",
    "runtime/device/": "what a device is",
    "runtime/include/": "the manual names the chips it serves",
    "runtime/hip/": "what the simulated device says of itself",
    "runtime/sim/": "what the simulator is a simulator of",
    "tests/": "tests name what they test",
    "tools/": "help texts",
}

# Tables whose rows are sorted by another argument than the first; counted from 0.
SORTED_BY = {"runtime/sim/Gfx950.def": 1}
# Tables whose order has a meaning of its own: file -> which.
ORDERED = {"runtime/sim/timing/Gfx950Timing.def": "the first prefix that fits an instruction decides"}


def layer_of(path):
    """The longest row of LAYERS that is a folder of `path`."""
    rows = [row for row in LAYERS if path.startswith(row + "/")]
    return max(rows, key=len, default=None)


def allowed(target, row):
    own = [row] if row != "compiler" else []
    return any(target == p or target.startswith(p + "/") for p in own + LAYERS[row][0])


def check_includes(path, lines, root):
    row = layer_of(path)
    if row is None:
        yield 1, "is in no row of LAYERS in tools/check_layers.py"
        return
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, target = found[1] == '"', found[2]
        if FOREIGN.match(target):
            if not LAYERS[row][1]:
                yield number, f"{row} sees no MLIR or LLVM header, but includes {target}"
        elif target.split("/")[0] in ("compiler", "runtime", "tests", "tools", "attune"):
            if not allowed(target, row):
                yield number, f"{row} may include {LAYERS[row][0] or 'only itself'}, not {target}"
        elif quoted and (root / path).parent.joinpath(target).exists():
            yield number, f"write the include from the root of the tree, not {target}"


def check_chip_names(path, lines):
    if path.startswith(tuple(CHIP_HOMES)):
        return
    for number, line in enumerate(lines, 1):
        if found := CHIP_LITERAL.search(COMMENT.sub("", line)):
            yield number, f"names a chip, {found[0]}; ask the Arch (allowed: {', '.join(CHIP_HOMES)})"


def check_sorted(path, lines):
    """Rows of one macro that follow each other are in order of one argument."""
    last = None
    for number, line in enumerate(lines, 1):
        row = re.match(r"([A-Z][A-Z0-9_]+)\((.*)", line)
        if row is None:
            last = None if not line.startswith((" ", "\t")) else last  # a wrapped row goes on
            continue
        macro, key = row[1], row[2].split(",")[SORTED_BY.get(path, 0)].strip(' ")')
        if last and last[0] == macro and key < last[1]:
            yield number, f"row {key} is out of order: it comes before {last[1]}"
        last = (macro, key)


def check_top(root):
    """What lies beside the folders, hidden files apart."""
    for file in sorted(root.iterdir()):
        if file.is_file() and not file.name.startswith(".") and file.name not in TOP_FILES:
            yield f"{file.name}:1: lies at the top of the tree (allowed: {', '.join(TOP_FILES)})"


def check_tree(root):
    yield from check_top(root)
    for folder in ("compiler", "runtime", "tests", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".def"):
                continue
            path = file.relative_to(root).as_posix()
            lines = file.read_text().splitlines()
            checks = [check_chip_names(path, lines), check_includes(path, lines, root)]
            if file.suffix == ".def" and path not in ORDERED:
                checks.append(check_sorted(path, lines))
            for check in checks:
                yield from (f"{path}:{number}: {message}" for number, message in check)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    breaches = list(check_tree(root))
    print("\n".join(breaches) or "layers: clean")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())

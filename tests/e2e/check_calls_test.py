#!/usr/bin/env python3
"""The check of calls must be able to fail: each way to make two operations in one call, and what looks like it and is not."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_calls.py"
HELPERS = """#pragma once
struct TileBuilder {
  OpBuilder &b;
  Value i32(int64_t v) const { return arith::ConstantOp::create(b, loc, v); }
  Value add(Value x, Value y) const { return arith::AddIOp::create(b, loc, x, y); }
  Value map(ValueRange in, Body body) const { return tile::MapOp::create(b, loc, in, body); }
  int64_t size(Value x) const { return bits(x.clone()); }
};
"""


def run_on(files):
    """The exit code and the lines that tools/check_calls.py prints for a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        run = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
    return run.returncode, run.stdout.strip().splitlines()


def body(statements):
    return {"compiler/lower/TileBuilder.h": HELPERS,
            "compiler/lower/A.cpp": "Value f(const TileBuilder &t, Value x, Value y) {\n" + statements + "\n}\n"}


class CheckCalls(unittest.TestCase):
    def breach(self, statements, line, *words):
        code, lines = run_on(body(statements))
        self.assertEqual(code, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"compiler/lower/A.cpp:{line}: "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def clean(self, statements):
        self.assertEqual(run_on(body(statements)), (0, ["calls: clean"]))

    def test_two_creations(self):
        self.breach("return AddIOp::create(\n    t.b, x.loc(), MulIOp::create(t.b, x, x), SubIOp::create(t.b, y, y));", 2,
                    "create", "MulIOp::create(t.b,x,x) and SubIOp::create(t.b,y,y)")
        self.breach("return rw.replaceOp(op, b.createOrFold<AddIOp>(x), b.clone(*op));", 2, "replaceOp")

    def test_two_helpers(self):
        self.breach("\n// as written\nreturn t.add(t.i32(1), t.i32(2));", 4, "add", "t.i32(1) and t.i32(2)")
        self.breach("return t.add(x, t.add(t.add(x, y), t.i32(2)));", 2, "t.add(x,y) and t.i32(2)")

    def test_deep_in_an_argument(self):
        self.breach("return t.add(select(x, (t.i32(1)), y), y.size() ? t.i32(2) : y);", 2, "arguments of add")
        self.breach("Pair pair(t.i32(1), t.i32(2));", 2, "arguments of pair")

    def test_a_lambda_of_the_function(self):
        self.breach("auto one = [&](Value v) { return t.i32(1); };\nreturn t.add(one(x), one(y));", 3, "one(x) and one(y)")

    def test_a_helper_of_another_file_that_calls_a_helper(self):
        files = body("return t.add(twice(t, x), twice(t, y));")
        files["compiler/lower/B.cpp"] = "Value twice(const TileBuilder &t, Value x) { return t.add(x, x); }\n"
        code, lines = run_on(files)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        self.assertIn("twice(t,x) and twice(t,y)", lines[0])

    def test_a_template_and_a_comparison(self):
        self.breach("return t.add(a < 2 ? t.i32(1) : x, b > 3 ? t.i32(2) : y);", 2, "arguments of add")
        self.clean("std::map<Value, Value> known(t.i32(1));\nreturn known.find(std::pair<int, int>{1, 2}, t.i32(1));")

    def test_one_is_clean(self):
        self.clean("Value one = t.i32(1);\nreturn t.add(one, t.i32(2));")
        self.clean("return t.add(t.add(t.add(x, t.i32(1)), x), y);")
        self.clean('return t.add(x, "t.i32(1), t.i32(2)"); // t.add(t.i32(1), t.i32(2))')

    def test_a_braced_list_is_in_order(self):
        self.clean("return Pair{t.i32(1), t.i32(2)};")
        self.clean("return t.add({t.i32(1), t.i32(2)}, x);")

    def test_a_lambda_is_evaluated_later(self):
        self.clean("return t.map([&](auto &u) { return u.i32(1); }, [&](auto &u) -> Value { return u.i32(2); });")
        self.breach("return t.map(x, [&](auto &u) {\n  return u.add(u.i32(1), u.i32(2)); });", 3, "u.i32(1)")

    def test_what_only_shares_a_name_or_returns_a_number(self):
        self.clean("return t.add(list.add(1), list.add(2));")  # another number of arguments
        self.clean("return t.add(t.size(x), t.size(y));")

    def test_files_without_a_builder_make_nothing(self):
        text = "Bound f(Bound x) { return meet(add(x, 1), add(x, 2)); }\nBound add(Bound x, int n) { return x.clone(); }\n"
        self.assertEqual(run_on({"compiler/analysis/A.cpp": text}), (0, ["calls: clean"]))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Checks that at most one argument of a call makes an operation: compilers evaluate arguments in an order of their own.

    tools/check_calls.py [ROOT]       exit 0: clean; exit 1: one line per breach, file:line: the call and its arguments

It reads text and knows no types. What makes an operation is MLIR's own (`Op::create`, `clone`, ...) and each function or
named lambda of the folders below whose body calls one that does, told by its name and number of arguments. Functions that
return numbers make none, nor do files that see no builder. A lambda that is an argument is evaluated later, by who calls it;
the elements of a braced list are evaluated in order.
"""
import re
import sys
from pathlib import Path
from typing import NamedTuple

FOLDERS = ("compiler/analysis", "compiler/dialect", "compiler/driver", "compiler/lower", "compiler/pipeline")
MLIR = {"create", "createOrFold", "clone", "cloneWithoutRegions", "materializeConstant"}
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*"""
                   r"""|[A-Za-z_]\w*|\d[\w.']*|::|->|\S""", re.S | re.M)
BUILDER = re.compile(r"(Builder|Rewriter)\b")
NUMBERS = {"void", "bool", "int", "unsigned", "size_t", "int32_t", "int64_t", "uint32_t", "uint64_t", "float", "double"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
NO_NAMES = {"if", "for", "while", "switch", "return", "catch", "sizeof", "alignof", "decltype", "static_assert", "constexpr",
            "noexcept", "else", "do", "case", "new", "delete", "co_return", "operator", "requires"}


class Token(NamedTuple):
    text: str
    line: int


class Call(NamedTuple):
    name: str
    at: int  # of the name
    arguments: list  # (first, past the last)
    close: int


class Function(NamedTuple):
    name: str
    least: int  # number of arguments
    most: int
    body: tuple
    local: bool  # a lambda: known in its file only, and not behind a point


def tokens_of(text):
    tokens, line, last = [], 1, 0
    for found in TOKEN.finditer(text):
        line += text.count("\n", last, found.start())
        last = found.start()
        word = found[0]
        if not word.startswith(("//", "/*")) and not word.lstrip().startswith("#"):
            tokens.append(Token(word, line))
    return tokens


def pairs_of(tokens):
    """Index of an opening bracket -> index of its closing one, and back."""
    pairs, stack = {}, []
    for i, token in enumerate(tokens):
        if token.text in OPEN:
            stack.append(i)
        elif token.text in CLOSE and stack:
            pairs[i] = stack.pop()
            pairs[pairs[i]] = i
    return pairs


def is_name(text):
    return (text[0].isalpha() or text[0] == "_") and text not in NO_NAMES


class Source:
    def __init__(self, path, text):
        self.path, self.tokens = path, tokens_of(text)
        self.pairs = pairs_of(self.tokens)
        self.calls = [call for i in range(len(self.tokens)) if (call := self.call_at(i))]
        self.functions = [f for call in self.calls if (f := self.function_at(call))] + list(self.named_lambdas())
        self.lambdas = sorted(self.lambda_bodies())

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ";"

    def call_at(self, i):
        """The call (or declaration) whose opening parenthesis is token `i`."""
        if self.text(i) != "(" or i not in self.pairs:
            return None
        at = i - 1
        if self.text(at) == ">":  # make<Op>(...)
            at = self.before_template(at)
        if at is None or at < 0 or not is_name(self.text(at)):
            return None
        return Call(self.text(at), at, self.split(i), self.pairs[i])

    def before_template(self, i):
        depth = 0
        while i >= 0 and (self.text(i) in ("<", ">", ",", "::", "*", "&") or re.match(r"\w", self.text(i))):
            depth += {">": 1, "<": -1}.get(self.text(i), 0)
            i -= 1
            if depth == 0:
                return i
        return None

    def split(self, opening):
        """The arguments between a bracket and its closing one."""
        end, start, i, found, angle = self.pairs[opening], opening + 1, opening + 1, [], 0
        while i < end:
            word = self.text(i)
            if word == "<" and re.match(r"\w", self.text(i - 1)) and self.template_end(i) is not None:
                i = self.template_end(i)
            elif word in OPEN and i in self.pairs:
                i = self.pairs[i]
            elif word == ",":
                found.append((start, i))
                start = i + 1
            i += 1
        return found + [(start, end)] if end > start else found

    def template_end(self, i):
        """The index of the > that closes template arguments opened at `i`; None for a comparison."""
        depth = 0
        while i < len(self.tokens) and (self.text(i) in ("<", ">", ",", "::", "*", "&") or re.match(r"\w", self.text(i))):
            depth += {"<": 1, ">": -1}.get(self.text(i), 0)
            if depth == 0:
                return i
            i += 1
        return None

    def function_at(self, call):
        """The function that `call` is the head of, if a body follows."""
        i = call.close + 1
        while self.text(i) in ("const", "override", "noexcept", "final", "mutable"):
            i += 1
        if self.text(i) == "->":
            while self.text(i) not in ("{", ";", ")", ","):
                i += 1
        if self.text(i) == ":" and self.text(i + 1) != ":":  # a constructor's members
            i = self.after_members(i + 1)
        if self.text(i) != "{" or i not in self.pairs or self.text(call.at - 1) in (".", "->"):
            return None
        at = call.at
        while self.text(at - 1) == "::" and is_name(self.text(at - 2)):  # Class::name
            at -= 2
        if self.text(at - 1) in NUMBERS:
            return None
        return self.function(call.name, call.arguments, (i, self.pairs[i]), local=False)

    def after_members(self, i):
        while is_name(self.text(i)) or self.text(i) in ("::", "<", ">", ","):
            i += 1
            if self.text(i) in ("(", "{") and i in self.pairs:
                i = self.pairs[i] + 1
                if self.text(i) == "{":
                    return i
        return i

    def function(self, name, parameters, body, local):
        defaults = sum(any(self.text(i) == "=" for i in range(*p)) for p in parameters)
        pack = any(self.text(i) == "." for p in parameters for i in range(*p))  # Args &&...args
        least = len(parameters) - defaults - pack
        return Function(name, least, 99 if pack else len(parameters), body, local)

    def named_lambdas(self):
        for i in range(len(self.tokens)):
            if self.text(i) == "=" and self.text(i + 1) == "[" and is_name(self.text(i - 1)):
                if (parts := self.lambda_at(i + 1)) is not None:
                    yield self.function(self.text(i - 1), *parts, local=True)

    def lambda_at(self, i):
        """(parameters, body) of the lambda whose capture list is opened at `i`; None for an index."""
        if i not in self.pairs or re.match(r"[\w)\]]", self.text(i - 1)) and self.text(i - 1) != "return":
            return None
        i, parameters = self.pairs[i] + 1, []
        if self.text(i) == "(":
            parameters, i = self.split(i), self.pairs[i] + 1
        while i < len(self.tokens) and self.text(i) not in ("{", ";", ")", ",", "}"):
            i += 1
        return (parameters, (i, self.pairs[i])) if self.text(i) == "{" and i in self.pairs else None

    def lambda_bodies(self):
        for i in range(len(self.tokens)):
            if self.text(i) == "[" and (parts := self.lambda_at(i)) is not None:
                yield parts[1]


class Makers:
    """What makes operations, by name; a fixed point over all sources."""

    def __init__(self, sources):
        self.known = []  # (source of a lambda or None, function)
        self.by_name = {}
        left = [(source, f) for source in sources for f in source.functions]
        while True:
            found = [(s, f) for s, f in left if any(self.makes(s, c) for c in s.calls if f.body[0] < c.at < f.body[1])]
            if not found:
                return
            left = [pair for pair in left if pair not in found]
            for source, f in found:
                self.by_name.setdefault(f.name, []).append((source if f.local else None, f))

    def makes(self, source, call):
        before = source.text(call.at - 1)
        if call.name in MLIR and before in ("::", ".", "->", "template"):
            return True
        for home, f in self.by_name.get(call.name, ()):
            if f.least <= len(call.arguments) <= f.most and (home is None or home is source and before not in (".", "->")):
                return True
        return False


def argument_makes(source, makers, argument):
    first, end = argument
    later = [body for body in source.lambdas if first <= body[0] < end]
    return any(makers.makes(source, call) for call in source.calls
               if first <= call.at < end and not any(a < call.at < b for a, b in later))


def check(source, makers):
    heads = {f.body[0] for f in source.functions}
    for call in source.calls:
        making = [a for a in call.arguments if argument_makes(source, makers, a)]
        if len(making) > 1:
            shown = " and ".join("".join(source.text(i) for i in range(*a)) for a in making)
            yield f"{source.path}:{source.tokens[call.at].line}: arguments of {call.name} make operations: {shown}; name all but one first"


def sees_builder(file):
    return any(BUILDER.search(f.read_text()) for f in {file, file.with_suffix(".h")} if f.exists())


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*")) if file.suffix in (".cpp", ".h") and sees_builder(file)]
    sources = [Source(file.relative_to(root).as_posix(), file.read_text()) for file in files]
    makers = Makers(sources)
    breaches = [line for source in sources for line in check(source, makers)]
    print("\n".join(breaches) or "calls: clean")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())

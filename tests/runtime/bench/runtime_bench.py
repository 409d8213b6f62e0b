#!/usr/bin/env python3
"""What each way to a kernel costs: compiled, read from disk, found in memory, made ahead of time.

First everything is checked: every way must give the same code objects, the caches must have done what is measured (so
many builds, so many hits), a process that only read must have no LLVM mapped. If a check fails, no figure is printed.
Figures are medians. What one thread does is given in processor time, which is the time it takes on an idle machine; what
several do at once, in elapsed time, as a ratio of runs side by side (where others use the machine, many threads get more
of it than one: then only the ratio of processor times beside it counts). Each has its ratio to the target or to its peer.

Exit codes: 0 done, 1 a check failed, 2 wrong usage.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMPILE_MS, LOAD_MS, LAUNCH_NS = 90, 1, 1000  # targets


def children_cpu_s():
    """Processor time of all processes that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class CheckFailed(Exception):
    pass


def require(condition, what):
    if not condition:
        raise CheckFailed(what)


class Progress:
    """A line on stderr about a step that takes more than two seconds, and again every ten."""

    def __init__(self):
        self.what, self.since, self.said = "", time.monotonic(), 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def step(self, what):
        self.what, self.since, self.said = what, time.monotonic(), 0.0

    def _watch(self):
        while True:
            time.sleep(0.5)
            took = time.monotonic() - self.since
            if took >= (self.said + 10 if self.said else 2):
                self.said = took
                print(f"runtime_bench: {self.what} ({took:.0f} s)", file=sys.stderr)


def listed(list_file):
    """The kernels of a list (docs/aot.md): label, spec, set, knob; all values as text."""
    made = []
    for row in tomllib.loads(list_file.read_text())["kernel"]:
        choices = [{"set": {}, "knob": {}}]
        for kind in ("set", "knob"):
            for name, value in row.get(kind, {}).items():
                values = value if isinstance(value, list) else [value]
                choices = [{**c, kind: {**c[kind], name: str(v)}} for c, v in product(choices, values)]
        for choice in choices:
            words = [f"{n}={v}" for kind in ("set", "knob") for n, v in choice[kind].items()]
            spec = (list_file.parent / row["spec"]).resolve()
            made.append({"label": " ".join([spec.stem, *words]), "spec": str(spec), **choice})
    return made


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.progress = args, folder, Progress()
        self.attune = args.build / "tools/attune/attune"
        self.timer = args.build / "tests/runtime/bench/kernel_timer"
        self.launcher = args.build / "tests/runtime/api/api_bench"
        for program in (self.attune, self.timer, self.launcher):
            if not program.exists():
                sys.exit(f"{program}: is not built; ninja -C {args.build} runtime_bench")
        self.kernels = listed(args.list)
        self.file = folder / "kernels.json"
        self.file.write_text(json.dumps(self.kernels))
        self.codes = []  # of each kernel, as first compiled
        self.fresh = 0

    def run(self, *command, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **variables}
        run = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment)
        require(run.returncode == 0, f"{' '.join(map(str, command))}: exit code {run.returncode}\n{run.stderr}")
        return run.stdout

    def timed(self, mode, number, what, kernels=None, **variables):
        """A report of kernel_timer whose kernels are the right ones."""
        file = self.file
        if kernels is not None:
            file = self.folder / "some.json"
            file.write_text(json.dumps([self.kernels[i] for i in kernels]))
        before = time.monotonic_ns()
        report = json.loads(self.run(self.timer, mode, file, number, **variables))
        report["from_start_ms"] = (report.get("ready_ns", before) - before) / 1e6
        codes = [kernel["code"] for kernel in report["kernels"]]
        wanted = self.codes if kernels is None else [self.codes[i] for i in kernels]
        require(codes == wanted, f"{what}: gave other code objects than the first compile")
        return report

    def empty(self):
        self.fresh += 1
        return {"ATTUNE_CACHE_DIR": str(self.folder / f"cache{self.fresh}")}

    # --- the ways, each with its checks ------------------------------------------------------------------------

    def first_compile(self):
        """Fills a directory; from here on the right code objects are known."""
        self.progress.step(f"compiling {len(self.kernels)} kernels")
        self.filled = self.empty()
        report = json.loads(self.run(self.timer, "start", self.file, 1, **self.filled))
        count = report["counters"]
        require(count["builds"] == count["published"] == len(self.kernels), f"not each kernel was compiled once: {count}")
        require(report["llvm_mapped"], "a process compiled without LLVM")
        self.codes = [kernel["code"] for kernel in report["kernels"]]
        require(len(set(self.codes)) == len(self.codes), "two kernels of the list are one")
        return report["ms"]

    def compiled(self):
        """Per kernel: in a process that has compiled it before, and as the first of a process."""
        self.progress.step("compiling warm")
        runs = self.args.runs
        report = self.timed("each", runs + 1, "compiled again", ATTUNE_CACHE="off")
        require(report["counters"]["builds"] == (runs + 1) * len(self.kernels), "a warm compile was none")
        rows = []
        for i, (kernel, row) in enumerate(zip(self.kernels, report["kernels"])):
            self.progress.step(f"compiling {kernel['label']} cold")
            colds = [self.timed("each", 1, "compiled cold", [i], ATTUNE_CACHE="off") for _ in range(self.args.cold_runs)]
            require(all(c["counters"]["builds"] == 1 for c in colds), "a cold compile was none")
            rows.append({"kernel": kernel["label"], "warm_ms": statistics.median(row["ms"][1:]),
                         "warm_cpu_ms": statistics.median(row["cpu_ms"][1:]),
                         "cold_process_ms": statistics.median(c["from_start_ms"] for c in colds),
                         "cold_process_cpu_ms": statistics.median(c["ready_cpu_ms"] for c in colds)})
        return rows

    def loaded(self):
        """From disk to a kernel that can be launched."""
        self.progress.step("reading from disk")
        report = self.timed("each", self.args.loads, "read from disk", **self.filled)
        count = report["counters"]
        require(count["diskHits"] == self.args.loads * len(self.kernels) and count["builds"] == 0,
                f"not each kernel was read from disk: {count}")
        require(not report["llvm_mapped"], "a process that only reads kernels has LLVM mapped")
        times, busy = ([statistics.median(row[n]) for row in report["kernels"]] for n in ("ms", "cpu_ms"))
        firsts = [self.timed("each", 1, "read first", [i % len(self.kernels)], **self.filled) for i in range(self.args.loads)]
        require(not any(f["llvm_mapped"] or f["counters"]["builds"] for f in firsts), "a fresh process did not only read")
        return {"median_ms": statistics.median(times), "median_cpu_ms": statistics.median(busy),
                "slowest_kernel_cpu_ms": max(busy),
                "first_of_process_cpu_ms": statistics.median(f["kernels"][0]["cpu_ms"][0] for f in firsts),
                "process_start_cpu_ms": statistics.median(f["ready_cpu_ms"] for f in firsts),
                "process_start_ms": statistics.median(f["from_start_ms"] for f in firsts)}

    def launched(self):
        """Host cost; api_bench checks that every launch came through."""
        self.progress.step("launching")
        text = self.run(self.launcher, 1)
        found = {name: float(re.search(rf"(?m)^{words} +([0-9.]+) ns", text)[1])
                 for name, words in (("lookup_ns", "kernel looked up in memory"), ("launch_ns", "plan filled in and launched"))}
        return found | {"both_ns": found["lookup_ns"] + found["launch_ns"]}

    def ahead(self):
        """attune aot with one worker and with two; their bundles must be the same bytes."""
        took, busy, bundles = {1: [], 2: []}, {1: [], 2: []}, set()
        for turn in range(self.args.aot_runs):
            for jobs in (1, 2) if turn % 2 == 0 else (2, 1):
                self.progress.step(f"attune aot -j{jobs}")
                output = self.folder / f"bundle{turn}{jobs}.attune"
                start, before = time.monotonic(), children_cpu_s()
                self.run(self.attune, "aot", self.args.list, "--arch", "gfx950", f"-j{jobs}", "-o", output)
                took[jobs].append(time.monotonic() - start)
                busy[jobs].append(children_cpu_s() - before)
                bundles.add(output.read_bytes())
        require(len(bundles) == 1, "attune aot -j1 and -j2 wrote different bundles")
        one, two = statistics.median(took[1]), statistics.median(took[2])
        return {"j1_s": one, "j2_s": two, "speedup": one / two, "j1_cpu_s": statistics.median(busy[1]),
                "j2_cpu_s": statistics.median(busy[2])}

    def started(self):
        """A process without a kernel that wants them all: one after the other, at once, from disk."""
        took, busy = ({"serial": [], "at_once": [], "from_disk": []} for _ in range(2))
        for _ in range(self.args.starts):
            for name, threads, where in (("serial", 1, self.empty()), ("at_once", len(self.kernels), self.empty()),
                                         ("from_disk", 1, self.filled)):
                self.progress.step(f"cold start, {name.replace('_', ' ')}")
                report = self.timed("start", threads, f"cold start {name}", **where)
                builds = 0 if name == "from_disk" else len(self.kernels)
                require(report["counters"]["builds"] == builds, f"cold start {name}: {report['counters']}")
                took[name].append(report["ms"])
                busy[name].append(report["cpu_ms"])
        medians = {f"{name}_ms": statistics.median(times) for name, times in took.items()}
        medians |= {f"{name}_cpu_ms": statistics.median(times) for name, times in busy.items()}
        return medians | {"at_once_speedup": medians["serial_ms"] / medians["at_once_ms"],
                          "from_disk_speedup": medians["serial_cpu_ms"] / medians["from_disk_cpu_ms"]}

    def report(self):
        self.first_compile()
        made = {"kernels": len(self.kernels), "processors": os.cpu_count(), "load": os.getloadavg()[0], "ok": True}
        made["load"] = round(made["load"], 1)
        made |= {"disk_hit": self.loaded(), "launch": self.launched(), "compile": self.compiled(), "aot": self.ahead(),
                 "cold_start": self.started()}
        return made


def as_text(report):
    compiles, disk, launch, aot, start = (report[n] for n in ("compile", "disk_hit", "launch", "aot", "cold_start"))

    def median(name):
        return statistics.median(row[name] for row in compiles)

    lines = [f"{report['kernels']} kernels; all ways to them gave the same code objects; {report['processors']} processors, "
             f"load {report['load']} at the start", "",
             f"{'compile':34} {'processor ms':>13} {'of ' + str(COMPILE_MS) + ' ms':>9} {'elapsed ms':>11} {'cold process':>13} {'of warm':>8}"]
    names = ("warm_cpu_ms", "warm_ms", "cold_process_cpu_ms")
    for row in [*compiles, {"kernel": "median", **{name: median(name) for name in names}}]:
        warm, elapsed, cold = (row[name] for name in names)
        lines.append(f"  {row['kernel']:32} {warm:13.0f} {warm / COMPILE_MS:8.2f}x {elapsed:11.0f} {cold:13.0f} {cold / warm:7.2f}x")

    def line(what, value, unit, rest):
        lines.append(f"{what:36} {value} {unit:12} {rest}")

    lines.append("")
    line("disk hit to a loaded kernel", f"{disk['median_cpu_ms']:8.3f}", "processor ms",
         f"{disk['median_cpu_ms'] / LOAD_MS:.2f}x of {LOAD_MS} ms; {disk['median_ms']:.3f} elapsed; the slowest kernel "
         f"{disk['slowest_kernel_cpu_ms']:.3f}; no LLVM mapped")
    line("  the first of a process", f"{disk['first_of_process_cpu_ms']:8.3f}", "processor ms",
         f"{disk['process_start_cpu_ms']:.1f} from the process's start, {disk['process_start_ms']:.1f} elapsed")
    line("memory hit and launch, no device", f"{launch['both_ns']:8.0f}", "processor ns",
         f"{launch['both_ns'] / LAUNCH_NS:.2f}x of {LAUNCH_NS} ns ({launch['lookup_ns']:.0f} + {launch['launch_ns']:.0f})")
    line("attune aot, -j2 against -j1", f"{aot['speedup']:8.2f}", "x",
         f"{aot['j1_s']:.1f} s, {aot['j2_s']:.1f} s; {aot['j2_cpu_s'] / aot['j1_cpu_s']:.2f}x the processor time")
    line("cold start, all at once", f"{start['at_once_speedup']:8.2f}", "x",
         f"of one after the other ({start['serial_ms']:.0f} ms, {start['at_once_ms']:.0f} ms); "
         f"{start['at_once_cpu_ms'] / start['serial_cpu_ms']:.2f}x the processor time")
    line("cold start, from disk", f"{start['from_disk_speedup']:8.1f}", "x",
         f"less processor time than compiling ({start['from_disk_cpu_ms']:.1f} of {start['serial_cpu_ms']:.0f} ms)")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build directory (default: build/dev)")
    parser.add_argument("--list", type=Path, default=ROOT / "tests/runtime/variants.toml", help="kernels (default: variants.toml)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for name, default, what in (("runs", 5, "warm compiles of each kernel"), ("cold-runs", 1, "processes that compile one"),
                                ("loads", 25, "reads of each kernel from disk"), ("aot-runs", 2, "builds of the bundle, each way"),
                                ("starts", 2, "cold starts, each way")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default: {default})")
    args = parser.parse_args()
    for name in ("runs", "cold_runs", "loads", "aot_runs", "starts"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')}: must be at least 1")
    args.build, args.list = args.build.resolve(), args.list.resolve()
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = Bench(args, Path(folder)).report()
        except CheckFailed as failed:
            if args.json:
                print(json.dumps({"ok": False, "error": str(failed)}))
            print(f"runtime_bench: check failed: {failed}", file=sys.stderr)
            return 1
    print(json.dumps(report, indent=2) if args.json else as_text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Fifty emissions of a spec in five processes: other addresses, folders, locales, threads and neighbours, one hash.

    determinism_test.py EMIT_DIGESTS SPECS      SPECS: a folder of specs
"""
import collections
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

EMIT, SPECS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PROCESSES, OFTEN, TIMES = 5, "mha_d64", 10  # 50 of one spec
NEIGHBOURS = ["causal_gqa", "t5_bias"]  # what was compiled before may leave something behind


def locales():
    """Those installed, the unusual ones first."""
    names = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    return sorted(names, key=lambda n: n in ("C", "POSIX")) or ["C"]


def run(number, names, folder):
    """Addresses and emissions of one process."""
    order = [OFTEN] * TIMES + ([NEIGHBOURS[number % len(NEIGHBOURS)]] if number else [])
    threads = 1 if number == 1 else 2
    if threads == 2:  # every thread goes through the whole list
        order = order[: TIMES // 2] + order[TIMES:]
    random.Random(number).shuffle(order)
    where = folder / ("x" * (1 + 7 * number))
    where.mkdir()
    for spec in set(order):  # the file's place is not part of the kernel
        (where / f"{spec}.attn").write_bytes((SPECS / f"{spec}.attn").read_bytes())
    env = dict(os.environ, LC_ALL=names[number % len(names)], TMPDIR=str(where), PADDING="p" * 1000 * number)
    command = [EMIT, str(threads), *(f"{where}/{spec}.attn" for spec in order)]
    lines = subprocess.run(command, env=env, cwd=where, check=True, capture_output=True, text=True).stdout.splitlines()
    return lines[0], lines[1:]


def main():
    names = locales()
    addresses, digests, count = set(), collections.defaultdict(set), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(PROCESSES):
            address, lines = run(number, names, Path(folder))
            addresses.add(address)
            for line in lines:
                name, digest = line.split(" ", 1)
                digests[name].add(digest)
                count[name] += 1
    faults = [f"{name}: {sorted(d)}" for name, d in digests.items() if len(d) > 1 or name == "failed:"]
    if count[OFTEN] != PROCESSES * TIMES:
        faults.append(f"{count[OFTEN]} emissions of {OFTEN} instead of {PROCESSES * TIMES}")
    randomized = Path("/proc/sys/kernel/randomize_va_space")
    if randomized.exists() and randomized.read_text().strip() != "0" and len(addresses) == 1:
        faults.append("all processes had the same addresses: nothing was tried")
    for fault in faults:
        print(fault)
    print(f"{sum(count.values())} emissions, {len(addresses)} sets of addresses, locales {', '.join(names[:PROCESSES])}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

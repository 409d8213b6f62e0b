#!/usr/bin/env python3
"""Attention over real text: two paragraphs, tokenised, embedded, projected and rotated as a decoder layer does it.

    real_text.py ATTUNE     ATTUNE: the command. Exit 0: agrees; 1: differs; 77: numpy is missing (ctest: skipped)

Unlike N(0,1) noise, text repeats its words, so keys repeat, scores are peaked and the rows of the softmax have many
shapes. q, k and v go to `attune run` as an .npz (bf16 as uint16); O and LSE come back as an .npz and are compared with
attention written here in float64, on the same rounded inputs. Nothing is shared with the oracle behind --check.
"""
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing; tools/dev installs it (Debian: python3-numpy)")
    sys.exit(77)

# Lewis Carroll, Alice's Adventures in Wonderland (1865); Herman Melville, Moby-Dick (1851). Public domain.
PARAGRAPHS = [
    """Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or
    twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and what
    is the use of a book," thought Alice "without pictures or conversations?" So she was considering in her own mind (as
    well as she could, for the hot day made her feel very sleepy and stupid), whether the pleasure of making a
    daisy-chain would be worth the trouble of getting up and picking the daisies, when suddenly a White Rabbit with pink
    eyes ran close by her.""",
    """Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing
    particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It
    is a way I have of driving off the spleen and regulating the circulation.""",
]
Q_HEADS, KV_HEADS, DIM, EMBED = 6, 2, 64, 256
SPEC = f"""// Causal GQA over packed text, the last tokens of each paragraph as this call's queries.
attention real_text {{
  q    : bf16[tokens, heads = {Q_HEADS}, dim = {DIM}]
  k, v : bf16[tokens, heads = {KV_HEADS}, dim = {DIM}]
  out  : bf16
  mask = causal
  lse  : f32 natural
}}
"""
ABS_TOLERANCE, BF16_ULP = 1e-2, 2.0**-8  # the documented tolerance of bf16 results


def tokens_of(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def embedding(token):
    """The same token has the same vector everywhere: N(0,1) drawn from a seed that is the token's hash."""
    seed = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(EMBED)


def projection(name, heads):
    seed = int.from_bytes(name.encode(), "little")
    return np.random.default_rng(seed).standard_normal((EMBED, heads, DIM)) / np.sqrt(EMBED)


def rope(x):
    """Rotates the pairs (i, i + DIM/2) of [tokens, heads, DIM] by position * 10000^(-2i/DIM)."""
    angle = np.arange(len(x))[:, None] * 10000.0 ** (-2 * np.arange(DIM // 2) / DIM)[None, :]
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    a, b = x[..., : DIM // 2], x[..., DIM // 2 :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def to_bf16(x):
    """Round to nearest even; the bits as uint16."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def attention(q, k, v):
    """Float64 causal attention of one sequence, bottom-right aligned: O [q, heads, DIM] and LSE [heads, q]."""
    group, ctx = Q_HEADS // KV_HEADS, len(k) - len(q)
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(DIM)
    visible = np.arange(len(k))[None, :] <= np.arange(len(q))[:, None] + ctx
    scores = np.where(visible[None], scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    out = np.einsum("hqk,khd->qhd", weights / total, v)
    return out, (top + np.log(total))[..., 0], (weights / total).max(axis=-1)


def make_inputs():
    """Packed q, k, v (bf16 bits) and the lengths: the first half of the first paragraph is context already seen."""
    parts = {"q": [], "k": [], "v": []}
    q_lens, kv_lens = [], []
    for number, text in enumerate(PARAGRAPHS):
        x = np.stack([embedding(token) for token in tokens_of(text)])
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True))  # RMSNorm, as before a layer's projections
        first = len(x) // 2 if number == 0 else 0
        # Query and key share a projection up to a part of noise, so that equal words find each other; 0.6 leaves the
        # usual row with about half its weight on its best key.
        common = projection("key", KV_HEADS)
        query = 0.6 * (np.repeat(common, Q_HEADS // KV_HEADS, axis=1) + 0.5 * projection("query", Q_HEADS))
        parts["q"].append(rope(np.einsum("te,ehd->thd", x, query))[first:])
        parts["k"].append(rope(np.einsum("te,ehd->thd", x, common)))
        parts["v"].append(np.einsum("te,ehd->thd", x, projection("value", KV_HEADS)))
        q_lens.append(len(x) - first)
        kv_lens.append(len(x))
    return {name: to_bf16(np.concatenate(rows)) for name, rows in parts.items()}, q_lens, kv_lens


def run_attune(attune, inputs, q_lens, kv_lens):
    with tempfile.TemporaryDirectory() as folder:
        spec, source, result = (Path(folder, name) for name in ("real_text.attn", "in.npz", "out.npz"))
        spec.write_text(SPEC)
        np.savez(source, **inputs)
        lens = ["--q-lens", ",".join(map(str, q_lens)), "--kv-lens", ",".join(map(str, kv_lens))]
        command = [attune, "run", spec, *lens, "--inputs", source, "--out", result, "--check", "--json", "--no-cache"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"attune run failed ({run.returncode}):\n{run.stdout}{run.stderr}")
        report = json.loads(run.stdout)
        with np.load(result) as arrays:
            return report, {name: arrays[name] for name in arrays.files}


def compare(name, got, want, slack):
    """Prints the worst element; false if any is off by more than its slack."""
    error = np.abs(got - want)
    place = np.unravel_index(np.argmax(error), error.shape)
    print(f"{name}: max abs error {error[place]:.3g} at {list(map(int, place))}: {got[place]:.6g}, numpy {want[place]:.6g}")
    return bool(np.all(error <= slack))


def main():
    inputs, q_lens, kv_lens = make_inputs()
    report, arrays = run_attune(sys.argv[1], inputs, q_lens, kv_lens)
    q, k, v = (from_bf16(inputs[name]) for name in ("q", "k", "v"))
    outs, lses, peaks, q0, k0 = [], [], [], 0, 0
    for rows, keys in zip(q_lens, kv_lens):
        out, lse, peak = attention(q[q0 : q0 + rows], k[k0 : k0 + keys], v[k0 : k0 + keys])
        outs.append(out), lses.append(lse), peaks.append(peak)
        q0, k0 = q0 + rows, k0 + keys
    want, want_lse = np.concatenate(outs), np.concatenate(lses, axis=1)
    peak = np.concatenate(peaks, axis=1)
    typical = np.median(peak)
    print(f"{len(want)} queries over {kv_lens} keys; a row's largest weight: median {typical:.2f}, least {peak.min():.2f}")
    ok = report["ok"] is True and 0.2 < typical < 0.8  # neither uniform nor one-hot, which would say too little
    ok &= compare("O", from_bf16(arrays["out"]), want, np.maximum(ABS_TOLERANCE, 2 * BF16_ULP * np.abs(want)))
    ok &= compare("LSE", arrays["lse"].astype(np.float64), want_lse, 1e-3 + 1e-5 * np.abs(want_lse))
    print("agrees with numpy" if ok else "differs from numpy")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

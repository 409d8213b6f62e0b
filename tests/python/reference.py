"""Attention in float64, one row at a time: what the package's results are compared with."""
import numpy as np


def attention(q, k, v, *, scale=None, score=lambda s, **at: s, mask=lambda **at: True, sink=None):
    """q [q_len, heads, dim], k and v [kv_len, kv_heads, dim] of one sequence: out [q_len, heads, v_dim], lse [heads, q_len].

    score and mask are called for each (h, q, k) with positions on the key axis."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    q_len, heads, dim = q.shape
    kv_len, kv_heads, v_dim = v.shape
    scale = dim**-0.5 if scale is None else scale
    out, lse = np.zeros((q_len, heads, v_dim)), np.full((heads, q_len), -np.inf)
    for h in range(heads):
        hk = h // (heads // kv_heads)
        for row in range(q_len):
            at = kv_len - q_len + row
            seen = [key for key in range(kv_len) if mask(h=h, q=at, k=key)]
            logits = [score(scale * q[row, h] @ k[key, hk], h=h, q=at, k=key) for key in seen]
            if sink is not None:
                logits.append(float(sink[h]))
            if not logits:
                continue
            top = max(logits)
            weights = np.exp(np.array(logits) - top)
            lse[h, row] = top + np.log(weights.sum())
            out[row, h] = weights[: len(seen)] @ v[seen, hk] / weights.sum()
    return out, lse


def causal(q, k, **_):
    return k <= q

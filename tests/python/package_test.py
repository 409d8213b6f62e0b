"""The Python package on the simulator: every kind of argument and result, and what it says when they are wrong.

    package_test.py LIBATTUNE      exit 77: there is no numpy or no compiler, said in one line
"""
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "runtime/python"))
os.environ["ATTUNE_DEVICE"] = "sim"
SKIPPED = 77

try:
    import numpy as np
except ImportError:
    print("skipped: there is no numpy")
    sys.exit(SKIPPED)
os.environ["ATTUNE_LIBRARY"] = sys.argv.pop(1)
import attune  # noqa: E402
import attune._dlpack  # noqa: E402
from reference import attention, causal  # noqa: E402

DENSE = "attention dense { q, kv : fp16[batch, seq, 4 / 2, 64]\n out : f32\n mask = causal\n lse : f32 natural }"
VARLEN = "attention packed { q, kv : bf16[tokens, 4 / 2, 64]\n out : bf16\n mask = causal\n lse : f32 natural }"
PLAIN = "attention plain(reach: int = 512) { q, kv : fp16[batch, seq, 2, 64]\n out : f32\n mask = window(reach) }"
CAPTURED = """attention captured {
  q, kv : bf16[tokens, 2, 64]
  out : f32
  sink : f32[heads]
  tensor slope : f32[heads]
  tensor doc : i32[tokens]
  scalar warmth : f32
  scale = warmth / sqrt(dim)
  score = s + alibi(slope)
  mask = causal && document(doc)
}"""


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def close(test, got, wanted, tolerance):
    error = np.abs(np.asarray(got, np.float64) - wanted).max()
    test.assertLess(error, tolerance)


def dense_inputs(batch=2, q_len=20, kv_len=37, heads=4, kv_heads=2, seed=1):
    return (random(seed, batch, q_len, heads, 64).astype(np.float16),
            random(seed + 1, batch, kv_len, kv_heads, 64).astype(np.float16),
            random(seed + 2, batch, kv_len, kv_heads, 64).astype(np.float16))


class Dlpack:
    """A tensor of another library: only what DLPack asks of it."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = attune.compile(DENSE)
        cls.q, cls.k, cls.v = dense_inputs()
        rows = [attention(q, k, v, mask=causal) for q, k, v in zip(cls.q, cls.k, cls.v)]
        cls.out, cls.lse = (np.stack(part) for part in zip(*rows))

    def check(self, got):
        out, lse = got
        close(self, out, self.out, 2e-3)
        close(self, lse, self.lse, 2e-3)

    def test_dense(self):
        out, lse = self.kernel(self.q, self.k, self.v)
        self.assertEqual((out.dtype, lse.dtype), (np.float32, np.float32))
        self.check((out, lse))

    def test_varlen(self):
        kernel = attune.compile(VARLEN)
        q_bounds, k_bounds = [0, 7, 7, 40], [0, 9, 12, 60]
        q, k, v = (attune.to_bf16(random(seed, *shape)) for seed, shape in ((4, (40, 4, 64)), (5, (60, 2, 64)), (6, (60, 2, 64))))
        out, lse = kernel(q, k, v, cu_seqlens_q=q_bounds, cu_seqlens_k=np.array(k_bounds, np.int32))
        self.assertEqual(out.dtype, np.uint16)
        q, k, v, out = (attune.from_bf16(array) for array in (q, k, v, out))
        for i in range(3):
            rows, keys = slice(*q_bounds[i:i + 2]), slice(*k_bounds[i:i + 2])
            if rows.start < rows.stop:
                wanted, wanted_lse = attention(q[rows], k[keys], v[keys], mask=causal)
                close(self, out[rows], wanted, 3e-2)
                close(self, lse[:, rows], wanted_lse, 5e-3)

    def test_varlen_lengths_on_the_device(self):
        kernel = attune.compile(VARLEN)
        q, k, v = (attune.to_bf16(random(seed, 30, heads, 64)) for seed, heads in ((4, 4), (5, 2), (6, 2)))
        bounds = np.array([0, 10, 30], np.int32)
        known, _ = kernel(q, k, v, cu_seqlens_q=bounds, cu_seqlens_k=bounds)
        there = attune.DeviceArray.from_numpy(bounds)
        for longest in (None, 20, 25):
            out, _ = kernel(q, k, v, cu_seqlens_q=there, cu_seqlens_k=there, max_q_len=longest)
            np.testing.assert_array_equal(out, known)

    def test_captured_tensors_scalars_and_sink(self):
        kernel = attune.compile(CAPTURED)
        self.assertEqual((kernel.tensor_names, kernel.scalar_names), (("doc", "slope"), ("warmth",)))
        q, k, v = (attune.to_bf16(random(seed, 24, 2, 64)) for seed in (7, 8, 9))
        doc, slope, sink = np.repeat(np.arange(4, dtype=np.int32), 6), np.array([.5, .1], np.float32), np.array([.3, 2], np.float32)
        for warmth in (1.0, 0.25):
            out = kernel(q, k, v, cu_seqlens_q=[0, 24], cu_seqlens_k=[0, 24], tensors={"slope": slope, "doc": doc},
                         scalars={"warmth": warmth}, sink=sink)
            wanted, _ = attention(*(attune.from_bf16(a) for a in (q, k, v)), scale=warmth / 8, sink=sink,
                                  score=lambda s, h, q, k: s + slope[h] * (k - q),
                                  mask=lambda h, q, k: k <= q and doc[q] == doc[k])
            close(self, out, wanted, 2e-2)

    def test_parameters_and_knobs(self):
        q, k, v = dense_inputs(1, 30, 30, 2, 2)
        kernel = attune.compile(PLAIN, parameters={"reach": 5}, knobs={"waves": 1})
        wanted, _ = attention(q[0], k[0], v[0], mask=lambda q, k, **_: q - 5 < k <= q)
        close(self, kernel(q, k, v)[0], wanted, 2e-3)
        self.assertIn("waves=1", kernel.sidecar["plan"])

    def test_a_file_and_its_attention(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "two.attn"
            path.write_text(DENSE + "\n" + PLAIN)
            self.assertEqual(attune.compile(path, attention="plain").name, "plain")
            self.assertEqual(attune.compile(str(path)).digest, self.kernel.digest)

    def test_views_of_numpy(self):
        wide = np.zeros((2, 4, 40, 128), np.float16)
        view = wide.transpose(0, 2, 1, 3)[:, ::2, :, :64]
        view[...] = self.q
        self.check(self.kernel(view, self.k, self.v))

    def test_views_on_the_device(self):
        wide = np.zeros((2, 4, 41, 128), np.float16)
        wide.transpose(0, 2, 1, 3)[:, 1::2, :, 64:] = self.q
        view = attune.DeviceArray.from_numpy(wide).transpose(0, 2, 1, 3)[:, 1::2, :, 64:]
        np.testing.assert_array_equal(view.numpy(), self.q)
        out, lse = self.kernel(view, attune.DeviceArray.from_numpy(self.k), attune.DeviceArray.from_numpy(self.v))
        self.assertIsInstance(out, attune.DeviceArray)
        self.check((out.numpy(), lse.numpy()))

    def test_out_and_lse_of_the_caller(self):
        out, lse = np.full((20, 2, 4, 64), np.nan, np.float32), np.empty((2, 4, 20), np.float32)
        got = self.kernel(self.q, self.k, self.v, out=out.transpose(1, 0, 2, 3), lse=lse)
        self.assertIs(got[1], lse)
        self.check((out.transpose(1, 0, 2, 3), lse))
        there = attune.DeviceArray.empty((2, 20, 4, 64), "f32")
        self.kernel(self.q, self.k, self.v, out=there, lse=lse)
        self.check((there.numpy(), lse))

    def test_dlpack(self):
        self.check(self.kernel(Dlpack(self.q), Dlpack(self.k), Dlpack(self.v)))
        strided = np.zeros((2, 20, 4, 80), np.float16)[..., 8:72]
        strided[...] = self.q
        self.check(self.kernel(Dlpack(strided), self.k, self.v))

    def test_no_rows_and_no_keys(self):
        out, lse = self.kernel(self.q[:, :0], self.k, self.v)
        self.assertEqual((out.shape, lse.shape), ((2, 0, 4, 64), (2, 4, 0)))
        out, lse = self.kernel(self.q, self.k[:, :0], self.v[:, :0])
        self.assertTrue((out == 0).all() and (lse == -np.inf).all())

    def test_threads_share_a_kernel(self):
        failed = []

        def work(seed):
            try:
                q, k, v = dense_inputs(1, 5 + seed % 3, 20, seed=seed)
                wanted, _ = attention(q[0], k[0], v[0], mask=causal)
                close(self, self.kernel(q, k, v)[0][0], wanted, 2e-3)
            except BaseException as error:  # a thread's failure is the test's
                failed.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


class Errors(unittest.TestCase):
    def refused(self, kind, text, call, *args, **named):
        with self.assertRaises(kind) as caught:
            call(*args, **named)
        self.assertIsInstance(caught.exception, attune.Error)
        self.assertIn(text, str(caught.exception))

    def test_spec_text_shows_the_place(self):
        self.refused(attune.SpecError, "^~~~~~\n  did you mean `causal`?", attune.compile, DENSE.replace("causal", "causel"))

    def test_what_compile_refuses(self):
        self.refused(attune.NotFoundError, "no/such.attn", attune.compile, "no/such.attn")
        self.refused(attune.Error, "nobody", attune.compile, DENSE, attention="nobody")
        self.refused(attune.Error, "width", attune.compile, PLAIN, parameters={"width": 3})
        self.refused(attune.Error, "wafes", attune.compile, PLAIN, knobs={"wafes": 3})
        self.refused(attune.InvalidArgumentError, "toaster", attune.compile, PLAIN, device="toaster")
        self.refused(attune.InvalidArgumentError, "text_or_path", attune.compile, 7)

    def test_what_a_call_refuses(self):
        kernel, (q, k, v) = attune.compile(DENSE), dense_inputs()
        refused = lambda text, *args, **named: self.refused(attune.InvalidArgumentError, text, kernel, *args, **named)
        refused("v: dimension 1 (kv_len) must be 37, got 36", q, k, v[:, 1:])
        refused("q: element type must be fp16", q.astype(np.float32), k, v)
        refused("q: a kernel reads no arrays of float64", q.astype(np.float64), k, v)
        refused("has no 'bias'; it reads none", q, k, v, tensors={"bias": q})
        refused("out: must be a writable f32 array", q, k, v, out=np.empty((2, 20, 4, 64), np.float16))
        refused("cu_seqlens", q, k, v, cu_seqlens_q=[0, 1])
        refused("the spec has none", q, k, v, sink=np.zeros(4, np.float32))
        refused("lies on GPU 0, but the kernel is on sim", Dlpack(q, (10, 0)), k, v)
        refused("device of DLPack's kind 2", Dlpack(q, (2, 0)), k, v)
        refused("lies in the memory of", attune.DeviceArray.from_numpy(q, attune.Context("sim")), k, v)

    def test_what_a_varlen_call_refuses(self):
        kernel = attune.compile(CAPTURED)
        q = attune.to_bf16(random(1, 8, 2, 64))
        good = dict(cu_seqlens_q=[0, 8], cu_seqlens_k=[0, 8], tensors={"slope": np.ones(2, np.float32), "doc": np.zeros(8, np.int32)},
                    scalars={"warmth": 1}, sink=np.zeros(2, np.float32))
        kernel(q, q, q, **good)
        for text, change in (("end at most at 8", {"cu_seqlens_k": [0, 9]}), ("never fall", {"cu_seqlens_q": [0, 5, 3]}),
                             ("got None", {"cu_seqlens_q": None}), ("must have 2 elements", {"cu_seqlens_k": [0, 4, 8]}),
                             ("reads 'warmth', which is not given", {"scalars": {}}),
                             ("reads 'doc', which is not given", {"tensors": {"slope": np.ones(2, np.float32)}}),
                             ("sink: the spec has one", {"sink": None}), ("max_q_len", {"max_q_len": -1}),
                             ("a sequence of 8 rows; give at least 8", {"max_q_len": 7})):
            self.refused(attune.InvalidArgumentError, text, kernel, q, q, q, **{**good, **change})

    def test_i64_values_must_fit(self):
        kernel = attune.compile("""attention wide {
          q, kv : bf16[tokens, 1, 64]
          tensor n : i64[batch]
          mask = k < n[b]
        }""")
        q = attune.to_bf16(random(3, 4, 1, 64))
        call = dict(cu_seqlens_q=[0, 4], cu_seqlens_k=[0, 4])
        kernel(q, q, q, tensors={"n": np.array([2**31 - 1])}, **call)
        self.refused(attune.InvalidArgumentError, "tensor n: kernels read i64 as i32", kernel, q, q, q, tensors={"n": np.array([2**31])}, **call)

    def test_a_library_that_is_not_there(self):
        script = "import attune"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             env={**os.environ, "ATTUNE_LIBRARY": "/nowhere.so", "PYTHONPATH": str(ROOT / "runtime/python")})
        self.assertIn("NotFoundError: ATTUNE_LIBRARY=/nowhere.so", ran.stderr)

    def test_no_jit(self):
        with tempfile.TemporaryDirectory() as empty:
            context = attune.Context("sim", cache_directory=empty, no_jit=True)
            self.refused(attune.NotFoundError, "dense", context.compile, DENSE)
            self.assertEqual(context.counters()["builds"], 0)


class Objects(unittest.TestCase):
    def test_bf16_rounds_to_nearest_even(self):
        every = np.arange(65536, dtype=np.uint16)
        numbers = attune.from_bf16(every)
        real = ~np.isnan(numbers)
        np.testing.assert_array_equal(attune.to_bf16(numbers)[real], every[real])
        self.assertTrue(np.isnan(attune.from_bf16(attune.to_bf16(numbers[~real]))).all())
        self.assertEqual(attune.to_bf16([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, 1e-45]).tolist(), [0x3F80, 0x3F82, 0x7F80, 0])
        self.assertEqual(attune.to_bf16(1.0).shape, ())

    def test_plans_are_kept_and_bounded(self):
        kernel, (q, k, v) = attune.Context("sim").compile(DENSE), dense_inputs(1, 3, 3)
        for _ in range(3):
            kernel(q, k, v)
        self.assertEqual(len(kernel._plans), 1)
        kernel(q[:, 1:], k, v)
        self.assertEqual(len(kernel._plans), 2)

    def test_objects_go_in_any_order(self):
        context = attune.Context("sim")
        kernel, (q, k, v) = context.compile(PLAIN), dense_inputs(1, 3, 3, 2, 2)
        array = attune.DeviceArray.from_numpy(q, context)
        gone = weakref.ref(context)
        del context
        out = kernel(array, k, v)
        del kernel
        gc.collect()
        view = array[:, 1:]
        del array
        gc.collect()
        np.testing.assert_array_equal(view.numpy(), q[:, 1:])
        self.assertIsInstance(out, attune.DeviceArray)
        del view, out
        gc.collect()
        self.assertIsNone(gone())

    def test_indices(self):
        host = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
        there = attune.DeviceArray.from_numpy(host)
        for key in (0, -1, slice(1, None), (slice(None), 2), (1, slice(0, 4, 3), -2), (slice(3, 1),), slice(-2, 99)):
            np.testing.assert_array_equal(there[key].numpy(), host[key])
        for key in (3, (0, 0, 0, 0), slice(None, None, -1)):
            with self.assertRaises(IndexError):
                there[key]

    def test_the_code_object(self):
        self.assertTrue(attune.compile(DENSE).code.startswith(b"\x7fELF"))


def main():
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ATTUNE_CACHE_DIR"] = cache
        try:
            attune.compile(DENSE)
        except attune.NotFoundError as error:
            if "there is no compiler" not in str(error):
                raise
            print(f"skipped: {error}")
            sys.exit(SKIPPED)
        unittest.main()


if __name__ == "__main__":
    main()

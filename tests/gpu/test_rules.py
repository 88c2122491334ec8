#!/usr/bin/env python3
"""Tests of the comparison itself; needs no GPU: python3 tests/gpu/test_rules.py

The rules decide whether a run passes, so they must explain what is known, and must
refuse what is not.
"""

import sys
import unittest
from collections import Counter

sys.dont_write_bytecode = True
import rules
from counts import Call

INIT = Call(1, "driver", "cuInit", 100, 200, "done")


def calls(*items):
    """(layer, name, start) as calls that take 1 ns, after those of the initialisation."""
    return [INIT] + [Call(1, layer, name, start, start + 1, "done") for layer, name, start in items]


def explain(ours, cupti, stream, known=None, more_ours=(), more_cupti=()):
    """{name: rules} for driver counts unless the key says runtime."""

    def split(flat):
        result = {"runtime": Counter(), "driver": Counter()}
        for name, number in flat.items():
            result["runtime" if name.lstrip("_").startswith("cuda") else "driver"][name] = number
        return result

    names = known or {"runtime": set(), "driver": set()}
    runs = [split(ours)] + [split(x) for x in more_ours]
    seen = [split(cupti)] + [split(x) for x in more_cupti]
    return {item.name: item for item in rules.explain(runs, seen, names, stream)}


class Rules(unittest.TestCase):
    def test_equal_counts_are_no_difference(self):
        self.assertEqual(explain({"cuMemAlloc_v2": 3}, {"cuMemAlloc_v2": 3}, calls()), {})

    def test_before_first_cuinit(self):
        stream = calls(("driver", "cuGetProcAddress_v2", 50), ("driver", "cuGetProcAddress_v2", 60))
        found = explain({"cuInit": 1, "cuGetProcAddress_v2": 5}, {"cuGetProcAddress_v2": 3}, stream)
        self.assertEqual(found["cuInit"].rules, [rules.BEFORE])
        self.assertEqual(found["cuGetProcAddress_v2"].rules, [rules.BEFORE])

    def test_more_than_came_before_is_unexplained(self):
        stream = calls(("driver", "cuGetProcAddress_v2", 50))
        stream += calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))[1:]
        found = explain({"cuGetProcAddress_v2": 5}, {"cuGetProcAddress_v2": 3}, stream)
        self.assertFalse(found["cuGetProcAddress_v2"].explained)

    def test_missing_call_is_unexplained(self):
        found = explain({"cuMemAlloc_v2": 2}, {"cuMemAlloc_v2": 3}, calls())
        self.assertFalse(found["cuMemAlloc_v2"].explained)

    def test_call_in_the_middle_is_no_exit_call(self):
        stream = calls(("driver", "cuMemFree_v2", 300))
        stream += calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))[1:]
        found = explain({"cuMemFree_v2": 1}, {}, stream)
        self.assertFalse(found["cuMemFree_v2"].explained)

    def test_exit_calls(self):
        stream = calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))
        stream += calls(("driver", "cuLibraryUnload", 5000))[1:]
        found = explain({"cuLibraryUnload": 1}, {}, stream)
        self.assertEqual(found["cuLibraryUnload"].rules, [rules.AFTER])

    def test_kernel_name_is_cuptis_own_footprint(self):
        found = explain({"cudaLaunchKernel": 4}, {"cudaLaunchKernel": 4, "cuKernelGetName": 4}, calls())
        self.assertEqual(found["cuKernelGetName"].rules, [rules.KERNEL_NAME])

    def test_kernel_name_beyond_the_launches(self):
        found = explain({"cudaLaunchKernel": 4}, {"cudaLaunchKernel": 4, "cuKernelGetName": 5}, calls())
        self.assertFalse(found["cuKernelGetName"].explained)

    def test_our_footprint_is_never_explained(self):
        stream = calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))
        found = explain({"cudaLaunchKernel": 4, "cuKernelGetName": 4}, {"cudaLaunchKernel": 4}, stream)
        self.assertFalse(found["cuKernelGetName"].explained)

    def test_alias(self):
        found = explain({"cuFoo": 2}, {"cuFoo_v2_ptsz": 2}, calls())
        self.assertEqual(found["cuFoo"].rules, [rules.ALIAS])
        found = explain({"cuFoo": 2}, {"cuFoo_v2": 1}, calls())
        self.assertFalse(found["cuFoo"].explained)

    def test_no_callback_id(self):
        known = {"runtime": {"cudaMalloc"}, "driver": {"cuInit"}}
        stream = calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))
        found = explain({"__cudaRegisterFatBinary": 1, "cudaMalloc": 1}, {}, stream, known)
        self.assertEqual(found["__cudaRegisterFatBinary"].rules, [rules.NO_ID])
        self.assertFalse(found["cudaMalloc"].explained)

    def test_launch_alias(self):
        known = {"runtime": {"cudaLaunchKernel"}, "driver": {"cuInit"}}
        found = explain({"__cudaLaunchKernel": 3}, {"cudaLaunchKernel": 3}, calls(), known)
        self.assertEqual(found["cudaLaunchKernel"].rules, [rules.ALIAS])
        self.assertEqual(found["__cudaLaunchKernel"].rules, [rules.ALIAS])

    def test_runtime_call_around_the_first_cuinit(self):
        stream = calls() + [Call(1, "runtime", "cudaGetDevice", 10, 400, "done")]
        found = explain({"cudaGetDevice": 2}, {"cudaGetDevice": 1}, stream)
        self.assertEqual(found["cudaGetDevice"].rules, [rules.ENCLOSING])
        found = explain({"cudaGetDevice": 3}, {"cudaGetDevice": 1}, stream[:1])
        self.assertFalse(found["cudaGetDevice"].explained)

    def test_varying_needs_repeated_runs_that_vary(self):
        stream = calls(*(("driver", "cuCtxGetCurrent", 1000 + i) for i in range(100)))
        found = explain({"cuEventQuery": 12}, {"cuEventQuery": 10}, stream, None, [{"cuEventQuery": 12}], [{"cuEventQuery": 10}])
        self.assertFalse(found["cuEventQuery"].explained)
        found = explain({"cuEventQuery": 12}, {"cuEventQuery": 10}, stream, None, [{"cuEventQuery": 9}], [{"cuEventQuery": 10}])
        self.assertTrue(found["cuEventQuery"].explained)


if __name__ == "__main__":
    unittest.main()

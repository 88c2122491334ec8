#!/usr/bin/env python3
"""Tests of the comparison itself; needs no GPU: python3 tests/gpu/test_rules.py

The rules decide whether a run passes, so they must explain what is known, and must
refuse what is not.
"""

import os
import sys
import tempfile
import unittest
from collections import Counter
from types import SimpleNamespace

sys.dont_write_bytecode = True
import counts
import extras
import hooked
import nsight
import qdstrm
import rules
import teardown
from counts import Call, Trace

INIT = Call(1, "driver", "cuInit", 100, 200, "done")


def calls(*items):
    """(layer, name, start) as calls that take 1 ns, after those of the initialisation."""
    return [INIT] + [Call(1, layer, name, start, start + 1, "done") for layer, name, start in items]


def torch_exit():
    """A program's end as PyTorch's: 3 runtimes go while CUPTI lives, then hundreds of fat
    binaries and the last 2 runtimes, after CUPTI.
    """
    names = ["cuMemcpyHtoD_v2"] + ["cuCtxGetCurrent"] * 10 + ["cudaFree"]
    names += (["cuLibraryUnload"] * 3 + ["cuDevicePrimaryCtxRelease"]) * 3
    names += ["cuLibraryUnload"] * 16 + ["__cudaUnregisterFatBinary"] * 445
    names += ["cuCtxGetCurrent", "cuDevicePrimaryCtxRelease"] * 2
    return calls(*(("runtime" if "cuda" in name else "driver", name, 1000 + i) for i, name in enumerate(names)))


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

    def test_exit_calls_behind_hundreds_of_unregistrations(self):
        ours = {"cudaFree": 1, "__cudaUnregisterFatBinary": 445, "cuLibraryUnload": 25, "cuDevicePrimaryCtxRelease": 5, "cuCtxGetCurrent": 12}
        cupti = {"cudaFree": 1, "cuLibraryUnload": 9, "cuDevicePrimaryCtxRelease": 3, "cuCtxGetCurrent": 10}
        found = explain(ours, cupti, torch_exit())
        for name in ("cuLibraryUnload", "cuDevicePrimaryCtxRelease", "cuCtxGetCurrent"):
            self.assertEqual(found[name].rules, [rules.AFTER], name)
        self.assertEqual(found["__cudaUnregisterFatBinary"].rules, [rules.INTERNAL])

    def test_exit_calls_must_be_all_from_one_moment_on(self):
        # One look at the context is missing, while the two behind the unloads were not missed.
        found = explain({"cuCtxGetCurrent": 12}, {"cuCtxGetCurrent": 11}, torch_exit())
        self.assertFalse(found["cuCtxGetCurrent"].explained)
        # Unloads are believed to be the exit's as long as they stand there ...
        found = explain({"cuLibraryUnload": 25}, {"cuLibraryUnload": 12}, torch_exit())
        self.assertIn(found["cuLibraryUnload"].rules, ([rules.AFTER], [rules.LATE]))
        # ... but not more of them than stand there.
        found = explain({"cuLibraryUnload": 30}, {"cuLibraryUnload": 4}, torch_exit())
        self.assertFalse(found["cuLibraryUnload"].explained)

    def test_work_ends_the_teardown(self):
        stream = torch_exit()
        stream += [Call(1, "driver", "cuMemcpyHtoD_v2", 9000, 9001, "done")]
        found = explain({"cuLibraryUnload": 25}, {"cuLibraryUnload": 9}, stream)
        self.assertFalse(found["cuLibraryUnload"].explained)

    def test_another_threads_work_ends_the_teardown_too(self):
        stream = torch_exit() + [Call(1, "library", "cublasSgemm_v2", 9000, 9001, "done", 7)]
        found = explain({"cuLibraryUnload": 25}, {"cuLibraryUnload": 9}, stream)
        self.assertFalse(found["cuLibraryUnload"].explained)

    def test_allocation_is_no_teardown(self):
        for name in ("cuEventCreate", "cuMemAlloc_v2", "cudaLaunchKernel", "cuMemcpyDtoH_v2", "cuLaunchKernel", "cublasCreate_v2"):
            self.assertIsNone(teardown.NAMES.match(name), name)
        for name in ("cuEventDestroy_v2", "cuCtxPushCurrent_v2", "cuMemFree_v2", "cublasDestroy_v2", "cudaFreeAsync_ptsz"):
            self.assertIsNotNone(teardown.NAMES.match(name), name)

    def test_registration_is_never_reported_by_a_runtime(self):
        known = {"runtime": {"__cudaRegisterVar", "cudaMalloc"}, "driver": {"cuInit"}}
        found = explain({"__cudaRegisterVar": 1788}, {}, calls(), known)
        self.assertEqual(found["__cudaRegisterVar"].rules, [rules.INTERNAL])
        # Should a later CUPTI report some, the rest is not explained away.
        found = explain({"__cudaRegisterVar": 1788}, {"__cudaRegisterVar": 3}, calls(), known)
        self.assertFalse(found["__cudaRegisterVar"].explained)
        # And CUPTI's own surplus never is.
        found = explain({}, {"__cudaRegisterVar": 3}, calls(), known)
        self.assertFalse(found["__cudaRegisterVar"].explained)

    def test_launch_that_is_seen_twice_by_cutap_and_once_by_cupti(self):
        found = explain({"__cudaLaunchKernel": 3, "cudaLaunchKernel": 3}, {"cudaLaunchKernel": 3}, calls())
        self.assertEqual(found["__cudaLaunchKernel"].rules, [rules.INTERNAL])
        found = explain({"__cudaLaunchKernel": 3, "cudaLaunchKernel": 4}, {"cudaLaunchKernel": 3}, calls())
        self.assertFalse(found["cudaLaunchKernel"].explained)

    def test_export_tables(self):
        known = {"runtime": {"cudaMalloc"}, "driver": {"cuInit", "cuGetExportTable"}}
        found = explain({"cuGetExportTable": 7}, {}, calls(("driver", "cuGetExportTable", 50)), known)
        self.assertEqual(found["cuGetExportTable"].rules, [rules.EXPORT_TABLE])
        found = explain({"cuGetExportTable": 7}, {}, calls(), known, [], [{"cuGetExportTable": 1}])
        self.assertFalse(found["cuGetExportTable"].explained)

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
        found = explain({"cudaBrandNew": 1, "cudaMalloc": 1}, {}, stream, known)
        self.assertEqual(found["cudaBrandNew"].rules, [rules.NO_ID])
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
        self.assertEqual(found["cuEventQuery"].rules, [rules.VARIES])
        self.assertEqual(found["cuEventQuery"].runs, "cutap 12, 9; CUPTI 10, 10")

    def test_a_constant_difference_stays_open_and_shows_all_runs(self):
        # jax_small on the H200: one event and two cuCtxSetCurrent more, and no teardown holds them.
        found = explain({"cuEventCreate": 52}, {"cuEventCreate": 51}, torch_exit(), None, [{"cuEventCreate": 52}], [{"cuEventCreate": 51}])
        self.assertFalse(found["cuEventCreate"].explained)
        self.assertEqual(found["cuEventCreate"].runs, "cutap 52, 52; CUPTI 51, 51")

    def test_runs_counted_together_settle_what_separate_runs_leave_open(self):
        def both(ours, cupti):
            return tuple({"runtime": Counter(), "driver": Counter({"cuEventCreate": n})} for n in (ours, cupti))

        known = {"runtime": set(), "driver": set()}
        for pairs, rule in (
            ([both(52, 52), both(51, 51)], rules.TOGETHER),
            ([both(52, 52), both(52, 51)], rules.UNEXPLAINED),
            ([], rules.UNEXPLAINED),
        ):
            item = explain({"cuEventCreate": 52}, {"cuEventCreate": 51}, torch_exit())["cuEventCreate"]
            rules.settle([item], pairs, known, torch_exit())
            self.assertEqual(item.rules, [rule], pairs)


class Reading(unittest.TestCase):
    def test_instance_without_version_is_the_one_with(self):
        trace = Trace(instances={("libcudart.so.13", ""), ("libcudart.so.13", "13.0"), ("a.out", "")})
        self.assertEqual(counts.named_instances(trace), [("a.out", ""), ("libcudart.so.13", "13.0")])

    def test_modules_are_recognised_by_content(self):
        fatbin = bytes.fromhex("50ed55ba01001000") + (8).to_bytes(8, "little") + b"12345678"
        cubin = b"\x7fELF" + bytes(14) + (190).to_bytes(2, "little") + bytes(40)
        self.assertEqual(extras.kind_of_module(fatbin), "fatbin")
        self.assertIsNone(extras.kind_of_module(fatbin[:-1]))
        self.assertEqual(extras.kind_of_module(cubin), "cubin")
        self.assertIsNone(extras.kind_of_module(cubin.replace((190).to_bytes(2, "little"), b"\x3e\0")))
        self.assertEqual(extras.kind_of_module(b"// by hand\n.version 6.3\n.target sm_75\n"), "PTX")
        self.assertIsNone(extras.kind_of_module(b""))



class HookedCounts(unittest.TestCase):
    def test_only_what_cutap_makes_a_runtime_ask_may_differ(self):
        plain = {"runtime": Counter(cudaMalloc=2), "driver": Counter(cuLaunchKernel=3, cuKernelGetName=1)}
        under = {"runtime": Counter(cudaMalloc=2), "driver": Counter(cuLaunchKernel=3, cuKernelGetName=4, cuFuncGetName=3)}
        self.assertEqual(hooked.other_counts(plain, under), [])
        under["runtime"]["cudaFree"] = 1
        under["driver"]["cuLaunchKernel"] = 2
        other = [("runtime", "cudaFree", 0, 1), ("driver", "cuLaunchKernel", 3, 2)]
        self.assertEqual(hooked.other_counts(plain, under), other)


def seen(nsys, driver, profiler=(), asked=0, out=b"verified\nGenerated: a.nsys-rep\n"):
    run = SimpleNamespace(hung=False, code=0, out=out, err=b"", dump="")
    counted = {"runtime": Counter(), "driver": Counter(driver)}
    return nsight.Seen(run, Counter(nsys), "", counted, Counter(profiler), asked)


class Nsight(unittest.TestCase):
    PLAIN = SimpleNamespace(code=0, out=b"verified\n")

    def judge(self, around, inside):
        ways = {"nsys": seen({"cuLaunchKernel": 5}, {}), "cutap": seen({}, {"cuLaunchKernel": 5, "cuInit": 1})}
        return nsight.judge({**ways, "nsys around cutap": around, "cutap around nsys": inside}, self.PLAIN)

    def good(self, **more):
        nsys, driver = {"cuLaunchKernel": 5, **more.pop("nsys", {})}, {"cuLaunchKernel": 5, "cuInit": 1, **more.pop("driver", {})}
        return seen(nsys, driver, **more)

    def test_the_same_counts_and_what_each_asks_the_driver_are_fine(self):
        asked = self.good(nsys={"cuFuncGetParamInfo": 5}, profiler={"cuGetExportTable": 67}, asked=1)
        problems, proved, notes, _ = self.judge(asked, self.good())
        self.assertEqual((problems, notes, len(proved)), ([], [], 2))
        self.assertIn("nsys sees 5 cuFuncGetParamInfo by which cutap asks for the parameters of 1 kernels", proved[0])

    def test_whatever_else_differs_is_a_problem(self):
        for bad in (
            self.good(nsys={"cuLaunchKernel": 4}),
            self.good(nsys={"cuFuncGetParamInfo": 5}),  # cutap says that it asked about no kernel
            self.good(driver={"cuLaunchKernel": 6}),
            self.good(driver={"cuGetExportTable": 1}),  # outside the first cuInit
            self.good(out=b"Generated: a.nsys-rep\n"),
        ):
            self.assertEqual(len(self.judge(bad, self.good())[0]), 1, bad)
            self.assertEqual(len(self.judge(self.good(), bad)[0]), 1, bad)

    def test_events_that_cannot_be_counted_are_said_to_be_skipped(self):
        none = self.good()
        none.nsys, none.no_report = None, "nsys wrote no file"
        problems, proved, notes, _ = self.judge(none, self.good())
        self.assertEqual((problems, len(proved)), ([], 2))
        self.assertEqual(notes, ["skipped: nsys around cutap: nsys' events were not compared: nsys wrote no file"])


class RawFile(unittest.TestCase):
    NAMES = b"\x08\x01" + b"\x12\x07INVALID\x12\x10cudaMalloc_v3020" + b"\x1a\x07INVALID\x1a\x0dcuMemAlloc_v2"

    def event(self, number, layer):
        words = [4, 0, 1, 0, 1, 0, number, layer, 0, 15]
        return bytes(24) + b"".join(word.to_bytes(4, "little") for word in words) + bytes(182)

    def file(self, block):
        table = b"\x0a" + bytes([len(self.NAMES)]) + self.NAMES
        # Literals alone are an LZ4 block too: 15, then how many more, in steps of 255.
        more = len(block) - 15
        packed = b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + block
        number = lambda n: bytes([n & 127 | 128, n >> 7])
        stream = qdstrm.STREAM + number(len(packed)) + number(len(block)) + packed
        data = b"U3w[END]" + qdstrm.HEAD + b"2025.3.1.0!" + b"\x0a\x02ab" + b"\x12" + bytes([len(table)]) + table + stream
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.qdstrm")
            with open(path, "wb") as f:
                f.write(data)
            return qdstrm.count(path)

    def test_calls_are_counted_by_name(self):
        found = self.file(self.event(1, 0) * 3 + bytes(50) + self.event(1, 1))
        self.assertEqual(found, Counter({"cudaMalloc_v3020": 3, "cuMemAlloc_v2": 1}))

    def test_what_looks_otherwise_is_refused(self):
        for block in (self.event(2, 0), self.event(1, 7), self.event(1, 0)[:-1], self.event(1, 0)[1:]):
            self.assertRaisesRegex(qdstrm.Unreadable, "an event in the raw file", self.file, block)

    def test_a_block_repeats_what_stands_before(self):
        self.assertEqual(qdstrm.unpack(b"\x3aabc\x03\x00", 17), b"abcabcabcabcabcab")
        self.assertRaises(ValueError, qdstrm.unpack, b"\x3aabc\x04\x00", 17)


if __name__ == "__main__":
    unittest.main()

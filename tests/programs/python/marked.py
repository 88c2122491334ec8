# Tests with the mark cutap: rules that hold, and one broken rule each. `tests/e2e/tests/python_module.rs` runs them.
import ctypes

import pytest

cuda = ctypes.CDLL("libcuda.so.1")


def allocate():
    pointer = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4096)) == 0
    return pointer


@pytest.fixture
def context():
    handle = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(handle), 0, 0) == 0
    # Calls of a fixture do not count.
    allocate()
    yield


@pytest.mark.cutap(no_errors=True, no_leaks=True, no_sync="cuCtxSynchronize", max={"cuMemAlloc_v2": 1})
def test_holds(context):
    assert cuda.cuMemFree_v2(allocate()) == 0


@pytest.mark.cutap(no_errors=True, no_leaks=True, no_sync="cuCtxSynchronize", max={"cuMemAlloc_v2": 1})
def test_breaks_four_rules(context):
    allocate()
    allocate()
    cuda.cuMemFree_v2(ctypes.c_uint64(12345))
    cuda.cuCtxSynchronize()


@pytest.mark.cutap
def test_ends_early(context):
    ctypes.string_at(0)


@pytest.mark.cutap(no_eror=True)
def test_unknown_rule(context):
    pass


@pytest.mark.cutap
def test_is_skipped():
    pytest.skip("not today")


def test_without_mark():
    pass

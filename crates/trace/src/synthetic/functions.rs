//! Functions of the small tables; sorted by name in each family.

use crate::synthetic::tables::*;
use cutap_calls::known::*;

pub static DRIVER: &[Function] = &[
    of("cuCtxCreate_v2", RESULT, 3, &[out("pctx", P_CONTEXT, 0), p("flags", FLAGS, 1), p("dev", DEVICE, 2)]),
    of(
        "cuDeviceGetName",
        RESULT,
        3,
        &[r("name", P_CHAR, 0, Dir::Out, Rule::TextOf(Count::Of(1))), p("len", I32, 1), p("dev", DEVICE, 2)],
    ),
    of(
        "cuDeviceGetUuid",
        RESULT,
        4,
        &[out("uuid", P_UUID, 0), p("dev", DEVICE, 1), r("mask", U32, 2, Dir::In, Rule::One), {
            Param { unit: Unit::Hex, ..p("bits", SIZE, 3) }
        }],
    ),
    of("cuDriverGetVersion", RESULT, 1, &[Param { unit: Unit::Version, ..out("driverVersion", P_I32, 0) }]),
    of(
        "cuFixtureKinds",
        RESULT,
        6,
        &[
            p("kind", KIND, 0),
            p("flag", BOOL, 1),
            r("cookie", P_VOID, 2, Dir::In, Rule::Opaque),
            p("callback", CODE, 3),
            r("list", P_I32, 4, Dir::In, Rule::Array(Count::ZeroEnded)),
            r("mixed", P_MIXED, 5, Dir::In, Rule::One),
        ],
    ),
    of("cuGetErrorString", RESULT, 2, &[p("error", RESULT, 0), out("pStr", PP_CHAR, 1)]),
    of("cuGraphAddKernelNode", RESULT, 1, &[r("nodeParams", P_NODE, 0, Dir::In, Rule::One)]),
    of(
        "cuGraphGetNodes",
        RESULT,
        3,
        &[
            p("hGraph", SIZE, 0),
            r("nodes", P_STREAM, 1, Dir::Out, Rule::Array(Count::At(2))),
            r("numNodes", P_SIZE, 2, Dir::InOut, Rule::One),
        ],
    ),
    Function {
        shape: Shape { ints: 6, vectors: 0, stack: 5 },
        ..of(
            "cuLaunchKernel",
            RESULT,
            6,
            &[
                p("f", FUNCTION, 0),
                p("gridDimX", U32, 1),
                p("gridDimY", U32, 2),
                p("gridDimZ", U32, 3),
                p("blockDimX", U32, 4),
                p("blockDimY", U32, 5),
                p("blockDimZ", U32, 6),
                p("sharedMemBytes", U32, 7),
                p("hStream", STREAM, 8),
                r("kernelParams", PP_VOID, 9, Dir::In, Rule::KernelParams(0, 0)),
                r("extra", PP_VOID, 10, Dir::In, Rule::Extra),
            ],
        )
    },
    of(
        "cuLaunchKernelEx",
        RESULT,
        3,
        &[
            r("config", P_CONFIG, 0, Dir::In, Rule::One),
            p("f", FUNCTION, 1),
            r("kernelParams", PP_VOID, 2, Dir::In, Rule::KernelParams(1, 1)),
        ],
    ),
    Function {
        effects: &[Effect::Allocates { at: 0, by_value: false, bytes: Count::Of(1), memory: Memory::Device }],
        ..of("cuMemAlloc_v2", RESULT, 2, &[out("dptr", P_DPTR, 0), bytes("bytesize", 1)])
    },
    Function { effects: &[Effect::Frees(0)], ..of("cuMemFree_v2", RESULT, 1, &[p("dptr", DPTR, 0)]) },
    Function {
        effects: &[Effect::Allocates { at: 0, by_value: true, bytes: Count::Of(1), memory: Memory::Host }],
        ..of("cuMemHostRegister_v2", RESULT, 2, &[memory("p", P_VOID, 0, 1), bytes("bytesize", 1)])
    },
    of(
        "cuMemcpyHtoD_v2",
        RESULT,
        3,
        &[memory("dstDevice", DPTR, 0, 2), memory("srcHost", P_VOID, 1, 2), bytes("ByteCount", 2)],
    ),
    of(
        "cuModuleLoadDataEx",
        RESULT,
        4,
        &[
            r("image", P_VOID, 0, Dir::In, Rule::Opaque),
            p("numOptions", U32, 1),
            r("options", P_OPTION, 2, Dir::In, Rule::Array(Count::Of(1))),
            r("optionValues", PP_VOID, 3, Dir::In, Rule::OptionValues(2, Count::Of(1))),
        ],
    ),
    of(
        "cuPointerGetAttribute",
        RESULT,
        3,
        &[
            r("data", P_VOID, 0, Dir::Out, Rule::Tagged(0, 1, Count::Fixed(1))),
            p("attribute", PROPERTY, 1),
            p("ptr", DPTR, 2),
        ],
    ),
    of(
        "cuPointerGetAttributes",
        RESULT,
        4,
        &[
            p("numAttributes", U32, 0),
            r("attributes", P_PROPERTY, 1, Dir::In, Rule::Array(Count::Of(0))),
            r("data", PP_VOID, 2, Dir::Out, Rule::Tagged(0, 1, Count::Of(0))),
            p("ptr", DPTR, 3),
        ],
    ),
    of("cuStreamCreate", RESULT, 2, &[out("phStream", P_STREAM, 0), p("Flags", FLAGS, 1)]),
    Function { effects: &[Effect::Destroys(0)], ..of("cuStreamDestroy_v2", RESULT, 1, &[p("hStream", STREAM, 0)]) },
    of("cuStreamSynchronize", RESULT, 1, &[p("hStream", STREAM, 0)]),
];

/// Functions of the runtime; parameters by their offsets in the block.
pub static RUNTIME: &[Function] = &[
    of("cudaGetErrorString", P_CHAR, 1, &[p("error", ERROR, 0)]),
    of("cudaGraphAddKernelNode", ERROR, 1, &[r("pNodeParams", P_NODE, 0, Dir::In, Rule::One)]),
    of(
        "cudaLaunchKernel",
        ERROR,
        0,
        &[
            r("func", P_VOID, 0, Dir::In, Rule::Opaque),
            Param { offset: 8, ..p("gridDim", DIM3, 0) },
            Param { offset: 20, ..p("blockDim", DIM3, 0) },
            r("args", PP_VOID, 4, Dir::In, Rule::KernelParams(0, 0)),
            p("sharedMem", SIZE, 5),
            p("stream", STREAM, 6),
        ],
    ),
    Function {
        effects: &[Effect::Allocates { at: 0, by_value: false, bytes: Count::Of(1), memory: Memory::Device }],
        ..of("cudaMalloc", ERROR, 2, &[out("devPtr", PP_VOID, 0), bytes("size", 1)])
    },
    Function { until: 12999, ..of("cudaMemAdvise", ERROR, 2, &[p("count", SIZE, 0), p("device", I32, 1)]) },
    Function { since: 13000, ..of("cudaMemAdvise", ERROR, 2, &[p("count", SIZE, 0), p("location", DIM3, 1)]) },
];

/// Functions of a library.
pub static CUBLAS: &[Function] = &[
    Function {
        effects: &[Effect::Remembers { of: 0, value: 1 }],
        ..of("cublasFixtureDescribe", RESULT, 2, &[out("desc", P_CONTEXT, 0), p("type", PROPERTY, 1)])
    },
    Function { effects: &[Effect::Destroys(0)], ..of("cublasFixtureForget", RESULT, 1, &[p("desc", CONTEXT, 0)]) },
    Function {
        shape: Shape { ints: 3, vectors: 2, stack: 0 },
        ..of(
            "cublasFixtureMixed",
            RESULT,
            3,
            &[
                p("handle", CONTEXT, 0),
                p("single", F32, 3),
                p("double", F64, 4),
                Param { second: 2, ..p("grid", DIM3, 1) },
            ],
        )
    },
    of(
        "cublasFixtureProduct",
        RESULT,
        5,
        &[
            p("desc", CONTEXT, 0),
            r("alpha", P_VOID, 1, Dir::In, Rule::Scalar(0, 0)),
            r("beta", P_VOID, 2, Dir::In, Rule::ScalarOr(0, 0, 0, 4)),
            r("data", P_VOID, 3, Dir::In, Rule::Host(Count::Fixed(8))),
            p("type", PROPERTY, 4),
        ],
    ),
    of(
        "cublasFixtureScale",
        RESULT,
        4,
        &[
            p("handle", CONTEXT, 0),
            r("alpha", P_VOID, 1, Dir::In, Rule::Scalar(0, 2)),
            p("type", PROPERTY, 2),
            r("beta", P_F32, 3, Dir::In, Rule::One),
        ],
    ),
    of(
        "cublasFixtureTexts",
        RESULT,
        3,
        &[
            p("n", I32, 0),
            r("texts", PP_CHAR, 1, Dir::In, Rule::Texts(Count::Of(0))),
            r("matrix", P_F32, 2, Dir::In, Rule::Array(Count::Product(0, 0))),
        ],
    ),
    of("cublasGetVersion", SIZE, 0, &[]),
];

const fn of(name: &'static str, returns: TypeId, ints: u8, params: &'static [Param]) -> Function {
    let shape = Shape { ints, vectors: 0, stack: 0 };
    Function { name, since: 0, until: u32::MAX, returns, params, about: "", shape, effects: &[] }
}

/// A parameter in this word, of a block at its place.
const fn p(name: &'static str, ty: TypeId, word: u8) -> Param {
    r(name, ty, word, Dir::In, Rule::One)
}

const fn r(name: &'static str, ty: TypeId, word: u8, dir: Dir, rule: Rule) -> Param {
    Param { name, ty, word, second: 255, offset: word as u16 * 8, dir, rule, unit: Unit::None, written: Writes::Done }
}

const fn out(name: &'static str, ty: TypeId, word: u8) -> Param {
    r(name, ty, word, Dir::Out, Rule::One)
}

const fn bytes(name: &'static str, word: u8) -> Param {
    Param { unit: Unit::Bytes, ..r(name, SIZE, word, Dir::In, Rule::One) }
}

const fn memory(name: &'static str, ty: TypeId, word: u8, count: u8) -> Param {
    r(name, ty, word, Dir::In, Rule::Memory(Count::Of(count)))
}

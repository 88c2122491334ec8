//! Small tables with every type and rule once, so that tests of the interpreter do not depend on NVIDIA's current
//! facts. Functions that have the form of a real one have its name.

use cutap_calls::known::*;

/// Tables that know nothing.
pub static NOTHING: Tables = Tables { families: &[], types: &[], enums: &[], structs: &[], handles: &[], tags: &[] };

pub static TABLES: Tables = Tables {
    families: &[
        Family {
            name: "driver",
            sonames: &["libcuda.so.1"],
            functions: crate::synthetic::functions::DRIVER,
            undeclared: &[],
            written: &[],
        },
        Family {
            name: "runtime",
            sonames: &["libcudart.so.*"],
            functions: crate::synthetic::functions::RUNTIME,
            undeclared: &[],
            written: &[],
        },
        Family {
            name: "cublas",
            sonames: &["libcublas.so.*"],
            functions: crate::synthetic::functions::CUBLAS,
            undeclared: &[],
            written: &[],
        },
    ],
    types: &[
        Type::Void,
        Type::Int { bytes: 4, signed: true },
        Type::Int { bytes: 4, signed: false },
        Type::Int { bytes: 8, signed: false },
        Type::Char,
        Type::Bool(4),
        Type::Float(4),
        Type::Float(8),
        Type::Float(2),
        Type::BFloat16,
        Type::Enum(0),
        Type::Flags(1, 4),
        Type::Status(2),
        Type::Handle(0),
        Type::Handle(1),
        Type::Handle(2),
        Type::Handle(3),
        Type::DevicePointer,
        Type::Pointer(VOID, false),
        Type::Pointer(P_VOID, false),
        Type::Pointer(CHAR, true),
        Type::Pointer(P_CHAR, false),
        Type::Pointer(DPTR, false),
        Type::Pointer(SIZE, false),
        Type::Pointer(STREAM, false),
        Type::Pointer(F32, true),
        Type::Struct(0),
        Type::Struct(1),
        Type::Pointer(CONFIG, true),
        Type::Union(3),
        Type::Struct(4),
        Type::Pointer(ATTRIBUTE, false),
        Type::Pointer(OPTION, true),
        Type::Enum(3),
        Type::Code,
        Type::Uuid,
        Type::Array(CHAR, 16),
        Type::Array(I32, 4),
        Type::Pointer(I32, false),
        Type::Pointer(UUID, false),
        Type::Pointer(CONTEXT, false),
        Type::Status(4),
        Type::Struct(5),
        Type::Pointer(MIXED, false),
        Type::Pointer(PROPERTY, true),
        Type::Enum(5),
        Type::Struct(6),
        Type::Pointer(NODE, true),
    ],
    enums: &[
        Enum {
            name: "copyKind",
            bytes: 4,
            number: 0,
            values: &[(0, "HostToHost"), (1, "HostToDevice"), (2, "DeviceToHost")],
        },
        Enum {
            name: "flags",
            bytes: 4,
            number: 0,
            values: &[(0, "DEFAULT"), (1, "NON_BLOCKING"), (2, "SPIN"), (4, "BLOCK")],
        },
        Enum {
            name: "CUresult",
            bytes: 4,
            number: 0,
            values: &[(0, "CUDA_SUCCESS"), (1, "CUDA_ERROR_INVALID_VALUE"), (2, "CUDA_ERROR_OUT_OF_MEMORY")],
        },
        Enum {
            name: "option",
            bytes: 4,
            number: 0,
            values: &[(0, "MAX_REGISTERS"), (1, "WALL_TIME"), (5, "LOG"), (9, "X")],
        },
        Enum {
            name: "cudaError_t",
            bytes: 4,
            number: 0,
            values: &[(0, "cudaSuccess"), (2, "cudaErrorMemoryAllocation")],
        },
        Enum { name: "property", bytes: 4, number: 0, values: &[(1, "CLUSTER"), (2, "PRIORITY"), (3, "NAME")] },
    ],
    structs: &[
        Struct {
            name: "dim3",
            since: 0,
            until: u32::MAX,
            size: 12,
            fields: &[f("x", U32, 0, Rule::One), f("y", U32, 4, Rule::One), f("z", U32, 8, Rule::One)],
            tag: 255,
            tags: 0,
        },
        Struct { since: 0, until: 12999, size: 24, fields: CONFIG_12, name: "config", tag: 255, tags: 0 },
        Struct { since: 13000, until: u32::MAX, size: 32, fields: CONFIG_13, name: "config", tag: 255, tags: 0 },
        Struct {
            name: "attribute.value",
            since: 0,
            until: u32::MAX,
            size: 16,
            fields: &[f("cluster", DIM3, 0, Rule::One), f("priority", I32, 0, Rule::One)],
            tag: 0,
            tags: 1,
        },
        Struct {
            name: "attribute",
            since: 0,
            until: u32::MAX,
            size: 24,
            fields: &[f("id", PROPERTY, 0, Rule::One), f("_1", VALUE, 8, Rule::One)],
            tag: 255,
            tags: 0,
        },
        Struct {
            name: "mixed",
            since: 0,
            until: u32::MAX,
            size: 64,
            fields: &[
                f("name", NAME16, 0, Rule::One),
                f("numbers", NUMBERS4, 16, Rule::Array(Count::Of(2))),
                f("used", I32, 32, Rule::One),
                f("half", F16, 36, Rule::One),
                f("brain", BF16, 38, Rule::One),
                f("callback", CODE, 40, Rule::One),
                f("uuid", UUID, 48, Rule::One),
            ],
            tag: 255,
            tags: 0,
        },
        Struct {
            name: "nodeParams",
            since: 0,
            until: u32::MAX,
            size: 24,
            fields: &[
                f("func", FUNCTION, 0, Rule::One),
                f("kernelParams", PP_VOID, 8, Rule::KernelParams(0, 0)),
                f("extra", PP_VOID, 16, Rule::Extra),
            ],
            tag: 255,
            tags: 0,
        },
    ],
    handles: &[
        Handle {
            name: "CUstream",
            short: "stream",
            number: false,
            bytes: 8,
            special: &[(1, "CU_STREAM_LEGACY"), (2, "CU_STREAM_PER_THREAD")],
            elsewhere: false,
            made_elsewhere: false,
            of: &[],
        },
        Handle {
            name: "CUdevice",
            short: "device",
            number: true,
            bytes: 4,
            special: &[(u64::MAX, "CU_DEVICE_CPU")],
            elsewhere: false,
            made_elsewhere: false,
            of: &[],
        },
        Handle {
            name: "CUcontext",
            short: "context",
            number: false,
            bytes: 8,
            special: &[],
            elsewhere: false,
            made_elsewhere: false,
            of: &[],
        },
        Handle {
            name: "CUfunction",
            short: "function",
            number: false,
            bytes: 8,
            special: &[],
            elsewhere: false,
            made_elsewhere: false,
            of: &[],
        },
    ],
    tags: &[
        // By property.
        Tag { name: "property", rows: &[(1, DIM3), (2, I32), (3, CHAR)] },
        // Fields of attribute.value.
        Tag { name: "attribute.value", rows: &[(1, 0), (2, 1)] },
        Tag { name: "option", rows: &[(0, U32), (1, F32), (5, P_CHAR)] },
    ],
};

const CONFIG_12: &[Param] = &[
    f("gridDim", DIM3, 0, Rule::One),
    f("attrs", P_ATTRIBUTE, 12, Rule::Array(Count::Of(2))),
    f("numAttrs", U32, 20, Rule::One),
];
const CONFIG_13: &[Param] = &[
    f("gridDim", DIM3, 0, Rule::One),
    f("attrs", P_ATTRIBUTE, 12, Rule::Array(Count::Of(2))),
    f("numAttrs", U32, 20, Rule::One),
    f("priority", I32, 24, Rule::One),
];

/// A field.
const fn f(name: &'static str, ty: TypeId, offset: u16, rule: Rule) -> Param {
    Param { name, ty, word: 255, second: 255, offset, dir: Dir::In, rule, unit: Unit::None, written: Writes::Done }
}

macro_rules! numbers {
    ($($name:ident)*) => { numbers!(@ 0; $($name)*); };
    (@ $n:expr; $name:ident $($rest:ident)*) => {
        #[doc = concat!("Number of the type ", stringify!($name), ".")]
        pub const $name: TypeId = $n;
        numbers!(@ $n + 1; $($rest)*);
    };
    (@ $n:expr;) => {};
}
numbers! {
    VOID I32 U32 SIZE CHAR BOOL F32 F64 F16 BF16 KIND FLAGS RESULT STREAM DEVICE CONTEXT FUNCTION DPTR P_VOID PP_VOID
    P_CHAR PP_CHAR P_DPTR P_SIZE P_STREAM P_F32 DIM3 CONFIG P_CONFIG VALUE ATTRIBUTE P_ATTRIBUTE P_OPTION OPTION CODE
    UUID NAME16 NUMBERS4 P_I32 P_UUID P_CONTEXT ERROR MIXED P_MIXED P_PROPERTY PROPERTY NODE P_NODE
}

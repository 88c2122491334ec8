//! Names of values in the real `api/`: integers that are flags, modes, kinds have them, or somebody has decided
//! that there are none; and of several names a value has the one that is not deprecated.

use crate::interface::api_files::ApiFiles;
use crate::interface::functions::{self, FunctionRow};
use crate::interface::known::{Type, Unit};
use crate::interface::tables::Member;
use crate::interface::tables::Tables;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// How names of such integers end, in small letters.
const ENDINGS: [&str; 14] = [
    "flag",
    "flags",
    "mode",
    "type",
    "types",
    "attrib",
    "attribute",
    "kind",
    "format",
    "policy",
    "mask",
    "syncmode",
    "usage",
    "ordering",
];

/// Those that are numbers: `owner name`, with `*`.
const NUMBERS: &[&str] = &[
    // Permissions of a new file.
    "open* mode",
    // What each bit is stands in no header, or the header says itself that it is a mask of places or devices.
    "*LoggerSetMask mask",
    "cublasLtDisableCpuInstructionsSetMask mask",
    "cuDeviceGetLuid deviceNodeMask",
    "cudaDeviceProp luidDeviceNodeMask",
    "CUarrayMapInfo deviceBitMask",
    "nvmlClkMonFaultInfo_t clkDomainFaultMask",
    "nvmlGpuFabricInfo*_t healthMask",
    "nvmlMask255_t mask",
    "cufftXt1dFactors *Mask",
    "nvshmem*_team_* *_mask",
    "nvshmemx_team_init config_mask",
    "CUDA_BATCH_MEM_OP_NODE_PARAMS* flags",
    // Bits that an enum numbers.
    "CUfileDrvProps_t* *flags",
    // NVSHMEM's start: its flags are those of an enum whose bits are numbered too.
    "nvshmemid_hostlib_init_attr bootstrap_flags",
    "nvshmemx_buffer_register_symmetric* flags",
    // Lengths, truth values, numbers that the device or another library gives.
    "cusparse*bsrxmv sizeOfMask",
    "cusparse*csrcolor reordering",
    "nvmlAccountingStats*_t maxMemoryUsage",
    "nvmlVgpuInstanceGetFbUsage fbUsage",
    "npp* pMask",
    "npp* eInterpolationMode",
    "nvmlDeviceGetGspFirmwareMode defaultMode",
    "nvml*NvlinkBwMode nvlinkBwMode",
    "nvmlNvlink*BwMode* bwMode",
    "nvmlPlatformInfo_t peerType",
    "nvmlVgpuHeterogeneousMode_t mode",
    "nvmlVgpuPlacementList_t mode",
    "nvmlUnitGetTemperature type",
    "nvmlEventSetGetContextInfo_v1_t sourceEventContextType",
    "nvjpeg2kEncodeConfig_t mct_mode",
    "nvtiffImageInfo_t image_type",
    "cudaLibXtDesc subFormat",
    "cutensorCreateBlockSparseTensorDescriptor numSectionsPerMode",
    // A word in device memory that is 0 or 1, and numbers of a byte each.
    "ncclDevComm abortFlag",
    "ncclDevComm ginNetDeviceTypes",
];

fn is_number(tables: &Tables, member: &Member) -> bool {
    let ty = match tables.get(member.ty) {
        Type::Pointer(of, _) | Type::Array(of, _) => tables.get(of),
        ty => ty,
    };
    matches!(ty, Type::Int { .. })
}

/// Second names of values, by the headers' own notes deprecated or misspelt: none is printed.
const DEPRECATED: &[&str] = &[
    "CUDA_ARRAY3D_2DARRAY",
    "CU_CTX_BLOCKING_SYNC",
    "CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK",
    "CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES",
    "CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1",
    "CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED",
    "CU_DEVICE_P2P_ATTRIBUTE_ACCESS_ACCESS_SUPPORTED",
    "cudaDevAttrReserved96",
    "cudaDevAttrMaxTimelineSemaphoreInteropSupported",
    "CUBLAS_GEMM_DFALT",
    "CUBLAS_GEMM_DFALT_TENSOR_OP",
    "CUBLAS_OP_HERMITAN",
    "CUDNN_STATUS_VERSION_MISMATCH",
    "CUDNN_STATUS_ARCH_MISMATCH",
    "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_MAPPING_ERROR",
    "CUDNN_RESAMPLE_AVGPOOL",
    "CUSPARSE_MM_ALG_DEFAULT",
    "CUSPARSE_COOMM_ALG1",
    "CUSPARSE_COOMM_ALG2",
    "CUSPARSE_COOMM_ALG3",
    "CUSPARSE_CSRMM_ALG1",
    "CUSPARSE_MV_ALG_DEFAULT",
    "CUSPARSE_COOMV_ALG",
    "CUSPARSE_CSRMV_ALG1",
    "CUSPARSE_CSRMV_ALG2",
    "CUTENSOR_R_MIN_16F",
    "CUTENSOR_R_MIN_32F",
    "CUTENSOR_R_MIN_64F",
    "CUTENSOR_R_MIN_8U",
    "CUTENSOR_R_MIN_32U",
    "CUTENSOR_R_MIN_8I",
    "CUTENSOR_R_MIN_32I",
    "CUTENSOR_R_MIN_16BF",
    "CUTENSOR_C_MIN_TF32",
    "NVML_BRAND_NVIDIA_VGAMING",
    "NVML_GRID_LICENSE_FEATURE_CODE_VWORKSTATION",
    "NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED",
];

#[test]
fn no_deprecated_name_is_printed() {
    let (tables, _) = tables();
    let mut found = 0;
    for row in &tables.enums {
        for (n, (value, name)) in row.values.iter().enumerate() {
            if DEPRECATED.contains(&name.as_str()) {
                found += 1;
                assert!(n > 0 && row.values[n - 1].0 == *value, "{} prints {name}", row.name);
            }
        }
    }
    assert_eq!(found, DEPRECATED.len());
}

/// The tables of the real `api/`, and the functions of each family. They are read once for all tests.
pub(super) fn tables() -> &'static (Tables<'static>, Vec<Vec<FunctionRow>>) {
    static FILES: LazyLock<ApiFiles> = LazyLock::new(|| {
        let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api");
        ApiFiles::read(&api).unwrap()
    });
    static TABLES: LazyLock<(Tables<'static>, Vec<Vec<FunctionRow>>)> = LazyLock::new(|| {
        let mut tables = Tables::new(&FILES);
        let all = (0..FILES.families.len()).map(|n| functions::rows(&mut tables, n).unwrap()).collect();
        (tables, all)
    });
    &TABLES
}

#[test]
fn flags_have_names() {
    let (tables, all) = tables();
    let of_functions = all.iter().flatten().flat_map(|row| row.params.iter().map(|p| (&row.name, p)));
    let of_structs = tables.structs.iter().flat_map(|row| row.fields.iter().map(|f| (&row.name, f)));
    let (mut plain, mut zero) = (BTreeSet::new(), 0);
    for (owner, member) in of_functions.chain(of_structs).filter(|(_, m)| is_number(tables, m)) {
        let lower = member.name.to_lowercase();
        let text = format!("{owner} {}", member.name);
        let decided = NUMBERS.iter().any(|known| functions::matches(known, &text));
        zero += u32::from(member.unit == Unit::Zero);
        if ENDINGS.iter().any(|end| lower.ends_with(end)) && member.unit != Unit::Zero && !decided {
            plain.insert(text);
        }
    }
    assert!(plain.is_empty(), "give them a set or unit = \"zero\" in the overlay, or list them here: {plain:#?}");
    assert!(zero > 60, "{zero}");
}

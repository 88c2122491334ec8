//! NVRTC, nvJitLink and NVML: text buffers and versions.

use crate::support::library::{bytes, lines};

#[test]
fn nvrtc_and_nvml() {
    let nvrtc = lines("libnvrtc.so.12", |l| {
        let before: &[(u64, &[u8])] = &[(0x10, &0x100u64.to_le_bytes()), (0x100, b"-DX=1\0")];
        l.call("nvrtcCompileProgram", &[0xa0, 1, 0x10], before, &[]);
        l.call("nvrtcGetCUBIN", &[0xa0, 0x70000], &[], &[]);
        l.call("nvrtcDestroyProgram", &[0x20], &[(0x20, &0xa0u64.to_le_bytes())], &[]);
    });
    assert_eq!(
        nvrtc,
        [
            "nvrtcCompileProgram(prog=program#1, numOptions=1, options=[\"-DX=1\"]) = NVRTC_SUCCESS",
            "nvrtcGetCUBIN(prog=program#1, cubin=0x70000 [host]) = NVRTC_SUCCESS",
            "nvrtcDestroyProgram(prog=&program#1) = NVRTC_SUCCESS",
        ]
    );
    let mut value = vec![0u8; 40];
    value[0] = 91;
    let before = value.clone();
    value[24] = 1;
    value[32] = 18;
    let nvml = lines("libnvidia-ml.so.1", |l| {
        l.call("nvmlDeviceGetFieldValues", &[0xa0, 1, 0x10], &[(0x10, &before)], &[(0x10, &value)]);
    });
    assert_eq!(nvml.len(), 1);
    let field = "{fieldId=NVML_FI_DEV_NVLINK_LINK_COUNT, scopeId=0, timestamp=0, latencyUsec=0, \
        valueType=NVML_VALUE_TYPE_UNSIGNED_INT, nvmlReturn=NVML_SUCCESS, value={uiVal=18}}";
    assert!(nvml[0].contains(field), "{}", nvml[0]);
}

#[test]
fn nvjitlink() {
    let lines = lines("libnvJitLink.so.12", |l| {
        let pointers = bytes(&[0x100u64, 0x200].map(u64::to_le_bytes));
        let options: &[(u64, &[u8])] = &[(0x10, &pointers), (0x100, b"-arch=sm_90\0"), (0x200, b"-lto\0")];
        // The name that programs of 12.4 call.
        l.call("__nvJitLinkCreate_12_4", &[0x40, 2, 0x10], options, &[(0x40, &0xd0u64.to_le_bytes())]);
        l.call("__nvJitLinkAddData_12_9", &[0xd0, 2, 0x7_0000, 71, 0x30], &[(0x30, b"k.ptx\0")], &[]);
        l.call("__nvJitLinkDestroy_12_9", &[0x40], &[(0x40, &0xd0u64.to_le_bytes())], &[]);
    });
    assert_eq!(
        lines,
        [
            "__nvJitLinkCreate_12_4(handle=&linker#1, numOptions=2, options=[\"-arch=sm_90\", \"-lto\"]) = \
             NVJITLINK_SUCCESS",
            "__nvJitLinkAddData_12_9(handle=linker#1, inputType=NVJITLINK_INPUT_PTX, data=0x70000 [host], size=71, \
             name=\"k.ptx\") = NVJITLINK_SUCCESS",
            "__nvJitLinkDestroy_12_9(handle=&linker#1) = NVJITLINK_SUCCESS",
        ]
    );
}

//! The controls of RM that the driver sends, by the names of NVIDIA's headers. Their numbers and structs are in the
//! tables of `cutap-rm`.

/// A control by name.
pub(crate) type Control = &'static str;

pub(crate) const CLASS_LIST: Control = "NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2";
pub(crate) const GPU_ID: Control = "NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2";
pub(crate) const GPU_NAME: Control = "NV2080_CTRL_CMD_GPU_GET_NAME_STRING";
pub(crate) const GPU_UUID: Control = "NV2080_CTRL_CMD_GPU_GET_GID_INFO";
pub(crate) const ECC: Control = "NV2080_CTRL_CMD_GPU_QUERY_ECC_STATUS";
pub(crate) const MEMORY_INFO: Control = "NV2080_CTRL_CMD_FB_GET_INFO_V2";
pub(crate) const ARCHITECTURE: Control = "NV2080_CTRL_CMD_MC_GET_ARCH_INFO";
pub(crate) const PCI_INFO: Control = "NV2080_CTRL_CMD_BUS_GET_PCI_INFO";
pub(crate) const PCI_BARS: Control = "NV2080_CTRL_CMD_BUS_GET_PCI_BAR_INFO";
pub(crate) const COPY_ENGINES: Control = "NV2080_CTRL_CMD_CE_GET_ALL_CAPS";
pub(crate) const NVLINKS: Control = "NV2080_CTRL_CMD_NVLINK_GET_NVLINK_STATUS";
pub(crate) const GPC_MASK: Control = "NV2080_CTRL_CMD_GR_GET_GPC_MASK";
pub(crate) const TPC_MASK: Control = "NV2080_CTRL_CMD_GR_GET_TPC_MASK";
pub(crate) const SM_ORDER: Control = "NV2080_CTRL_CMD_GR_GET_GLOBAL_SM_ORDER";
pub(crate) const BOOST: Control = "NV2080_CTRL_CMD_PERF_BOOST";
pub(crate) const SUBMIT_TOKEN: Control = "NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN";
pub(crate) const SCHEDULE: Control = "NVA06F_CTRL_CMD_GPFIFO_SCHEDULE";
pub(crate) const MMU_FAULT: Control = "NV906F_CTRL_CMD_GET_MMU_FAULT_INFO";
pub(crate) const SM_ERRORS: Control = "NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES";

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_rm::Tables;

    /// Every release with tables that the driver may run on has them all, with a struct.
    #[test]
    fn each_control_is_in_the_tables() {
        let controls = [
            CLASS_LIST,
            GPU_ID,
            GPU_NAME,
            GPU_UUID,
            ECC,
            MEMORY_INFO,
            ARCHITECTURE,
            PCI_INFO,
            PCI_BARS,
            COPY_ENGINES,
            NVLINKS,
            GPC_MASK,
            TPC_MASK,
            SM_ORDER,
            BOOST,
            SUBMIT_TOKEN,
            SCHEDULE,
            MMU_FAULT,
            SM_ERRORS,
        ];
        for tables in Tables::all().filter(|tables| tables.release() != "256.35") {
            for name in controls {
                let control = tables.control_named(name);
                assert!(control.is_some_and(|control| control.params().is_some()), "{name} of {}", tables.release());
            }
        }
    }
}

//! Files of the driver other than its nodes.

use cutap_rm::Device;

/// The device number of the node of the unified memory driver; that of the others is fixed.
const UVM_MAJOR: u32 = 511;
/// What begins so is the driver's. What is not in the lists here does not exist.
const FOLDERS: [&str; 6] = [
    "/dev/nvidia",
    "/proc/driver/nvidia",
    "/sys/module/nvidia",
    "/sys/bus/pci/drivers/nvidia",
    "/dev/char/195:",
    "/dev/char/511:",
];

/// A file of the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    /// A node, with its device number.
    Node(u32, u32),
    Text(String),
    /// It does not exist.
    Absent,
}

/// The file at a path; none where the path is not the driver's.
pub fn file(path: &str, version: &str) -> Option<File> {
    let gpu = path.strip_prefix("/dev/nvidia").and_then(|number| number.parse().ok());
    match Device::of_path(path) {
        Some(Device::Control) => return Some(File::Node(195, 255)),
        Some(Device::Gpu) => return gpu.map(|number| File::Node(195, number)),
        Some(Device::Uvm) => return Some(File::Node(UVM_MAJOR, 0)),
        Some(Device::UvmTools) => return Some(File::Node(UVM_MAJOR, 1)),
        _ => {}
    }
    let text = match path {
        "/proc/driver/nvidia/version" => format!(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build\nGCC version:  gcc\n"
        ),
        "/proc/driver/nvidia/params" => PARAMS.to_owned(),
        "/sys/module/nvidia/initstate" | "/sys/module/nvidia_uvm/initstate" => "live\n".to_owned(),
        "/sys/module/nvidia/version" => format!("{version}\n"),
        "/proc/devices" => {
            format!("Character devices:\n195 nvidia\n195 nvidiactl\n{UVM_MAJOR} nvidia-uvm\n\nBlock devices:\n")
        }
        "/proc/modules" => "nvidia_uvm 0 0 - Live 0x0\nnvidia 0 1 nvidia_uvm, Live 0x0\n".to_owned(),
        _ => return FOLDERS.iter().any(|folder| path.starts_with(folder)).then_some(File::Absent),
    };
    Some(File::Text(text))
}

/// Of an H200: no node has to be made or changed.
const PARAMS: &str = "\
ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 1
DeviceFileUID: 0
DeviceFileGID: 0
DeviceFileMode: 438
InitializeSystemMemoryAllocations: 1
UsePageAttributeTable: 4294967295
EnableMSI: 1
EnablePCIeGen3: 0
MemoryPoolSize: 0
KMallocHeapMaxSize: 0
VMallocHeapMaxSize: 0
IgnoreMMIOCheck: 0
EnableStreamMemOPs: 0
EnableUserNUMAManagement: 1
NvLinkDisable: 0
RmProfilingAdminOnly: 1
PreserveVideoMemoryAllocations: 0
EnableS0ixPowerManagement: 0
S0ixPowerManagementVideoMemoryThreshold: 256
DynamicPowerManagement: 3
DynamicPowerManagementVideoMemoryThreshold: 200
RegisterPCIDriver: 1
EnablePCIERelaxedOrderingMode: 0
EnableResizableBar: 0
EnableGpuFirmware: 18
EnableGpuFirmwareLogs: 2
RmNvlinkBandwidthLinkCount: 0
EnableDbgBreakpoint: 0
OpenRmEnableUnsupportedGpus: 1
DmaRemapPeerMmio: 1
ImexChannelCount: 2048
CreateImexChannel0: 0
GrdmaPciTopoCheckOverride: 0
RegistryDwords: \"\"
RegistryDwordsPerDevice: \"\"
RmMsg: \"\"
GpuBlacklist: \"\"
TemporaryFilePath: \"\"
ExcludedGpus: \"\"
";

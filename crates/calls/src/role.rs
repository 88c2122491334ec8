//! The functions that cutap knows by name, each by what it does: `[[roles]]` of `api/behaviour.toml`.
//!
//! No other file of the workspace names a function of NVIDIA's; `cargo xtask tidy` checks it.

use crate::behaviour::plain;
use crate::generated::behaviour::{ROLE_PATTERNS, ROLES};
use crate::glob;

/// What a function does that its prototype does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Writes the address of a function.
    ProcAddress,
    /// Writes the address of a function and a status.
    ProcAddressStatus,
    /// Writes the address of an export table.
    ExportTable,
    /// Writes the address of an export table of NVML.
    NvmlExportTable,
    /// Starts the range that a profiler records.
    ProfilerStart,
    /// Ends that range.
    ProfilerStop,
    /// A runtime calls it only because cutap asks for reports of launches.
    KernelName,
    /// Writes a handle of a kernel, or of a kernel's function.
    KernelHandle,
    /// Writes the function of a kernel.
    KernelFunction,
    /// Writes a kernel that is no function.
    LibraryKernel,
    /// Unloads modules, or may end the context that they are in.
    EndsModules,
    /// Loads an image of code: its second argument.
    LoadsImage,
    /// Adds an image of code to those that are linked: its third argument.
    LinksImage,
    /// Loads an image of code from a file. The argument is the file's name.
    LoadsFile,
    /// Launches a kernel. The argument is its handle.
    LaunchesKernel,
    /// Launches something, and is a function of the driver.
    LaunchOfDriver,
    /// Launches a kernel, and has no argument with a handle of the driver.
    LaunchesReported,
    /// Reports of its calls have the kernel's name.
    ReportsKernel,
    /// Gives no work to a device.
    NeverSubmits,
    /// Launches an executable graph.
    LaunchesGraph,
    /// Makes an executable graph.
    InstantiatesGraph,
    /// Makes an empty graph.
    CreatesGraph,
    /// Makes a copy of a graph.
    ClonesGraph,
    /// Gives an executable graph the nodes of another graph.
    UpdatesGraph,
    /// Gives a node other parameters.
    ChangesNode,
    /// Adds a node to a graph, of any kind.
    MakesGraphNode,
    /// Makes a node in a capture, and its work is in no record of CUPTI.
    MakesNodeInCapture,
    /// Records an event in a stream.
    RecordsEvent,
    /// Makes a stream wait for an event.
    WaitsForEvent,
    /// Says whether the work of a stream or in front of an event has completed.
    AsksForEnd,
    /// Puts an operation into a stream in which several ranks take part.
    CollectiveWork,
    /// Sends to another rank: the rank's call of [`Role::ReceivesFromRank`] takes it.
    SendsToRank,
    ReceivesFromRank,
    /// One rank's data goes to all: several functions do the same.
    Broadcasts,
    /// Makes a communicator of ranks that pass one id.
    InitsCommunicator,
    /// Makes the communicators of all ranks, in one process.
    InitsAllCommunicators,
    /// Makes communicators of the ranks of another one that pass one color.
    SplitsCommunicator,
    /// Makes a communicator without some ranks of another one.
    ShrinksCommunicator,
    /// Makes a communicator with more ranks than another one.
    GrowsCommunicator,
    DestroysCommunicator,
    /// Ends a communicator and what it is doing.
    AbortsCommunicator,
    /// Writes the number of this rank.
    RankOfCommunicator,
    /// The collectives that follow are enqueued by the end of the group.
    BeginsCollectiveGroup,
    EndsCollectiveGroup,
    /// Launches a kernel, with the blocks of its grid in the words behind it.
    LaunchesGrid,
    /// Adds a node to a graph that may allocate or free memory.
    AddsNode,
    /// Creates a context on a device, which becomes the current one.
    CreatesContext,
    DestroysContext,
    /// Makes a context the current one and keeps the one before.
    PushesContext,
    /// Makes the context before the current one again.
    PopsContext,
    /// Sets or returns the current context.
    CurrentContext,
    /// Writes this thread's context.
    AsksCurrentContext,
    /// Returns its own status in a context in which the GPU had a fault.
    WorksAfterFault,
    /// Reports the fault of earlier work, beside the functions that block.
    ReportsFault,
    /// Starts work, and returns before it is done.
    Asynchronous,
    /// Returns the device of a context.
    DeviceOfContext,
    /// Retains the primary context of a device.
    RetainsPrimaryContext,
    /// Releases the primary context of a device.
    ReleasesPrimaryContext,
    /// Chooses the device of a runtime on this thread.
    SetsDevice,
    /// Returns the version of the driver.
    DriverVersion,
    /// Returns the version of the runtime.
    RuntimeVersion,
    /// Returns the runtime's last error.
    AsksLastError,
    /// Returns the runtime's last error and resets it.
    ForgetsLastError,
    /// Returns the runtime's last error and keeps it.
    PeeksLastError,
    /// Returns no error code.
    NoErrorCode,
    /// Code of the compiler calls it, and it returns an error code.
    StubErrorCode,
    /// Writes the name of a kernel.
    NameOfKernel,
    /// Writes the name of a kernel's function.
    NameOfFunction,
    /// Writes the name of the kernel of a stub.
    NameOfStub,
    /// Writes the kernel's function of a stub.
    FunctionOfStub,
    /// Writes where a parameter of a kernel is.
    ParameterOfKernel,
    /// Writes where a parameter of a kernel's function is.
    ParameterOfFunction,
    ReturnsText,
    /// Returns a number that is no status.
    ReturnsNumber,
    ReturnsNothing,
    /// Starts the driver.
    StartUp,
    /// Reads something that changes rarely, and costs little.
    Query,
    /// The compiler adds it to each launch: it keeps the configuration, or takes it and the kernel.
    CallConfiguration,
    /// Makes, changes or reads an object of a library, and gives the device nothing to do.
    SetsUp,
    /// Starts a library: makes the handle that its other calls need.
    StartsLibrary,
    /// Gives the device kernels to run.
    Launch,
    /// Copies memory.
    Copy,
    /// Fills memory.
    Fill,
    /// Copies memory, and may return before that is done.
    AsyncCopy,
    /// Fills memory, and returns before that is done.
    AsyncFill,
    /// Gives a stream a function of the program to call.
    HostFunction,
}

/// The roles of a function, each with the parameter that it is about. Roles of patterns are not among them.
///
/// A fact about a function holds for all its forms (`_v2`, `_ptds`, `_ptsz`); a fact about one form only for this one.
pub fn roles(name: &str) -> impl Iterator<Item = (Role, usize)> {
    let plain = plain(name);
    let unsuffixed = if plain.len() == name.len() { &[][..] } else { rows(plain) };
    rows(name).iter().chain(unsuffixed).map(|(_, role, argument)| (*role, usize::from(*argument)))
}

/// The rows of exactly this name.
fn rows(name: &str) -> &'static [(&'static str, Role, u8)] {
    let from = ROLES.partition_point(|(of, ..)| *of < name);
    let rows = ROLES.get(from..).unwrap_or(&[]);
    rows.get(..rows.iter().take_while(|(of, ..)| *of == name).count()).unwrap_or(&[])
}

/// Whether a function has a role.
pub fn has_role(name: &[u8], role: Role) -> bool {
    core::str::from_utf8(name).is_ok_and(|name| roles(name).any(|(has, _)| has == role) || fits(name, role))
}

fn fits(name: &str, role: Role) -> bool {
    // Patterns with `!` are first.
    let fitting = patterns_of(role).find(|pattern| glob(pattern.trim_start_matches('!').as_bytes(), name.as_bytes()));
    fitting.is_some_and(|pattern| !pattern.starts_with('!'))
}

/// The patterns of a role that is given by patterns of names.
pub fn patterns_of(role: Role) -> impl Iterator<Item = &'static str> {
    ROLE_PATTERNS.iter().filter(move |(_, has)| *has == role).map(|(pattern, _)| *pattern)
}

/// The parameter that a role of a function is about.
pub fn argument(name: &str, role: Role) -> Option<usize> {
    roles(name).find(|(has, _)| *has == role).map(|(_, argument)| argument)
}

/// The name of the function with a role that only one function has, or else of the first of them.
pub const fn function_with(role: Role) -> &'static str {
    let mut rest: &[(&str, Role, u8)] = ROLES;
    while let [(name, has, _), after @ ..] = rest {
        if *has as u8 == role as u8 {
            return name;
        }
        rest = after;
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert!(has_role(b"cuGetProcAddress_v2", Role::ProcAddress) && !has_role(b"cuInit", Role::ProcAddress));
        assert!(has_role(b"cuGetProcAddress_v2", Role::ProcAddressStatus));
        assert!(!has_role(b"cuGetProcAddress", Role::ProcAddressStatus));
        assert!(has_role(b"__cudaLaunchKernel_ptsz", Role::StubErrorCode));
        for role in [Role::KernelName, Role::KernelHandle, Role::KernelFunction] {
            assert!(has_role(b"cuKernelGetFunction", role), "{role:?}");
        }
    }

    #[test]
    fn arguments() {
        assert_eq!(argument("cuLaunchKernelEx_ptsz", Role::LaunchesKernel), Some(1));
        assert_eq!(argument("cuLaunchKernel", Role::LaunchesKernel), Some(0));
        assert_eq!(argument("cuLinkAddFile_v2", Role::LoadsFile), Some(2));
        assert_eq!(argument("cudaLaunchKernel", Role::LaunchesKernel), None);
    }

    #[test]
    fn patterns() {
        assert!(has_role(b"ncclGetErrorString", Role::ReturnsText));
        assert!(!has_role(b"cuGetErrorString", Role::ReturnsText) && !has_role(b"ncclGetVersion", Role::ReturnsText));
    }

    #[test]
    fn function_with_a_role() {
        const NAME: &str = function_with(Role::KernelFunction);
        assert_eq!(NAME, "cuKernelGetFunction");
    }
}

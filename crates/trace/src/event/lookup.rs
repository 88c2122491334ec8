//! A request for a function's address.

use super::function::Function;
use super::process::Thread;
use cutap_calls::{Role, function_with};
use cutap_wire::record::lookup;
use std::sync::Arc;

/// What a look-up was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Null,
    /// A function that we watch.
    Function(Arc<Function>),
    /// Something else, at this address.
    Address(u64),
}

/// Which function was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupKind {
    /// dlsym.
    Dlsym,
    /// dlvsym.
    Dlvsym,
    /// cuGetProcAddress with four arguments.
    GetProcAddress,
    /// cuGetProcAddress_v2.
    GetProcAddressV2,
    /// cuGetExportTable.
    GetExportTable,
    /// One that this version does not know.
    Other(u32),
}

impl LookupKind {
    pub(crate) fn new(which: u32) -> LookupKind {
        match which {
            lookup::DLSYM => LookupKind::Dlsym,
            lookup::DLVSYM => LookupKind::Dlvsym,
            lookup::GET_PROC_ADDRESS => LookupKind::GetProcAddress,
            lookup::GET_PROC_ADDRESS_V2 => LookupKind::GetProcAddressV2,
            lookup::GET_EXPORT_TABLE => LookupKind::GetExportTable,
            other => LookupKind::Other(other),
        }
    }
    /// Name of the function.
    pub fn word(self) -> &'static str {
        match self {
            LookupKind::Dlsym => "dlsym",
            LookupKind::Dlvsym => "dlvsym",
            LookupKind::GetProcAddress => const { function_with(Role::ProcAddress) },
            LookupKind::GetProcAddressV2 => const { function_with(Role::ProcAddressStatus) },
            LookupKind::GetExportTable => const { function_with(Role::ExportTable) },
            LookupKind::Other(_) => "unknown",
        }
    }
}

/// A dlsym, cuGetProcAddress or cuGetExportTable request.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// Who asks.
    pub thread: Arc<Thread>,
    /// When it was answered.
    pub ns: u64,
    /// Which function was asked.
    pub kind: LookupKind,
    /// What was asked for: a name, or a table's UUID.
    pub name: Box<str>,
    /// Handle of dlsym, or version asked for.
    pub handle: u64,
    /// Flags asked for, or the table's size.
    pub flags: u64,
    /// Return code, 0 for dlsym.
    pub code: i32,
    /// symbolStatus.
    pub symbol_status: u32,
    /// Object that asks, as far as its address tells.
    pub caller: Option<Arc<str>>,
    /// Return address in it.
    pub caller_address: u64,
    /// What was handed out.
    pub answer: Answer,
}

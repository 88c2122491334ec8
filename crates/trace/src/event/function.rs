//! A function that is called, and how its result register is read.

use super::described::Described;
use super::process::Instance;
use super::result::{Returned, Returns, undeclared_status};
use super::value::name_of;
use cutap_calls::Layer;
use cutap_calls::{INVALID_DEVICE_FUNCTION, Role, RoleSet, is_answer, known};
use cutap_wire::names::route;
use std::sync::Arc;

/// A function that is called.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Number of this function in the run; no two slots share one.
    pub key: u32,
    /// Its layer.
    pub layer: Layer,
    /// SONAME or file name of its library.
    pub library: Arc<str>,
    /// Its exported name, or the name that the runtime's own table has.
    pub name: Arc<str>,
    /// The name for people, when the exported one is a mangled C++ name.
    pub demangled: Option<Arc<str>>,
    /// The runtime instance that it belongs to, for a function that a callback reports.
    pub instance: Option<Arc<Instance>>,
    /// Only its beginning is recorded: it is jumped to, and nobody sees it return.
    pub entry_only: bool,
    /// It is no function: it has the name of a range or a mark of the program.
    pub range: Option<RangeMoment>,
    /// What its result register means.
    pub returns: Returns,
    /// Facts about its calls that follow from its name alone.
    pub by_name: ByName,
    /// What is known of its arguments.
    pub described: Option<Described>,
    /// Its roles in `api/behaviour.toml`.
    pub roles: RoleSet,
    /// Why its calls may wait for a device.
    pub blocks: Option<&'static str>,
    /// It hands out what is there already, and makes nothing.
    pub hands_out: bool,
}

/// The name of the end of a range whose start was not recorded.
pub const NAMELESS_END: &str = "(end of a range)";

/// What a call of the layer `nvtx` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeMoment {
    /// A range of a thread, from its push to its pop.
    Range,
    /// A mark.
    Mark,
    /// The start of a range that may end in another thread. Its last word is the range's id.
    Start,
    /// The end of such a range. Its only word is the range's id.
    End,
}

impl RangeMoment {
    /// By the route in the name of a slot.
    pub fn of_route(route: u8) -> Option<RangeMoment> {
        match route {
            route::NVTX_RANGE => Some(RangeMoment::Range),
            route::NVTX_MARK => Some(RangeMoment::Mark),
            route::NVTX_START => Some(RangeMoment::Start),
            route::NVTX_END => Some(RangeMoment::End),
            _ => None,
        }
    }
}

/// Facts about the calls of a function that follow from its name alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByName {
    /// Its role for the device that a thread works with.
    pub device: Option<Role>,
    /// Its role for memory of graphs.
    pub graph: Option<Role>,
    /// It ends a context.
    pub resets: bool,
}

impl Function {
    /// The name for people.
    pub fn display_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// Reads a result register.
    pub fn returned(&self, result: u64) -> Returned {
        let value = |v| if v < 1 << 32 { Returned::Number(v) } else { Returned::Word(v) };
        match self.returns {
            Returns::Nothing => Returned::Nothing,
            Returns::Value if self.instance.is_some() => Returned::Unreported,
            Returns::Elsewhere => Returned::Unreported,
            Returns::Value => value(result),
            Returns::Status if self.layer == Layer::LIBRARY && self.described.is_none() => match result >> 32 {
                0 | 0xffff_ffff => Returned::Status(result as i32),
                _ => Returned::Word(result),
            },
            // The upper half of the register is not part of an int.
            Returns::Status => Returned::Status(result as i32),
        }
    }

    /// The status that this result is, if that is what it returns.
    pub fn status(&self, result: u64) -> Option<i32> {
        match self.returned(result) {
            Returned::Status(status) => Some(status),
            _ => None,
        }
    }

    /// Whether a call that returned this status has failed: it is neither 0 nor an answer.
    pub fn is_failure(&self, status: i32) -> bool {
        status != 0 && !is_answer(&self.name, self.status_name(status))
    }

    /// A runtime that says there is no such kernel has named none either: before 12.9 it passes on whatever lay in the
    /// place of the name, often the name of the launch before.
    pub(crate) fn has_named_none(&self, status: Option<i32>) -> bool {
        self.layer == Layer::RUNTIME && status == Some(INVALID_DEVICE_FUNCTION as i32)
    }

    /// Name of a status of this function.
    pub fn status_name(&self, status: i32) -> Option<&'static str> {
        let Some(described) = self.described else {
            return undeclared_status(self.layer, &self.name, status);
        };
        match *described.tables.types.get(usize::from(described.function.returns))? {
            known::Type::Status(of) => name_of(described.tables.enums.get(usize::from(of))?, status.into()),
            _ => None,
        }
    }

    /// Its parameters, if they are known.
    pub fn params(&self) -> &'static [known::Param] {
        self.described.map_or(&[], |d| d.function.params)
    }
}

//! A call between its enter record and its end.

use crate::decode::plain::plain_inputs;
use crate::event::Call;
use crate::event::value::Value;
use crate::filter::Tests;
use std::sync::Arc;

/// A call that has begun, with what a sink keeps of it.
#[derive(Debug, Clone)]
pub struct OpenCall<D> {
    /// Its number in the ring.
    pub number: u32,
    /// The slot of its function.
    pub slot: u32,
    /// When it began.
    pub ticks: u64,
    pub visibility: Visibility,
    /// The terms `under:` of the filter that it and calls inside it fulfil.
    pub ancestor_bits: u64,
    /// The filter leaves it out by its arguments, or a call around it, with all calls inside.
    pub is_excluded: bool,
    /// It is a range of NVTX, which a pop ends.
    pub is_range: bool,
    /// The kernel that it launches, as its handle, a note or a call around it names it.
    pub kernel: Option<Arc<str>>,
    /// With its arguments; none when neither the sink nor the filter needs them.
    pub call: Option<Call>,
    /// What the filter has to know of it; none when the filter asks for no arguments.
    pub argument_check: Option<Box<ArgumentCheck>>,
    /// What the sink keeps.
    pub data: D,
}

/// Whether a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// It is, from its beginning on.
    Shown,
    /// Its end decides.
    DecideAtExit,
    /// The filter left it out.
    Hidden,
}

/// A call for a filter that asks for arguments.
#[derive(Debug, Clone, Default)]
pub struct ArgumentCheck {
    /// What its arguments have to fulfil.
    pub tests: Option<Arc<Tests>>,
    /// Its arguments with its kernel's parameters, where a driver call made them known.
    pub inputs: Option<Box<[Value]>>,
}

impl ArgumentCheck {
    /// The arguments as far as they are known.
    pub fn inputs(&self, call: &Call) -> std::borrow::Cow<'_, [Value]> {
        match &self.inputs {
            Some(inputs) => inputs.as_ref().into(),
            None => plain_inputs(call, None).into_vec().into(),
        }
    }
}

//! The interface between the pairer and the users of its calls: what a sink gets when a call begins and when it ends.

use super::call_stack::CallStack;
use super::open_call::{OpenCall, Visibility};
use super::shared::Shared;
use crate::event::{Call, Exit, State, Thread};
use crate::filter::time_window::Moment;
use crate::symbols::functions::ResolvedFunction;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::python::PythonFrames;
use cutap_wire::record::{self, Fragments, Output, Words};
use cutap_wire::rows::Row;
use cutap_wire::stack::StackPiece;
use std::fmt::Debug;
use std::sync::Arc;

/// The process whose ring is read, and what all rings share.
#[derive(Debug)]
pub struct Context<'a> {
    pub process: &'a mut ProcessSymbols,
    pub shared: &'a mut Shared,
}

impl Context<'_> {
    /// Where a moment of a ring is in the window of the filter.
    #[inline(always)]
    pub fn moment(&self, ticks: u64) -> Moment {
        let window = self.shared.resolver.filter.window.as_ref();
        window.map_or(Moment::Inside, |window| window.place(self.process.dir.ns(&self.shared.clock, ticks)))
    }

    /// The slot of a call: for a range or a mark of NVTX, that of its name, which stands in its record.
    #[inline(always)]
    pub fn named_slot(&mut self, slot: u32, words: Words<'_>) -> u32 {
        match self.resolve(slot) {
            Some(resolved) if resolved.function.range.is_some() => {
                let (object, (head, mut pieces)) = (resolved.object as u32, words.split(resolved.words));
                let name = pieces.next().map_or(&[][..], |piece| piece.bytes);
                if let (Some(schema), Some(kind)) = (head.get(0), head.get(1))
                    && self.process.names.payloads.lacks(object, schema, kind)
                {
                    self.process.read_new_names();
                }
                self.process.names.range_slot(slot, name)
            }
            _ => slot,
        }
    }

    /// The function of a slot. `None`: there is none, and the record that names it makes no sense.
    #[inline(always)]
    pub fn resolve(&mut self, slot: u32) -> Option<&ResolvedFunction> {
        self.process.resolve(&mut self.shared.resolver, slot, self.shared.live)
    }
}

/// What becomes of the calls of a ring. Times are the sink's own: one that makes no events needs none.
pub trait Sink: Sized {
    /// What it keeps of an open call.
    type Data: Debug + Clone;

    /// It wants the end of a call as an event.
    const WANTS_EXITS: bool;

    /// It wants to know which object makes each outermost call.
    fn wants_callers(&self) -> bool {
        false
    }

    /// It needs this call of this function with its arguments, also where the filter does not ask for them.
    fn needs_arguments(&self, resolved: &ResolvedFunction, number: u32, stack: &CallStack<Self::Data>) -> bool;

    /// An enter record comes next: its time.
    fn enter_time(&mut self, _stack: &CallStack<Self::Data>, _ticks: u64, _context: &Context<'_>) -> u64 {
        0
    }

    /// The exit record of the call of this number comes next: its time.
    fn exit_time(
        &mut self,
        _stack: &mut CallStack<Self::Data>,
        _number: u32,
        _ticks: u64,
        _context: &mut Context<'_>,
    ) -> u64 {
        0
    }

    /// A record says that a call was left.
    fn unwound_time(&mut self, _ticks: u64, _context: &Context<'_>) {}

    /// Time of the last record.
    fn last_time(&self) -> u64 {
        0
    }

    /// A call begins inside the open ones.
    fn enter(&mut self, stack: &CallStack<Self::Data>, new: &NewCall<'_>) -> Self::Data;

    /// More is known of an open call.
    fn facts_changed(&mut self, _open: &OpenCall<Self::Data>) {}

    /// What has begun has no end.
    fn entry_only(&mut self, _new: &NewCall<'_>, _data: Self::Data) {}

    /// A call has ended, and is not on the stack any more. Nor are those of `ended_parents`, which ended with it and
    /// come next: the calls around it, the innermost first.
    fn exit(
        &mut self,
        ring: &mut RingState<'_, Self::Data>,
        call: CallOutcome<'_, Self::Data>,
        context: &mut Context<'_>,
    );

    /// A look-up was answered.
    fn lookup(&mut self, _lookup: &record::Lookup<'_>, _thread: &Arc<Thread>, _context: &mut Context<'_>) {}

    /// A row of GPU time.
    fn row(&mut self, _row: &Row, _ticks: u64, _context: &mut Context<'_>) {}

    /// A piece of the stack that an open call was made on.
    fn stack_piece(&mut self, _open: &mut OpenCall<Self::Data>, _piece: &StackPiece<'_>, _context: &mut Context<'_>) {}

    /// The Python frames that a call was made from.
    fn python_frames(
        &mut self,
        _open: &mut OpenCall<Self::Data>,
        _frames: &PythonFrames<'_>,
        _context: &mut Context<'_>,
    ) {
    }
}

/// A call that begins.
#[derive(Debug)]
pub struct NewCall<'a> {
    /// Its number in the ring.
    pub number: u32,
    pub resolved: &'a ResolvedFunction,
    pub thread: &'a Arc<Thread>,
    /// With its arguments, where somebody needs them.
    pub call: Option<&'a Call>,
    pub visibility: Visibility,
    /// The object that makes it; only of an outermost call, for a sink that wants callers.
    pub from: Option<Arc<str>>,
}

/// A call that has ended.
#[derive(Debug)]
pub struct CallOutcome<'a, D> {
    pub open: &'a mut OpenCall<D>,
    pub end: &'a CallEnd<'a>,
    /// Its end as an event, where the sink wants one and the call was kept with its arguments.
    pub exit: &'a mut Option<Box<Exit>>,
    pub is_shown: bool,
    /// It was shown as unwound before.
    pub late: bool,
    /// How long it took; none where no record tells when it ended.
    pub took_ns: Option<u64>,
}

/// The ring in which a call has ended.
#[derive(Debug)]
pub struct RingState<'a, D> {
    pub stack: &'a mut CallStack<D>,
    pub ended_parents: &'a mut [OpenCall<D>],
    pub thread: &'a Arc<Thread>,
}

/// How a call ended, as its record says.
#[derive(Debug)]
pub struct CallEnd<'a> {
    pub state: State,
    /// When, in nanoseconds; of a call without an end when the last record was made.
    pub ns: u64,
    /// When, in ticks; none where no record says it.
    pub ticks: Option<u64>,
    pub result: u64,
    /// It was abandoned before.
    pub late: bool,
    /// Memory that was kept after the call.
    pub memory: Option<(Fragments<'a>, Option<Output>)>,
}

impl CallEnd<'_> {
    pub fn without_return(state: State, ns: u64, ticks: Option<u64>) -> CallEnd<'static> {
        CallEnd { state, ns, ticks, result: 0, late: false, memory: None }
    }
}

//! Calls: their arguments as words and as values, what is learned of them, and how they end.

use super::function::Function;
use super::gpu_row::GpuWork;
use super::pieces::Pieces;
use super::process::{Instance, Thread};
use super::result::Returned;
use super::value::{Text, Value};
use cutap_calls::Layer;
use cutap_calls::known::Memory;
use cutap_stacks::Stack;
use cutap_wire::record::{Fragments, Output, note};
use std::ops::Deref;
use std::sync::Arc;

/// Argument words. Six or fewer cost no memory of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Args {
    /// So many words of this array.
    Few(u8, [u64; 6]),
    /// More.
    Many(Box<[u64]>),
}

impl Args {
    /// What a call left behind: fragments, or one small output, whose address is the argument that it was written to.
    fn memory(&self, memory: Fragments<'_>, output: Option<Output>) -> Box<[u8]> {
        match output {
            Some(output) => {
                let address = self.words().get(usize::from(output.word)).copied().unwrap_or(0);
                Box::new(output.fragment(address))
            }
            None => memory.bytes().into(),
        }
    }
    /// The words.
    pub fn words(&self) -> &[u64] {
        match self {
            Args::Few(n, words) => &words[..usize::from(*n).min(6)],
            Args::Many(words) => words,
        }
    }
    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Args::Few(n, words) => &mut words[..usize::from(*n).min(6)],
            Args::Many(words) => words,
        }
    }
}

impl From<cutap_wire::record::Words<'_>> for Args {
    fn from(words: cutap_wire::record::Words<'_>) -> Args {
        if words.len() > 6 {
            return Args::Many(words.iter().collect());
        }
        let mut few = [0; 6];
        for (to, from) in few.iter_mut().zip(words.iter()) {
            *to = from;
        }
        Args::Few(words.len() as u8, few)
    }
}

/// What the enter record of a call says. It never changes, so all values of the call share it.
#[derive(Debug)]
pub struct CallStart {
    /// Who calls.
    pub thread: Arc<Thread>,
    /// What is called.
    pub function: Arc<Function>,
    /// How many calls that are shown it is made from.
    pub depth: u32,
    /// Which of the calls of its ring it is.
    pub(crate) number: u32,
    /// When, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The same in ticks of its process.
    pub(crate) ticks: u64,
    /// Return address in the caller.
    pub caller: u64,
    /// The library that the address lies in; only of hidden functions.
    pub caller_library: Option<Arc<str>>,
    /// Argument words.
    pub args: Args,
    /// Memory that was kept before the call, as `cutap_wire::record::Fragments` has it.
    pub(crate) memory: Box<[u8]>,
    /// The call that it was made from; only of those that take a kernel's parameters, and of the layer `syscall`.
    pub(crate) parent: Option<Box<Call>>,
    /// The kernel, if a handle names it, and the instance of the runtime, if that of its library is known.
    pub(crate) kernel: Option<Arc<str>>,
    pub(crate) instance: Option<Arc<Instance>>,
}

/// What is known of a call. Facts that become known while it is open come with another value of the same call, in
/// an [`super::Event::Updated`] or in its [`Exit`]. A copy is cheap, because it shares the parts.
#[derive(Debug, Clone)]
pub struct Call {
    start: Arc<CallStart>,
    /// Known when the call is delivered; none before that, and of a function without a description.
    pub(crate) inputs: Option<Arc<[Value]>>,
    rare: Option<Arc<RareFacts>>,
}

/// Facts that few calls have.
#[derive(Debug, Clone, Default)]
pub(crate) struct RareFacts {
    pub kernel: Option<Arc<str>>,
    pub instance: Option<Arc<Instance>>,
    pub effective_args: Option<Arc<[Value]>>,
    pub driver_args: Option<DriverArgs>,
    pub hook_effects: Vec<HookEffect>,
    pub further_words: Vec<FurtherWord>,
    pub stack: Option<Arc<Stack>>,
    pub pieces: Option<Box<Pieces>>,
}

impl Deref for Call {
    type Target = CallStart;
    fn deref(&self) -> &CallStart {
        &self.start
    }
}

impl Call {
    /// A call that begins.
    pub(crate) fn new(start: CallStart) -> Call {
        Call { start: Arc::new(start), inputs: None, rare: None }
    }
    /// The facts that few calls have, to add one.
    pub(crate) fn rare_mut(&mut self) -> &mut RareFacts {
        Arc::make_mut(self.rare.get_or_insert_default())
    }
    /// Its number in the ring of its thread.
    pub fn number(&self) -> u32 {
        self.number
    }
    /// Tells it from all other calls of its process.
    pub(crate) fn key(&self) -> (u32, u32) {
        (self.thread.key, self.number)
    }
    /// Whether both are values of one call.
    pub fn is_same_call(&self, other: &Call) -> bool {
        self.key() == other.key()
    }
    /// The arguments as they were before the call, one for each parameter; empty when nothing is known
    /// of the function. A pointer to what the call writes is an address here.
    pub fn inputs(&self) -> &[Value] {
        self.inputs.as_deref().unwrap_or(&[])
    }
    /// The arguments that the function was given: those of the program, but for what hooks changed. Whole when the call
    /// has ended.
    pub fn effective_args(&self) -> &[Value] {
        self.rare.as_ref().and_then(|rare| rare.effective_args.as_deref()).unwrap_or(self.inputs())
    }
    /// Its words, where hooks changed some.
    pub(crate) fn hook_changed_args(&self) -> Option<Args> {
        let rare = self.rare.as_ref()?;
        let mut changed = rare.hook_effects.iter().filter_map(|h| match h.action {
            HookAction::Argument(n, value) => Some((n, 0, value)),
            _ => None,
        });
        let first = changed.next()?;
        let described = self.function.described?;
        let mut args = self.args.clone();
        let all = std::iter::once(first).chain(changed).chain(rare.further_words.iter().copied());
        all.for_each(|(n, word, value)| described.change(args.words_mut(), n, word, value));
        Some(args)
    }
    /// What it left behind, as its record has it.
    pub(crate) fn memory_after(&self, memory: Fragments<'_>, output: Option<Output>) -> Box<[u8]> {
        self.hook_changed_args().as_ref().unwrap_or(&self.args).memory(memory, output)
    }
    /// What the driver was given for this call of a runtime: the kernel's parameters. Known as soon as the driver is
    /// called.
    pub fn driver_args(&self) -> Option<&DriverArgs> {
        self.rare.as_ref()?.driver_args.as_ref()
    }
    /// Demangled name of the kernel that it launches. May become known a little after its beginning.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        self.start.kernel.as_ref().or_else(|| self.rare.as_ref()?.kernel.as_ref())
    }
    /// The stack that it was made on, if that was kept. May become known a little after its beginning, and before
    /// anything that it calls.
    pub fn stack(&self) -> Option<&Stack> {
        self.rare.as_ref()?.stack.as_deref()
    }
    /// What was kept of a call of the layers `syscall` and `submit` beside its words. Whole when the call has ended.
    pub fn pieces(&self) -> Pieces {
        self.rare.as_ref().and_then(|rare| rare.pieces.as_deref()).cloned().unwrap_or_default()
    }
    /// The call that a call of the layers `syscall` and `submit` was made from.
    pub fn enclosing_call(&self) -> Option<&Call> {
        self.parent.as_deref().filter(|_| matches!(self.function.layer, Layer::SYSCALL | Layer::SUBMIT))
    }
    /// What hooks did to it. Whole when the call has ended.
    pub fn hook_effects(&self) -> &[HookEffect] {
        self.rare.as_ref().map_or(&[], |rare| &rare.hook_effects)
    }
    /// True when a hook wrote what this parameter leads to: that is what the program was told, and not what the
    /// function made.
    pub fn is_written_by_hook(&self, parameter: usize) -> bool {
        self.hook_effects().iter().any(|h| matches!(h.action, HookAction::Output(of, _) if of == parameter))
    }
    /// The runtime instance that it went to. May become known a little after its beginning.
    pub fn instance(&self) -> Option<&Arc<Instance>> {
        let at_start = self.function.instance.as_ref().or(self.start.instance.as_ref());
        at_start.or_else(|| self.rare.as_ref()?.instance.as_ref())
    }
    /// Version of that instance.
    pub fn runtime_version(&self) -> Option<&str> {
        self.instance()?.version.as_deref()
    }
}

/// Of a large argument that a hook changed, what is behind its first eight bytes: parameter, word, value.
pub(crate) type FurtherWord = (usize, usize, u64);

/// Something that a hook did to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEffect {
    /// File name of the hook library; of a rule of `--inject`, its text.
    pub hook: Arc<str>,
    /// What.
    pub action: HookAction,
}

/// What a hook did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// A rule of `--inject` acted. What it changed follows.
    Rule,
    /// It answered, and the function was not called.
    Answer,
    /// It gave this parameter another value; of a large one, its first eight bytes.
    Argument(usize, u64),
    /// It changed the result, which was this.
    Result(u64),
    /// It wrote what this parameter leads to: these bytes, of more the first eight.
    Output(usize, u64),
}

impl HookAction {
    /// What a note says that a hook did.
    pub(crate) fn of_note(code: u64, value: u64) -> Option<HookAction> {
        match code & 0xff {
            note::HOOK_ANSWER => Some(HookAction::Answer),
            note::HOOK_ARGUMENT => Some(HookAction::Argument((code >> 16) as usize, value)),
            note::HOOK_RESULT => Some(HookAction::Result(value)),
            note::HOOK_OUTPUT => Some(HookAction::Output((code >> 16) as usize, value)),
            _ => None,
        }
    }
}

/// What a driver's call tells of addresses that a runtime passed on to it: kernels' parameters, memory of the host.
#[derive(Debug, Clone)]
pub struct DriverArgs(pub(crate) Arc<[(u64, Value)]>);

impl DriverArgs {
    /// What there is to say in the place of this address.
    pub fn value_at(&self, value: &Value) -> Option<&Value> {
        let Value::Address(at, place) = value else { return None };
        let nothing_known = place.as_ref().is_none_or(|place| place.memory == Memory::Unknown);
        self.0.iter().find(|(address, _)| address == at && nothing_known).map(|(_, value)| value)
    }

    /// Whether a value has an address in it of which there is something to say.
    pub fn has_value_in(&self, value: &Value) -> bool {
        match value {
            Value::Pointee(_, to) => self.has_value_in(to),
            Value::Struct(fields) => fields.values.iter().any(|(_, value)| self.has_value_in(value)),
            Value::Array(items) => items.values.iter().any(|value| self.has_value_in(value)),
            other => self.value_at(other).is_some(),
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It returned.
    Returned,
    /// It was left by an exception, longjmp or the end of its thread.
    Unwound,
    /// It never ended.
    Unfinished,
}

impl State {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Returned => "done",
            State::Unwound => "unwound",
            State::Unfinished => "unfinished",
        }
    }
}

/// The end of a call.
#[derive(Debug, Clone)]
pub struct Exit {
    /// Which call.
    pub call: Call,
    /// How.
    pub state: State,
    /// When it is known to have ended, or was last seen running.
    pub end_ns: u64,
    /// How long it took, if it returned.
    pub duration_ns: Option<u64>,
    /// The result register, 0 unless it returned.
    pub result: u64,
    /// It was handed out as unwound before, and returned after all (fibres do that).
    pub late: bool,
    /// Memory that was kept after the call.
    pub(crate) memory: Box<[u8]>,
    /// What the call wrote: parameters by their number.
    pub outputs: Box<[(u8, Value)]>,
    /// The result, when it is no status and its type is known.
    pub value: Option<Box<Value>>,
    /// What it has added to logs to which no argument leads.
    pub logs: Box<[Log]>,
    /// What the GPU did for it and the calls inside it, in a run with GPU time.
    pub gpu: Option<GpuWork>,
}

/// Text that a call has added to a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// What the log is called: `info_log`, `error_log`.
    pub name: &'static str,
    /// The text.
    pub text: Text,
}

impl Exit {
    /// A call that did not return.
    pub(crate) fn without_return(call: Call, state: State, end_ns: u64) -> Exit {
        let (memory, outputs, logs) = (Box::default(), Box::default(), Box::default());
        Exit {
            call,
            state,
            end_ns,
            duration_ns: None,
            result: 0,
            late: false,
            memory,
            outputs,
            value: None,
            logs,
            gpu: None,
        }
    }

    /// How long it took; of a call that never ended, how long it was open until the end of the run. None if it was left
    /// by an exception or the end of its thread.
    pub fn took_ns(&self) -> Option<u64> {
        let open = || (self.state == State::Unfinished).then(|| self.end_ns.saturating_sub(self.call.start_ns));
        self.duration_ns.or_else(open)
    }

    /// The argument of this number as it was after the call, if the call wrote it.
    pub fn output(&self, n: usize) -> Option<&Value> {
        self.outputs.iter().find(|(of, _)| usize::from(*of) == n).map(|(_, value)| value)
    }

    /// Name of the status that it returned.
    pub fn status_name(&self) -> Option<&'static str> {
        let Some(Returned::Status(status)) = self.returned() else { return None };
        self.call.function.status_name(status)
    }
    /// The result as its function means it; `None` unless it returned.
    pub fn returned(&self) -> Option<Returned> {
        (self.state == State::Returned).then(|| self.call.function.returned(self.result))
    }
    /// The kernel that was launched.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        let status = match self.returned() {
            Some(Returned::Status(status)) => Some(status),
            _ => None,
        };
        self.call.kernel().filter(|_| !self.call.function.has_named_none(status))
    }
    /// Whether it has failed: see [`Function::is_failure`].
    pub fn is_error(&self) -> bool {
        matches!(self.returned(), Some(Returned::Status(n)) if self.call.function.is_failure(n))
    }
    /// True if the function itself returned a status other than 0, whatever a hook returned to the program. Of a call
    /// that a hook answered, the hook's answer counts.
    pub fn has_failed(&self) -> bool {
        let hooked = self.call.hook_effects();
        let answered = hooked.iter().any(|h| h.action == HookAction::Answer);
        // The first hook that changed it found the function's.
        let was = hooked.iter().find_map(|h| match h.action {
            HookAction::Result(was) if !answered => Some(was),
            _ => None,
        });
        let result = was.unwrap_or(self.result);
        self.state == State::Returned && matches!(self.call.function.returned(result), Returned::Status(n) if n != 0)
    }
}

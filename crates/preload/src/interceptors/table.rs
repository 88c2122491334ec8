//! The interceptors, each declared once: which functions have it, and what it does around a call. `call` runs those of
//! a slot in this order before the call, and in the opposite order after it. An interceptor may change arguments,
//! answer without calling, or change the result. Recording is the first: it has the program's own arguments, and the
//! result that the program receives.

use super::recording;
use crate::capture::{call_stack, handles, ioctl, loaded_file};
use crate::nvtx::ranges;
use crate::process::{capture_windows, captures, injection, run, switch};
use crate::python::{self, backward};
use crate::rewrite::injection_path;
use crate::routes::{export_table, hidden, proc_address};
use crate::runtime::{instances, own_calls};
use crate::slots::extension::extension;
use crate::slots::frame::Frame;
use crate::slots::interceptors::{
    Candidate, IMAGE, IMAGE_FIRST, IMAGES, INJECTION_PATH, KERNEL, NODE_MADE, NODE_RUNS, PASS_BEGINS, PROFILES,
    PROFILES_ALONE, PYTHON, RECORD, SELF_INDUCED, STACK, SUBMIT, is_self_induced_name,
};
use crate::slots::slot::Slot;
use cutap_calls::hidden::SlotName;
use cutap_calls::{Layer, Role, argument, begins_capture, ends_capture, has_role};
use cutap_wire::control;

/// How many there can be: a bit each of `Slot::interceptors`.
const MOST: usize = u32::BITS as usize;

pub struct Interceptor {
    /// Whether a function has it.
    condition: fn(&Candidate) -> bool,
    pub action: Action,
}

/// What an interceptor does.
pub enum Action {
    /// Before the call, where false says that it was answered; and after it.
    Around(fn(&mut Frame) -> bool, fn(&mut Frame)),
    /// Before the call.
    Before(fn(&mut Frame)),
    /// After it.
    After(fn(&mut Frame)),
    /// With the arguments that the function gets, also where hooks have changed them.
    Inputs(fn(&[u64; 6])),
    /// With the function's name, its arguments and its result.
    Results(fn(&[u8], &[u64; 6], u64)),
    /// Recording asks for the bit.
    Mark,
}

const fn row(condition: fn(&Candidate) -> bool, action: Action) -> Interceptor {
    Interceptor { condition, action }
}

/// By bit.
const TABLE: &[Interceptor] = &[
    row(|of| of.is_recorded, Action::Around(recording::before, recording::after)),
    row(submits, Action::Around(extended, extended_after)),
    row(|of| has(of, Role::ProcAddress), Action::After(proc_address::after)),
    row(gives_export_tables, Action::After(export_table::after)),
    row(may_be_self_induced, Action::Mark),
    row(|of| has(of, Role::KernelHandle), Action::Results(handles::record_kernel_handle)),
    row(|of| has(of, Role::EndsModules), Action::Before(|_| handles::unload())),
    row(|of| has(of, Role::LoadsImage) || is_slot_of_image(of, IMAGE), Action::Inputs(handles::image)),
    row(|of| is_slot_of_image(of, IMAGE_FIRST), Action::Inputs(handles::image_first)),
    row(|of| has(of, Role::ProfilerStart) && has_range(), Action::After(|_| range(true))),
    row(|of| has(of, Role::ProfilerStop) && has_range(), Action::After(|_| range(false))),
    // Not before recording: it needs the call's number.
    row(keeps_stack, Action::Before(call_stack::before)),
    // The same; and its pieces precede the call's end.
    row(|of| of.layer == Layer::SYSCALL.number(), Action::Around(ioctl::before, ioctl::after)),
    row(|of| has(of, Role::LinksImage), Action::Inputs(handles::linked)),
    row(|of| file_argument(of) == Some(1), Action::Inputs(|[_, name, ..]| loaded_file::named(*name))),
    row(|of| file_argument(of) == Some(2), Action::Inputs(|[_, _, name, ..]| loaded_file::named(*name))),
    // Slots of these two are made for them alone (`rewrite::profiler`).
    row(|_| false, Action::Before(|_| injection::program_profiles(false))),
    row(|_| false, Action::Before(|_| injection::program_profiles(true))),
    row(asks_for_injection, Action::Around(injection_path::answer, |_| ())),
    row(|of| is_drivers(of) && is(of, begins_capture), Action::After(capture_began)),
    row(|of| is_drivers(of) && is(of, ends_capture), Action::After(|_| capture_ended())),
    // Behind the pieces of the stack: a reader puts both together.
    row(keeps_python, Action::Before(python::before)),
    // Slots of these three are made for them alone (`rewrite::autograd`).
    row(|_| false, Action::After(backward::node_made)),
    row(|_| false, Action::Before(backward::pass_begins)),
    row(|_| false, Action::Around(backward::node_runs, backward::node_ran)),
];

/// Those that keep inputs, and those that keep results.
const KEEP: [u32; 2] = {
    let (mut inputs, mut results, mut bit) = (0, 0, 0);
    while bit < TABLE.len() {
        match TABLE[bit].action {
            Action::Inputs(_) => inputs |= 1 << bit,
            Action::Results(_) => results |= 1 << bit,
            _ => {}
        }
        bit += 1;
    }
    [inputs, results]
};

/// The bits that lower floors name are those of these rows.
const _: () = {
    assert!(TABLE.len() <= MOST);
    assert!(RECORD == 1 && SUBMIT == 1 << 1 && SELF_INDUCED == 1 << 4 && IMAGE == 1 << 7 && IMAGE_FIRST == 1 << 8);
    assert!(STACK == 1 << 11 && KERNEL == 1 << 12 && PROFILES == 1 << 16 && PROFILES_ALONE == 1 << 17);
    assert!(INJECTION_PATH == 1 << 18 && PYTHON == 1 << 21);
    assert!(NODE_MADE == 1 << 22 && PASS_BEGINS == 1 << 23 && NODE_RUNS == 1 << 24);
};

/// The interceptor of a bit.
#[inline(always)]
pub fn of_bit(bit: u32) -> Option<&'static Interceptor> {
    TABLE.get(bit as usize)
}

/// All of a function: see `slots::interceptors::chosen`.
pub fn choose(of: &Candidate) -> u32 {
    TABLE.iter().enumerate().filter(|(_, i)| (i.condition)(of)).fold(0, |set, (bit, _)| set | 1 << bit)
}

/// What a slot's interceptors do with the arguments.
#[inline(always)]
pub fn keep_inputs(slot: &Slot, args: &[u64; 6]) {
    let set = slot.interceptors() & KEEP[0];
    if set != 0 {
        keep_inputs_of(set, args);
    }
}

#[inline(never)]
fn keep_inputs_of(set: u32, args: &[u64; 6]) {
    for_each(set, |action| {
        if let Action::Inputs(keep) = action {
            keep(args);
        }
    });
}

/// What they do with the result.
#[inline(always)]
pub fn keep_results(slot: &Slot, args: &[u64; 6], code: u64) {
    let set = slot.interceptors() & KEEP[1];
    if set != 0 {
        keep_results_of(set, slot, args, code);
    }
}

#[inline(never)]
fn keep_results_of(set: u32, slot: &Slot, args: &[u64; 6], code: u64) {
    for_each(set, |action| {
        if let Action::Results(keep) = action {
            keep(slot.name(), args, code);
        }
    });
}

#[inline(always)]
fn for_each(set: u32, act: impl Fn(&Action)) {
    let mut rest = set;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        if let Some(interceptor) = of_bit(bit) {
            act(&interceptor.action);
        }
    }
}

/// A function of the driver with this role.
fn has(of: &Candidate, role: Role) -> bool {
    is_drivers(of) && has_role(of.name, role)
}

/// A function of the driver, and not one that a runtime calls only because cutap watches.
fn is_drivers(of: &Candidate) -> bool {
    of.layer == Layer::DRIVER.number() && !is_self_induced_name(of.name, of.route)
}

fn submits(of: &Candidate) -> bool {
    is_drivers(of) && extension(|e| (e.is_on)() && (e.submits)(of.name)) == Some(true)
}

fn gives_export_tables(of: &Candidate) -> bool {
    let nvmls = of.layer == Layer::LIBRARY.number() && of.name == hidden::NVML && hidden::is_on();
    nvmls || has(of, Role::ExportTable)
}

fn may_be_self_induced(of: &Candidate) -> bool {
    match of.layer {
        layer if layer == Layer::DRIVER.number() => is_self_induced_name(of.name, of.route),
        layer if layer == Layer::HIDDEN.number() => of.is_recorded && own_calls::may_be_hidden(of.name),
        _ => false,
    }
}

/// A hidden function that takes an image, where images are wanted.
fn is_slot_of_image(of: &Candidate, interceptor: u32) -> bool {
    let is = |n: usize| SlotName::new(&cutap_calls::CUDART_TABLE, n as u32).bytes() == of.name;
    of.layer == Layer::HIDDEN.number()
        && run::flags() & control::DUMP_MODULES != 0
        && IMAGES.into_iter().any(|(n, of_slot)| of_slot == interceptor && is(n))
}

fn keeps_stack(of: &Candidate) -> bool {
    of.is_selected && !of.is_cxx() && call_stack::captures_stack_of(of.layer, of.library, of.name)
}

fn keeps_python(of: &Candidate) -> bool {
    of.is_selected && !of.is_cxx() && python::keeps_frames_of(of.layer, of.library, of.name)
}

/// Where the layer `syscall` is recorded; else a slot is made for it alone.
fn asks_for_injection(of: &Candidate) -> bool {
    of.layer == Layer::SYSCALL.number() && injection::is_answered() && injection_path::is_answer_of(of.name)
}

fn has_range() -> bool {
    run::flags() & (control::RANGE | control::RANGE_OF_NVTX) == control::RANGE
}

/// Where the name of the file is that the driver loads.
fn file_argument(of: &Candidate) -> Option<usize> {
    if !is_drivers(of) {
        return None;
    }
    core::str::from_utf8(of.name).ok().and_then(|name| argument(name, Role::LoadsFile))
}

fn extended(frame: &mut Frame) -> bool {
    extension(|of| (of.interceptor.before)(frame)) != Some(false)
}
fn extended_after(frame: &mut Frame) {
    extension(|of| (of.interceptor.after)(frame));
}

/// A function that is recorded, and of which this holds by its name.
fn is(of: &Candidate, holds: fn(&str) -> bool) -> bool {
    of.is_recorded && core::str::from_utf8(of.name).is_ok_and(holds)
}

fn capture_began(frame: &mut Frame) {
    let [result, _] = frame.result;
    if result as u32 != 0 {
        return;
    }
    capture_windows::begin();
    if captures::begin() {
        instances::follow();
    }
}

fn capture_ended() {
    capture_windows::end();
    if captures::end() {
        instances::follow();
    }
}

fn range(on: bool) {
    if switch::range(on) {
        instances::follow();
        ranges::restate_here();
    }
}

//! Backward passes of PyTorch. Threads of autograd have no Python frames. So it is remembered where each node was made,
//! and which node a thread runs. A call in it has both in its record.
//!
//! A node has a number among those of the thread that made it, and that thread's number. Both are read in the node that
//! runs. Until such pairs were found among the remembered ones, the kernel copies the node's words, so that a wrong
//! layout is no fault. What makes no sense switches all of it off.
//!
//! Limits:
//! - Nodes that were made while recording was off have their types alone, and so have those that add up gradients.
//! - After an exception inside a pass inside a pass, calls that are deeper on the stack may get the inner node.

use super::memory::Memory;
use super::{nodes, stacks};
use crate::process::names;
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::frame::Frame;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use cutap_calls::generated::python::NODES;
use cutap_calls::python::NodeLayout;
use cutap_wire::diagnostic;
use cutap_wire::python::Node;

/// The function that answers the number of this thread. 0: there is no PyTorch that is known.
static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The layout of nodes, plus one.
static LAYOUT: AtomicUsize = AtomicUsize::new(0);
/// Nodes that were remembered when they ran.
static PROOFS: AtomicU32 = AtomicU32::new(0);
/// So many prove the layout.
const ENOUGH: u32 = 16;
/// Nodes that were remembered when they were made, up to `TOO_MANY`.
static REMEMBERED: AtomicU32 = AtomicU32::new(0);
/// Nodes that made no sense, or were not remembered although others are, before the layout was proved.
static DOUBTS: AtomicU32 = AtomicU32::new(0);
/// So many switch it off.
const TOO_MANY: u32 = 64;

/// A node that has no number, because it adds up gradients.
const NUMBERLESS: u64 = u64::MAX;

/// PyTorch is there. `thread`: its function; `layout`: place in the list of layouts.
pub fn set_functions(thread: usize, layout: usize) {
    LAYOUT.store(layout + 1, Relaxed);
    THREAD.store(thread, Release);
}

/// Nothing is known of this PyTorch. A note says it once.
#[cold]
pub fn unknown(why: &[u8]) {
    LAYOUT.store(0, Release);
    numbers_are_unknown(why);
}

/// Types of nodes are known, but not where they were made.
#[cold]
fn numbers_are_unknown(why: &[u8]) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    THREAD.store(0, Release);
    if TOLD.swap(1, AcqRel) == 0 {
        names::gap_named(diagnostic::AUTOGRAD_UNKNOWN, why);
    }
}

fn layout() -> Option<&'static NodeLayout> {
    NODES.get(LAYOUT.load(Relaxed).wrapping_sub(1))
}

fn memory() -> Memory {
    Memory { is_proved: PROOFS.load(Relaxed) >= ENOUGH }
}

/// A node got its number: where it is made.
pub fn node_made(frame: &mut Frame) {
    let thread = THREAD.load(Acquire);
    let (true, Some(thread_state)) = (thread != 0, record::ready()) else { return };
    let stack = match stacks::here() {
        // A node that a backward pass makes, for one through it.
        0 => running_node(thread_state, frame).made_at,
        stack => stack,
    };
    if stack != 0 {
        // SAFETY: PyTorch's function of that name; it takes nothing and reads a word of the thread.
        let number = unsafe { core::mem::transmute::<usize, extern "C" fn() -> u64>(thread)() };
        let [sequence, _] = frame.result;
        nodes::remember(number, sequence, stack);
        if REMEMBERED.load(Relaxed) < TOO_MANY {
            REMEMBERED.fetch_add(1, Relaxed);
        }
    }
}

/// A pass begins in this thread. The first word is where its result goes, for that is an object.
pub fn pass_begins(frame: &mut Frame) {
    let [_, _, pass, ..] = frame.args;
    if layout().is_some()
        && let Some(thread_state) = record::ready()
        && let Some(pass) = memory().address(pass as usize).filter(|pass| *pass != 0)
    {
        let stack = match stacks::here() {
            // A pass that a node runs.
            0 => running_node(thread_state, frame).began_at,
            stack => stack,
        };
        nodes::remember_pass(pass, stack);
    }
}

/// The node that the thread runs.
fn running_node(thread_state: &mut ThreadState, frame: &Frame) -> Node {
    Node::of(thread_state.nodes.innermost(frame.stack as usize))
}

/// A thread begins to run a node.
pub fn node_runs(frame: &mut Frame) -> bool {
    let (Some(layout), Some(thread_state)) = (layout(), record::ready()) else { return true };
    let [_, pass, node, ..] = frame.args;
    let node = of_node(layout, pass as usize, node as usize);
    if node.is_none() && doubts() {
        unknown(NOT_THERE);
    }
    thread_state.nodes.push(frame.stack as usize, node.unwrap_or_default().pack());
    true
}

/// A node was not what it should be: whether that has been so too often.
#[cold]
fn doubts() -> bool {
    !memory().is_proved && layout().is_some() && DOUBTS.fetch_add(1, Relaxed) + 1 >= TOO_MANY
}

const NOT_THERE: &[u8] = b"its nodes are not where they were expected";

/// It has run.
pub fn node_ran(frame: &mut Frame) {
    if let Some(thread_state) = record::ready_already() {
        thread_state.nodes.leave_below(frame.stack as usize);
    }
}

/// What is known of a node that runs. None: it makes no sense.
fn of_node(layout: &NodeLayout, pass: usize, node: usize) -> Option<Node> {
    let memory = memory();
    let at = |offset: u16| memory.word(node.wrapping_add(offset.into()));
    if let Some(itself) = layout.itself
        && at(itself)? != node as u64
    {
        return None;
    }
    let of_type = nodes::of_type(memory, memory.address(node)?)?;
    let began_at = memory.address(pass).map_or(0, nodes::began_at);
    if THREAD.load(Relaxed) == 0 {
        return Some(Node { made_at: 0, began_at, of_type });
    }
    let (sequence, thread) = (at(layout.sequence)?, at(layout.thread)?);
    let made_at = nodes::made_at(thread, sequence);
    if !memory.is_proved {
        match made_at {
            Some(_) => {
                PROOFS.fetch_add(1, Relaxed);
            }
            None if sequence != NUMBERLESS && REMEMBERED.load(Relaxed) >= TOO_MANY && doubts() => {
                numbers_are_unknown(NOT_THERE);
            }
            None => {}
        }
    }
    Some(Node { made_at: made_at.unwrap_or(0), began_at, of_type })
}

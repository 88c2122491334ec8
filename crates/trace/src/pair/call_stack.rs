//! Which exit belongs to which enter, and what was left without one: a stack for each ring. The stack
//! of a real thread can lose its top at any moment (exceptions, longjmp, the thread's end), and the
//! next record tells: a parent or an exit below means that what lies above is gone.

use crate::event::Call;
use crate::filter::Tests;
use cutap_stacks::Raw;
use cutap_wire::record::{FAR_PARENT, Parent};
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls given up that are remembered, should they return after all.
const REMEMBERED: usize = 256;

/// A call that has begun.
#[derive(Debug, Clone)]
pub struct Open {
    /// Its number in the ring.
    pub number: u32,
    /// When it began.
    pub ticks: u64,
    /// The call; none when nobody needs it.
    pub call: Option<Arc<Call>>,
    pub shown: Shown,
    /// What its arguments have to fulfil.
    pub tests: Option<Arc<Tests>>,
    /// Its stack as far as it was copied, until it is unwound.
    pub raw: Option<Box<Copied>>,
}

/// A stack, and when it was copied.
#[derive(Debug, Clone)]
pub struct Copied {
    pub ticks: u64,
    pub raw: Raw,
}

/// What a stack asks of what is on it.
pub trait PendingCall: Clone {
    /// Its number in the ring.
    fn number(&self) -> u32;
    /// It has been shown.
    fn shown(&self) -> bool;
}

impl PendingCall for Open {
    fn number(&self) -> u32 {
        self.number
    }
    fn shown(&self) -> bool {
        self.shown == Shown::Yes
    }
}

/// Whether a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It has been, when it began.
    Yes,
    /// Its end decides.
    DecideAtExit,
    /// The filter left it out.
    No,
}

/// The open calls of a ring's thread.
#[derive(Debug)]
pub struct Stack<O = Open> {
    open: Vec<O>,
    shown: u32,
    left: VecDeque<O>,
}

impl<O> Default for Stack<O> {
    fn default() -> Stack<O> {
        Stack { open: Vec::new(), shown: 0, left: VecDeque::new() }
    }
}

/// What an exit found.
#[derive(Debug)]
pub enum Closed<O = Open> {
    /// The call was open.
    Now(O),
    /// The call had been given up before.
    Late(O),
    /// No such call was seen to begin.
    Unknown,
}

impl Stack {
    /// The innermost open call that is known.
    pub fn top(&self) -> Option<&Arc<Call>> {
        self.open.iter().rev().find_map(|o| o.call.as_ref())
    }
}

impl<O: PendingCall> Stack<O> {
    /// How many open calls are shown.
    pub fn depth(&self) -> u32 {
        self.shown
    }

    /// The innermost open call.
    pub fn last(&mut self) -> Option<&mut O> {
        self.open.last_mut()
    }

    /// A call of number `number` begins below `parent`: gives up what cannot be open any more, the
    /// innermost first.
    #[inline]
    pub fn before_enter(&mut self, number: u32, parent: Parent, given_up: &mut dyn FnMut(&O)) {
        let keep = match parent {
            Parent::None => 0,
            Parent::Call(parent) => self.below(|open| number.wrapping_sub(open) >= number.wrapping_sub(parent)),
            Parent::Far => self.below(|open| number.wrapping_sub(open) >= u32::from(FAR_PARENT)),
        };
        if keep < self.open.len() {
            self.give_up(keep, given_up);
        }
    }

    /// A call begins.
    #[inline]
    pub fn enter(&mut self, open: O) {
        self.shown += u32::from(open.shown());
        self.open.push(open);
    }

    /// Call `number` ends: gives up what was inside it.
    #[inline]
    pub fn exit(&mut self, number: u32, given_up: &mut dyn FnMut(&O)) -> Closed<O> {
        // Nearly always it is the innermost.
        if self.open.last().is_some_and(|o| o.number() == number) {
            return self.pop().map_or(Closed::Unknown, Closed::Now);
        }
        self.exit_below(number, given_up)
    }

    #[cold]
    fn exit_below(&mut self, number: u32, given_up: &mut dyn FnMut(&O)) -> Closed<O> {
        if let Some(place) = self.open.iter().rposition(|o| o.number() == number) {
            self.give_up(place + 1, given_up);
            return self.pop().map_or(Closed::Unknown, Closed::Now);
        }
        match self.left.iter().position(|o| o.number() == number) {
            Some(place) => self.left.remove(place).map_or(Closed::Unknown, Closed::Late),
            None => Closed::Unknown,
        }
    }

    /// The open call with this number.
    pub fn find(&self, number: u32) -> Option<&O> {
        self.open.iter().rev().find(|o| o.number() == number)
    }

    /// The innermost open call of a kind, to be changed.
    pub fn innermost(&mut self, is: impl Fn(&O) -> bool) -> Option<&mut O> {
        self.open.iter_mut().rev().find(|o| is(o))
    }

    /// The one with this number, to be changed.
    pub fn find_mut(&mut self, number: u32) -> Option<&mut O> {
        self.open.iter_mut().rev().find(|o| o.number() == number)
    }

    /// The thread has ended: gives up all, and forgets.
    pub fn close(&mut self, given_up: &mut dyn FnMut(&O)) {
        self.give_up(0, given_up);
        self.left.clear();
    }

    /// Open calls, the innermost first.
    pub fn open(&self) -> impl Iterator<Item = &O> {
        self.open.iter().rev()
    }

    /// Length of the stack up to the innermost call whose number is as old as asked.
    #[inline]
    fn below(&self, old_enough: impl Fn(u32) -> bool) -> usize {
        self.open.iter().rposition(|o| old_enough(o.number())).map_or(0, |place| place + 1)
    }

    #[inline]
    fn pop(&mut self) -> Option<O> {
        let open = self.open.pop()?;
        self.shown -= u32::from(open.shown());
        Some(open)
    }

    #[cold]
    fn give_up(&mut self, keep: usize, given_up: &mut dyn FnMut(&O)) {
        while self.open.len() > keep {
            let Some(open) = self.pop() else { break };
            given_up(&open);
            self.left.push_back(open);
            if self.left.len() > REMEMBERED {
                self.left.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack with these calls open.
    fn stack(numbers: &[u32]) -> Stack {
        let mut stack = Stack::default();
        for &number in numbers {
            stack.enter(Open { number, ticks: 0, call: None, shown: Shown::No, tests: None, raw: None });
        }
        stack
    }

    fn enter(stack: &mut Stack, number: u32, parent: Parent) -> Vec<u32> {
        let mut gone = Vec::new();
        stack.before_enter(number, parent, &mut |o| gone.push(o.number));
        gone
    }

    #[test]
    fn a_parent_below_the_top_unwinds_what_lies_above() {
        let mut s = stack(&[1, 2, 5]);
        assert_eq!(enter(&mut s, 6, Parent::Call(5)), [0; 0]);
        assert_eq!(enter(&mut s, 6, Parent::Call(1)), [5, 2]);
        assert_eq!(enter(&mut s, 6, Parent::None), [1]);
    }

    #[test]
    fn a_parent_that_was_never_seen_leaves_what_is_older() {
        let mut s = stack(&[1, 2, 5]);
        assert_eq!(enter(&mut s, 9, Parent::Call(4)), [5]);
    }

    #[test]
    fn a_far_parent_leaves_only_what_is_far() {
        let mut s = stack(&[1, 2, 70_000]);
        assert_eq!(enter(&mut s, 70_001, Parent::Far), [70_000]);
        assert!(s.find(2).is_some());
    }

    #[test]
    fn an_exit_below_the_top_and_a_late_one() {
        let mut s = stack(&[1, 2, 3]);
        let mut gone = Vec::new();
        assert!(matches!(s.exit(1, &mut |o| gone.push(o.number)), Closed::Now(Open { number: 1, .. })));
        assert_eq!(gone, [3, 2]);
        assert!(matches!(s.exit(3, &mut |_| ()), Closed::Late(Open { number: 3, .. })));
        assert!(matches!(s.exit(3, &mut |_| ()), Closed::Unknown));
        assert!(matches!(s.exit(7, &mut |_| ()), Closed::Unknown));
    }

    #[test]
    fn numbers_wrap() {
        let mut s = stack(&[u32::MAX - 1, u32::MAX]);
        assert_eq!(enter(&mut s, 0, Parent::Call(u32::MAX - 1)), [u32::MAX]);
    }
}

//! The open calls of one ring. A thread can lose the top of its stack at any moment, by an exception, longjmp or its
//! end, and writes no record of that. The next record shows it: open calls above its parent are gone.

use super::open_call::{OpenCall, Visibility};
use cutap_wire::record::{FAR_PARENT, Parent};
use std::collections::VecDeque;

/// Abandoned calls that are remembered, should they return after all.
const REMEMBERED: usize = 256;

/// The open calls of a ring's thread, with what a sink keeps of each.
#[derive(Debug)]
pub struct CallStack<D> {
    open: Vec<OpenCall<D>>,
    shown_depth: u32,
    abandoned: VecDeque<OpenCall<D>>,
}

impl<D> Default for CallStack<D> {
    fn default() -> CallStack<D> {
        CallStack { open: Vec::new(), shown_depth: 0, abandoned: VecDeque::new() }
    }
}

/// What an exit record found.
#[derive(Debug)]
pub enum ExitMatch<D> {
    /// The call was open.
    Open(OpenCall<D>),
    /// The call had been abandoned before. A fibre returns like this.
    Abandoned(OpenCall<D>),
    /// No such call was seen to begin.
    Unknown,
}

impl<D: Clone> CallStack<D> {
    /// How many calls are open.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// How many open calls are shown.
    pub fn depth(&self) -> u32 {
        self.shown_depth
    }

    /// The innermost open call.
    pub fn last(&self) -> Option<&OpenCall<D>> {
        self.open.last()
    }

    /// The innermost open call, to be changed.
    pub fn last_mut(&mut self) -> Option<&mut OpenCall<D>> {
        self.open.last_mut()
    }

    /// Open calls, the innermost first.
    pub fn open(&self) -> impl Iterator<Item = &OpenCall<D>> {
        self.open.iter().rev()
    }

    /// Open calls, the innermost first, to be changed.
    pub fn open_mut(&mut self) -> impl Iterator<Item = &mut OpenCall<D>> {
        self.open.iter_mut().rev()
    }

    /// The open call of this number, to be changed.
    pub fn find_mut(&mut self, number: u32) -> Option<&mut OpenCall<D>> {
        self.open_mut().find(|open| open.number == number)
    }

    /// How many calls stay open when a call of this number begins below `parent`; those above cannot be open any more.
    #[inline(always)]
    pub fn staying(&self, number: u32, parent: Parent) -> usize {
        match parent {
            Parent::None => 0,
            Parent::Call(parent) => self.height_below(|open| number.wrapping_sub(open) >= number.wrapping_sub(parent)),
            Parent::Far => self.height_below(|open| number.wrapping_sub(open) >= u32::from(FAR_PARENT)),
        }
    }

    /// A call begins.
    #[inline(always)]
    pub fn enter(&mut self, open: OpenCall<D>) {
        self.shown_depth += u32::from(open.visibility == Visibility::Shown);
        self.open.push(open);
    }

    /// The innermost call ends, if it has this number. Nearly always it has.
    #[inline(always)]
    pub fn exit_last(&mut self, number: u32) -> Option<OpenCall<D>> {
        self.open.last().filter(|open| open.number == number)?;
        self.pop()
    }

    /// The call of this number ends: abandons what was inside it, and adds that to `abandoned` with the innermost
    /// first.
    #[cold]
    pub fn exit(&mut self, number: u32, abandoned: &mut Vec<OpenCall<D>>) -> ExitMatch<D> {
        if let Some(place) = self.open.iter().rposition(|open| open.number == number) {
            if !self.open[place].is_range {
                self.abandon_calls_above(place + 1, abandoned);
            }
            return ExitMatch::Open(self.remove(place));
        }
        match self.abandoned.iter().position(|open| open.number == number) {
            Some(place) => self.abandoned.remove(place).map_or(ExitMatch::Unknown, ExitMatch::Abandoned),
            None => ExitMatch::Unknown,
        }
    }

    /// Abandons all but the outermost calls, and adds them to `abandoned` with the innermost first.
    #[cold]
    pub fn abandon_above(&mut self, keep: usize, abandoned: &mut Vec<OpenCall<D>>) {
        while self.open.len() > keep {
            let Some(open) = self.pop() else { break };
            self.abandon(open, abandoned);
        }
    }

    /// Abandons calls alone. A range stays open until it is popped, whatever becomes of calls around it.
    #[cold]
    pub fn abandon_calls_above(&mut self, keep: usize, abandoned: &mut Vec<OpenCall<D>>) {
        let mut ranges = Vec::new();
        while self.open.len() > keep {
            match self.pop() {
                Some(open) if open.is_range => ranges.push(open),
                Some(open) => self.abandon(open, abandoned),
                None => break,
            }
        }
        ranges.into_iter().rev().for_each(|range| self.enter(range));
    }

    fn abandon(&mut self, open: OpenCall<D>, abandoned: &mut Vec<OpenCall<D>>) {
        abandoned.push(open.clone());
        self.abandoned.push_back(open);
        if self.abandoned.len() > REMEMBERED {
            self.abandoned.pop_front();
        }
    }

    /// Forgets the abandoned calls.
    pub fn forget(&mut self) {
        self.abandoned.clear();
    }

    /// Length of the stack up to the innermost call whose number is as old as asked.
    #[inline(always)]
    fn height_below(&self, old_enough: impl Fn(u32) -> bool) -> usize {
        self.open.iter().rposition(|open| old_enough(open.number)).map_or(0, |place| place + 1)
    }

    /// Takes out an open call.
    fn remove(&mut self, place: usize) -> OpenCall<D> {
        let open = self.open.remove(place);
        self.shown_depth -= u32::from(open.visibility == Visibility::Shown);
        open
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<OpenCall<D>> {
        let open = self.open.pop()?;
        self.shown_depth -= u32::from(open.visibility == Visibility::Shown);
        Some(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack with these calls open.
    fn stack(numbers: &[u32]) -> CallStack<()> {
        let mut stack = CallStack::default();
        for &number in numbers {
            let open = OpenCall {
                number,
                slot: 0,
                ticks: 0,
                visibility: Visibility::Hidden,
                ancestor_bits: 0,
                is_excluded: false,
                is_range: false,
                kernel: None,
                call: None,
                argument_check: None,
                data: (),
            };
            stack.enter(open);
        }
        stack
    }

    fn numbers(gone: &[OpenCall<()>]) -> Vec<u32> {
        gone.iter().map(|open| open.number).collect()
    }

    fn enter(stack: &mut CallStack<()>, number: u32, parent: Parent) -> Vec<u32> {
        let mut gone = Vec::new();
        stack.abandon_above(stack.staying(number, parent), &mut gone);
        numbers(&gone)
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
        assert!(s.find_mut(2).is_some());
    }

    #[test]
    fn an_exit_below_the_top_and_a_late_one() {
        let mut s = stack(&[1, 2, 3]);
        let mut gone = Vec::new();
        assert!(matches!(s.exit(1, &mut gone), ExitMatch::Open(OpenCall { number: 1, .. })));
        assert_eq!(numbers(&gone), [3, 2]);
        assert!(matches!(s.exit(3, &mut gone), ExitMatch::Abandoned(OpenCall { number: 3, .. })));
        assert!(matches!(s.exit(3, &mut gone), ExitMatch::Unknown));
        assert!(matches!(s.exit(7, &mut gone), ExitMatch::Unknown));
        assert_eq!(gone.len(), 2);
    }

    #[test]
    fn numbers_wrap() {
        let mut s = stack(&[u32::MAX - 1, u32::MAX]);
        assert_eq!(enter(&mut s, 0, Parent::Call(u32::MAX - 1)), [u32::MAX]);
    }

    /// A stack with these calls open, of which some are ranges.
    fn with_ranges(numbers: &[u32], ranges: &[u32]) -> CallStack<()> {
        let mut s = stack(numbers);
        s.open_mut().for_each(|open| open.is_range = ranges.contains(&open.number));
        s
    }

    fn open_numbers(s: &CallStack<()>) -> Vec<u32> {
        let mut numbers: Vec<u32> = s.open().map(|open| open.number).collect();
        numbers.reverse();
        numbers
    }

    /// Records name no range as parent: calls around which ranges are stay open.
    #[test]
    fn ranges_stay_open_where_calls_are_left() {
        let mut s = with_ranges(&[1, 2, 3, 4], &[1, 3]);
        let mut gone = Vec::new();
        s.abandon_calls_above(s.staying(5, Parent::None), &mut gone);
        assert_eq!((numbers(&gone), open_numbers(&s)), (vec![4, 2], vec![1, 3]));
    }

    #[test]
    fn a_call_that_ends_leaves_ranges_open() {
        let mut s = with_ranges(&[1, 2, 3], &[2]);
        let mut gone = Vec::new();
        assert!(matches!(s.exit(1, &mut gone), ExitMatch::Open(OpenCall { number: 1, .. })));
        assert_eq!((numbers(&gone), open_numbers(&s)), (vec![3], vec![2]));
    }

    #[test]
    fn a_range_is_popped_from_the_middle() {
        let mut s = with_ranges(&[1, 2, 3], &[1, 2]);
        let mut gone = Vec::new();
        assert!(matches!(s.exit(1, &mut gone), ExitMatch::Open(OpenCall { number: 1, .. })));
        assert_eq!((numbers(&gone), open_numbers(&s)), (vec![], vec![2, 3]));
    }
}

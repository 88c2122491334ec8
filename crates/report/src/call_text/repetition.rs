//! A sequence of lines that is being repeated, and the line about it.

use crate::format::units::time;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// So many lines or fewer are printed.
pub(crate) const FEW: usize = 3;
/// Functions that the line about a repetition names.
const NAMED: usize = 3;

/// What a line is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// What the line begins with: times, ids and indentation.
    pub start: String,
    /// It names an error.
    pub has_error: bool,
    /// Equal for lines that are the same; 0 for a line that is the same as none.
    pub signature: u32,
    /// The function, if a call of it has ended.
    pub name: Option<Arc<str>>,
    pub start_ns: u64,
    pub end_ns: u64,
}

impl About {
    /// Adds a number to what makes lines the same.
    pub fn add(&mut self, number: u64) {
        let mixed = (u64::from(self.signature) ^ number.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.signature = ((mixed >> 32) as u32).max(1);
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(8) {
            self.add(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }
}

/// A line that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub text: String,
    pub about: About,
}

/// A sequence that is being repeated.
#[derive(Debug)]
pub(crate) struct Active {
    pub period: usize,
    /// Lines on the terminal that show it.
    line_count: u64,
    pub times: u64,
    calls: HashMap<Arc<str>, u64>,
    /// The repeated lines, while they are few.
    pub kept_lines: Vec<String>,
    /// What the first of them begins with.
    pub start: String,
    /// Some of them name an error.
    has_error: bool,
    start_ns: u64,
    pub end_ns: u64,
}

impl Active {
    pub fn new(period: usize, line_count: u64) -> Active {
        let (calls, kept_lines) = (HashMap::new(), Vec::new());
        let start = String::new();
        Active {
            period,
            line_count,
            times: 0,
            calls,
            kept_lines,
            start,
            has_error: false,
            start_ns: u64::MAX,
            end_ns: 0,
        }
    }

    /// The lines are one more repetition.
    pub fn absorb(&mut self, lines: &mut VecDeque<Waiting>) {
        self.times += 1;
        let few = self.times as usize * self.period <= FEW;
        if !few {
            self.kept_lines.clear();
        }
        for Waiting { text, about } in lines.drain(..) {
            self.has_error |= about.has_error;
            if self.start.is_empty() {
                self.start = about.start;
            }
            self.start_ns = self.start_ns.min(about.start_ns);
            self.end_ns = self.end_ns.max(about.end_ns);
            about.name.into_iter().for_each(|name| *self.calls.entry(name).or_default() += 1);
            if few {
                self.kept_lines.push(text);
            }
        }
    }

    /// Its line, with as many names as there is room for.
    pub fn fitting(&self, width: Option<usize>) -> String {
        let fits = |line: &String| width.is_none_or(|width| line.chars().count() <= width);
        (0..=NAMED).rev().map(|named| self.line(named)).find(fits).unwrap_or_else(|| self.line(0))
    }

    /// `… the 31 lines above 18 more times: cudaLaunchKernel ×432 and 126 more calls, 92ms (-a shows them)`.
    fn line(&self, most: usize) -> String {
        let times = match self.times {
            1 => "once more".to_owned(),
            times => format!("{times} more times"),
        };
        let took = time(self.end_ns.saturating_sub(self.start_ns));
        let error = if self.has_error { ", with the same errors" } else { "" };
        if self.line_count <= 1 {
            return format!("… the line above {times}{error}, {took} (-a shows them)");
        }
        let mut calls: Vec<(&Arc<str>, &u64)> = self.calls.iter().collect();
        calls.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        let named: Vec<String> = calls.iter().take(most).map(|(name, count)| format!("{name} ×{count}")).collect();
        let other_calls: u64 = calls.iter().skip(most).map(|(_, count)| **count).sum();
        let calls = match (named.len(), other_calls) {
            (0, other_calls) => format!("{other_calls} calls"),
            (_, 0) => named.join(", "),
            (_, other_calls) => format!("{}, {other_calls} more calls", named.join(", ")),
        };
        format!("… the {} lines above {times}{error}: {calls}, {took} (-a shows them)", self.line_count)
    }
}

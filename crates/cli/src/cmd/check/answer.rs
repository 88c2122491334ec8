//! Whether a rule holds.

/// Whether it holds, and how often it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Holds,
    Violated(u64),
    /// The recording cannot say.
    NotKnown,
}

/// The answer to one rule.
#[derive(Debug)]
pub struct Answer {
    /// The name of the rule.
    pub name: String,
    pub state: State,
    /// What was found, in a sentence.
    pub sentence: String,
    /// The calls that break the rule, with those around them: lines of a report.
    pub body: String,
}

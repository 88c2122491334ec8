//! The types, units and values of columns of calls.

use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit};
use std::borrow::Cow;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Yes or no.
    Boolean,
    /// A whole number.
    Integer,
    /// Text.
    Text,
    /// An address.
    Address,
    /// A list of words.
    Words,
    /// A status, a number, or an address.
    Result,
    /// A list of [`Structured`] values.
    List,
    /// A [`Structured`] value with named parts.
    Record,
    /// A [`Structured`] value of any type of the C language.
    Any,
}

/// Whether a call may have no value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Each call has one.
    Always,
    /// A call without one has null.
    Nullable,
    /// The column is left out of lines of calls without a value.
    Optional,
}

/// The unit of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Nanoseconds of CLOCK_MONOTONIC.
    MonotonicNanoseconds,
    /// Nanoseconds that something took.
    Nanoseconds,
}

/// A value of a column.
#[derive(Debug, Clone)]
pub enum ColumnValue<'a> {
    /// There is none: see [`Presence`].
    None,
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(u64),
    /// A status.
    Status(i32),
    /// Text.
    Text(Cow<'a, str>),
    /// An address, or a word that may be one.
    Address(u64),
    /// Words.
    Words(&'a [u64]),
    /// What has parts.
    Structured(Structured<'a>),
}

/// Values with parts, as the model of a trace has them. An output gives them its own shape.
#[derive(Debug, Clone, Copy)]
pub enum Structured<'a> {
    /// The typed arguments of a call, after it with what it wrote.
    Arguments(&'a Call, Option<&'a Exit>),
    /// A result that is no status.
    Returned(&'a Value),
    /// The request of an ioctl, decoded.
    Request(&'a Exit),
    /// What a call of the layer `submit` gave to the GPU.
    Submission(&'a Exit),
    /// What hooks did.
    Hooks(&'a Exit),
    /// What the call added to logs.
    Logs(&'a Exit),
    /// The frames of the stack.
    Stack(&'a Call),
}

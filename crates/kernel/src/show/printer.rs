//! Calls one after the other, as lines for people or as JSON: one printer for all sources of calls.

use super::json as decoded;
use super::text::{Style, Text};
use crate::call::{Head, KernelCall};
use crate::decode::Decoder;
use crate::json;
use crate::select::Select;
use std::io::{self, Write};

/// What is printed of a call.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Lines for people. The thread is on each line from the second thread on, or from the start by the style.
    Text(Style),
    /// The objects of the format (see [`crate::json`]).
    Captured,
    /// These objects with the decoded fields in them.
    Decoded,
}

/// Prints the calls that are selected.
#[derive(Debug)]
pub struct CallPrinter {
    decoder: Decoder,
    select: Select,
    form: Form,
    text: Text,
    first_tid: Option<u32>,
}

impl CallPrinter {
    /// Prints by these tables.
    #[must_use]
    pub fn new(decoder: Decoder, select: Select, form: Form) -> Self {
        let style = if let Form::Text(style) = form { style } else { Style::default() };
        Self { decoder, select, form, text: Text::new(style), first_tid: None }
    }

    /// What comes before the calls: the head of the format. Lines for people have none.
    pub fn head(&self, head: &Head, out: &mut dyn Write) -> io::Result<()> {
        match self.form {
            Form::Text(_) => Ok(()),
            Form::Captured | Form::Decoded => json::write_head(head, out),
        }
    }

    /// Prints a call; false where it is not selected.
    pub fn call(&mut self, call: &KernelCall, out: &mut dyn Write) -> io::Result<bool> {
        if !self.select.matches(call, &self.decoder) {
            return Ok(false);
        }
        match self.form {
            Form::Captured => json::write_call(call, out)?,
            Form::Decoded => writeln!(out, "{}", decoded::line(call, &self.decoder))?,
            Form::Text(_) => {
                if *self.first_tid.get_or_insert(call.tid) != call.tid {
                    self.text.style.threads = true;
                }
                out.write_all(self.text.line(call, &self.decoder).as_bytes())?;
            }
        }
        Ok(true)
    }
}

//! The output of `cutap run`: only messages about hooks that did not work.

use crate::Output;
use crate::notes::messages::counted;
use cutap_trace::{End, Event};
use cutap_wire::diagnostic::{
    HOOK_ABSENT, HOOK_NO_PARAMETER, HOOK_NOT_ANSWERED, HOOK_PASSED, HOOK_TOO_MANY, HOOK_WANT_LEFT_OUT, OTHER_LIBC,
};
use std::io;

/// The output without calls.
#[derive(Debug)]
pub struct Quiet<W> {
    out: W,
}

impl<W> Quiet<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Quiet<W> {
        Quiet { out }
    }
}

impl<W: io::Write + Send> Output for Quiet<W> {
    fn event(&mut self, _: &Event) -> io::Result<()> {
        Ok(())
    }
    fn tick(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, end: &End) -> io::Result<()> {
        let all = [
            HOOK_ABSENT,
            HOOK_NO_PARAMETER,
            HOOK_NOT_ANSWERED,
            HOOK_PASSED,
            HOOK_TOO_MANY,
            HOOK_WANT_LEFT_OUT,
            OTHER_LIBC,
        ];
        let ours = |reason| all.contains(&reason);
        for count in end.diagnostics.counts.iter().filter(|c| ours(c.reason)) {
            writeln!(self.out, "cutap: {}", counted(end, count.reason, count.count))?;
            for gap in end.diagnostics.gaps.iter().filter(|g| g.reason == count.reason) {
                let more = if gap.detail.is_empty() { String::new() } else { format!(" ({})", gap.detail) };
                writeln!(self.out, "cutap:   {}{more}", gap.name)?;
            }
        }
        self.out.flush()
    }
}

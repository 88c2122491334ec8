//! Flags that users of strace type by habit. Each works, or is answered with one sentence.

use crate::heading;
use clap::{ArgAction, Args};
use cutap_collect::{Error, Result, print_notice};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Name of the argument `-p` for clap.
pub const ATTACH: &str = "attach";

/// Flags of strace for a program that is started.
#[derive(Debug, Args)]
pub struct StraceArgs {
    /// No messages of cutap, but why something could not be written
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Set a variable for the program; NAME without a value removes it
    #[arg(
        short = 'E',
        value_name = "NAME[=VALUE]",
        value_parser = clap::builder::OsStringValueParser::new(),
        help_heading = heading::PROGRAM
    )]
    pub environment: Vec<OsString>,
    #[arg(short = 'f', hide = true, action = ArgAction::Count)]
    follow: u8,
    #[arg(short = 'T', hide = true, action = ArgAction::Count)]
    times: u8,
    #[arg(short = 'p', id = ATTACH, hide = true, value_name = "PID")]
    attach: Option<String>,
}

impl StraceArgs {
    /// Says what needs no flag here, and refuses what cannot be done.
    pub fn check(&self) -> Result<()> {
        if let Some(pid) = &self.attach {
            return Err(Error::own(format!(
                "-p {pid}: cutap cannot attach to a running program, which has fetched its CUDA functions already; \
                 start it under cutap record and switch it with cutap ctl PID off and on, \
                 or see its kernel calls with cutap syscall trace -p {pid}"
            )));
        }
        if let Some(bad) = self.environment.iter().find(|e| e.is_empty() || e.as_bytes().starts_with(b"=")) {
            return Err(Error::own(format!(
                "-E {} names no variable; write -E NAME=VALUE, or -E NAME to remove one",
                bad.to_string_lossy()
            )));
        }
        let own = ["LD_PRELOAD", "LD_LIBRARY_PATH", "CUTAP_RUN"];
        let name = |word: &OsString| variable(word.clone()).0;
        if let Some(name) = self.environment.iter().map(name).find(|name| own.iter().any(|own| name == own)) {
            let name = name.display();
            return Err(Error::own(format!(
                "-E {name}: cutap sets this variable itself; set it for cutap instead: {name}=... cutap ..."
            )));
        }
        let sentences = [
            (self.follow > 0, "-f: children are followed by default; --no-follow-children leaves them alone"),
            (self.times > 0, "-T: times are printed by default"),
        ];
        sentences.iter().filter(|(given, _)| *given && !self.quiet).for_each(|(_, sentence)| print_notice(sentence));
        Ok(())
    }
}

/// A variable and its new value; no value removes it.
pub fn variable(word: OsString) -> (OsString, Option<OsString>) {
    let bytes = word.into_vec();
    match bytes.iter().position(|b| *b == b'=') {
        None => (OsString::from_vec(bytes), None),
        Some(at) => {
            let (name, value) = bytes.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            (OsString::from_vec(name.to_vec()), Some(OsString::from_vec(value.to_vec())))
        }
    }
}

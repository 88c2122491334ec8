//! Standard output of the commands that print to it.

use cutap_collect::{Error, Result, reason};
use std::io::{self, ErrorKind, Write};

/// Prints a text.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// How writing to standard output ended, as the end of a command. A reader that has left (`| head`) is no failure.
pub fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::own(format!("cannot write to standard output: {}; write elsewhere", reason(&e))))
        }
        _ => Ok(()),
    }
}

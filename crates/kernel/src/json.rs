//! The JSON format: the head on the first line, then one call a line. Numbers that are addresses are texts such as
//! `"0x7ffe0010"`, for JSON's numbers have 53 bits in many readers. Bytes are texts of two hexadecimal digits each.

use crate::call::{Head, KernelCall, Run, VERSION};
use crate::error::{Error, Result};
use std::io::{self, Write};

/// Whether a text looks like this format.
#[must_use]
pub fn is_json(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.trim_start().starts_with('{') && first.contains("\"cutap_kernel\"")
}

/// Writes the first line.
pub fn write_head(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    let head = Head { version: VERSION, ..head.clone() };
    write_line(&head, out)
}

/// Writes the line of a call.
pub fn write_call(call: &KernelCall, out: &mut dyn Write) -> io::Result<()> {
    write_line(call, out)
}

fn write_line(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string(value).map_err(io::Error::other)?;
    writeln!(out, "{}", cutap_printable::json(&text))
}

/// Reads the format. Lines with an unknown `call` are skipped and counted.
///
/// # Errors
/// The first line is no head, or its version is newer.
pub fn read(text: &str) -> Result<Run> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let first = lines.next().map(|(_, line)| line).unwrap_or_default();
    let head: Head = serde_json::from_str(first).map_err(|e| {
        let why = e.to_string();
        Error::new(format!("the first line is not the head of cutap's kernel calls: {why}; give an unchanged file"))
    })?;
    if head.version > VERSION {
        let (own, theirs) = (VERSION, head.version);
        return Err(Error::new(format!(
            "the file has version {theirs} of the kernel call format, this cutap reads up to {own}; use a newer cutap"
        )));
    }
    let mut run = Run { head, ..Run::default() };
    for (number, line) in lines {
        match serde_json::from_str::<KernelCall>(line) {
            Ok(call) => run.calls.push(call),
            Err(error) => run.skip(number + 1, &error.to_string()),
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Action, Ioctl, Parent, Piece};

    #[test]
    fn round_trip() {
        let ioctl = Ioctl {
            fd: 9,
            path: "/dev/nvidiactl".into(),
            request: 0xc020_462a,
            argument: 0x7ffe_0000_0010,
            before: Some(vec![1, 2, 0xff]),
            after: Some(vec![1, 2, 0]),
            memory: vec![Piece { address: 0x10, before: vec![7], after: None }],
            partial: false,
        };
        let mut call = KernelCall::new(Action::Ioctl(ioctl));
        (call.pid, call.tid, call.time_ns, call.result) = (1, 2, Some(3), Some(-22));
        call.parent = Some(Parent { name: "cuInit".into(), id: Some(4) });
        let mut mapping = KernelCall::new(Action::Munmap { address: u64::MAX, length: 4096 });
        mapping.result = Some(0);
        let mut out = Vec::new();
        write_head(&Head { driver: Some("580.159.04".into()), ..Head::default() }, &mut out).unwrap();
        write_call(&call, &mut out).unwrap();
        write_call(&mapping, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(is_json(&text));
        assert!(text.contains(r#""call":"ioctl","fd":9,"path":"/dev/nvidiactl","request":"0xc020462a""#), "{text}");
        let run = read(&text).unwrap();
        assert_eq!(run.calls, [call, mapping]);
        assert_eq!((run.head.version, run.head.driver.as_deref(), run.skipped_count), (1, Some("580.159.04"), 0));
    }

    #[test]
    fn unknown_lines_are_counted() {
        let text = "{\"cutap_kernel\":1}\n{\"call\":\"futex\"}\n{\"call\":\"close\",\"fd\":3,\"new\":1}\nx\n";
        let run = read(text).unwrap();
        assert_eq!((run.calls.len(), run.skipped_count), (1, 2));
        assert!(run.skipped[0].starts_with("line 2: unknown variant `futex`"), "{:?}", run.skipped);
    }

    #[test]
    fn a_newer_version_is_refused() {
        assert!(read("{\"cutap_kernel\":2}\n").unwrap_err().0.contains("use a newer cutap"));
        assert!(read("").unwrap_err().0.contains("first line"));
    }
}

//! Reads transcripts of `crates/rm/tests/transcripts`. A line has device, request and result. Lines that begin with a
//! space follow: `b` the argument before, `a` after, `p` an address with its bytes. `(n)` are n zero bytes.

use crate::call::{Action, Head, Ioctl, KernelCall, Piece, Run};
use crate::hex;

/// The most bytes that one `(n)` may stand for.
const MOST_ZEROS: usize = 1 << 20;

pub(super) fn is_line(line: &str) -> bool {
    head(line).is_some()
}

fn head(line: &str) -> Option<(String, u64, i64)> {
    let mut words = line.split(' ');
    let node = words.next().filter(|n| n.starts_with("nvidia"))?;
    let request = u64::from_str_radix(words.next()?, 16).ok()?;
    let result = words.next()?.parse().ok()?;
    words.next().is_none().then(|| (format!("/dev/{node}"), request, result))
}

pub(super) fn read(text: &str) -> Run {
    let source = Some("transcript".to_owned());
    let mut run = Run { head: Head { source, ..Head::default() }, ..Run::default() };
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.is_empty()) {
        if let Some((path, request, result)) = head(line) {
            let action = Action::Ioctl(Ioctl { fd: -1, path, request, ..Ioctl::default() });
            run.calls.push(KernelCall { result: Some(result), ..KernelCall::new(action) });
        } else if detail(line, &mut run).is_none() {
            run.skip(number + 1, "no line of a transcript");
        }
    }
    run
}

fn detail(line: &str, run: &mut Run) -> Option<()> {
    let Some(KernelCall { action: Action::Ioctl(ioctl), .. }) = run.calls.last_mut() else { return None };
    let mut words = line.strip_prefix(' ')?.split_whitespace();
    match words.next()? {
        "b" => ioctl.before = Some(bytes(words.next()?)?),
        "a" => ioctl.after = Some(bytes(words.next()?)?),
        "p" => {
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let before = bytes(words.next()?)?;
            let after = words.next().map(bytes);
            if after == Some(None) {
                return None;
            }
            ioctl.memory.push(Piece { address, before, after: after.flatten() });
        }
        _ => return None,
    }
    Some(())
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_start_matches('-');
    while !rest.is_empty() {
        let end = if let Some(inner) = rest.strip_prefix('(') {
            let (count, after) = inner.split_once(')')?;
            let count = count.parse::<usize>().ok().filter(|c| *c <= MOST_ZEROS)?;
            bytes.resize(bytes.len() + count, 0);
            rest = after;
            continue;
        } else {
            rest.find('(').unwrap_or(rest.len())
        };
        let (digits, after) = rest.split_at_checked(end)?;
        bytes.extend(hex::bytes(digits)?);
        rest = after;
    }
    (bytes.len() <= MOST_ZEROS * 4).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request() {
        let run = read("# x\nnvidiactl c00846d6 0\n b 01(2)ff\n a (4)\n p 7f 00 01\nnvidiactl what\n z\n");
        let Action::Ioctl(ioctl) = &run.calls[0].action else { panic!() };
        assert_eq!((ioctl.before.as_deref(), ioctl.after.as_deref()), (Some(&[1, 0, 0, 255][..]), Some(&[0; 4][..])));
        assert_eq!(ioctl.memory, [Piece { address: 0x7f, before: vec![0], after: Some(vec![1]) }]);
        assert_eq!(run.skipped_count, 2);
        assert_eq!(bytes("(99999999999)"), None);
    }
}

//! Reads logs of libcudest's shim (2010 to 2012). It prints each ioctl as `ioctl 2a, 32-byte param, fd 3`, then the
//! argument as 32-bit words, four a row, then `RESULT: 0` and the words after the call. Rows have labels such as
//! `0x0010`, and colours by escape sequences.
//! Of an RM control `GPU method 0x5c000002:20800110` and the words of its parameters follow, before and after.
//! The device is unknown, so requests are read as escapes.

use crate::call::{Action, Head, Ioctl, KernelCall, Piece, Run};
use crate::hex;
use cutap_rm::escape_request;

pub(super) fn is_line(line: &str) -> bool {
    head(&plain(line)).is_some()
}

/// Number, bytes of the argument, descriptor, and the rest of the line.
fn head(line: &str) -> Option<(u8, usize, i32, &str)> {
    let (number, rest) = line.strip_prefix("ioctl ")?.split_once(", ")?;
    let (size, rest) = rest.split_once("-byte param, fd ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fd, rest) = rest.split_at_checked(end)?;
    Some((u8::from_str_radix(number, 16).ok()?, size.parse().ok().filter(|s| *s < 1 << 14)?, fd.parse().ok()?, rest))
}

pub(super) fn read(text: &str) -> Run {
    let source = Some("shim".to_owned());
    let mut run = Run { head: Head { source, ..Head::default() }, ..Run::default() };
    // The bytes that the next words belong to.
    let (mut after, mut inner) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = plain(line);
        let words = if let Some((number, size, fd, rest)) = head(&line) {
            let request = u64::from(escape_request(number, size));
            let action = Action::Ioctl(Ioctl { fd, request, before: Some(Vec::new()), ..Ioctl::default() });
            run.calls.push(KernelCall::new(action));
            (after, inner) = (false, false);
            rest
        } else if let Some(rest) = line.strip_prefix("GPU method 0x") {
            inner = true;
            rest.split_once('\t').map_or("", |(_, words)| words)
        } else if let Some(rest) = line.trim_start().strip_prefix("RESULT: ") {
            let rest = rest.trim_start();
            let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
            let (result, words) = rest.split_at_checked(end).unwrap_or_default();
            match (run.calls.last_mut(), result.parse()) {
                (Some(call), Ok(result)) => call.result = Some(result),
                _ => run.skip(number + 1, "a result without an ioctl"),
            }
            (after, inner) = (true, false);
            words
        } else if line.starts_with("0x") {
            &line
        } else {
            mapping(&line, &mut run);
            continue;
        };
        if let Some(KernelCall { action: Action::Ioctl(ioctl), .. }) = run.calls.last_mut()
            && let Some((into, size)) = place(ioctl, after, inner)
        {
            into.extend(self::words(words).flat_map(u32::to_le_bytes));
            into.truncate(size);
        }
    }
    // A failed request has no words after the call.
    for call in &mut run.calls {
        if let Action::Ioctl(ioctl) = &mut call.action {
            ioctl.after = ioctl.after.take().filter(|after| !after.is_empty());
        }
    }
    run
}

/// Where the next words go, and how many bytes there are at most.
fn place(ioctl: &mut Ioctl, after: bool, inner: bool) -> Option<(&mut Vec<u8>, usize)> {
    if !inner {
        let size = cutap_rm::escape_of(u32::try_from(ioctl.request).unwrap_or(0)).1;
        return match after {
            true => Some((ioctl.after.get_or_insert_default(), size)),
            false => Some((ioctl.before.get_or_insert_default(), size)),
        };
    }
    // Address and size of a control's parameters.
    let params = ioctl.before.as_ref()?.get(16..28)?;
    let (address, size) = params.split_first_chunk::<8>()?;
    let size = u32::from_le_bytes(size.try_into().ok()?) as usize;
    if ioctl.memory.is_empty() {
        let address = u64::from_le_bytes(*address);
        ioctl.memory.push(Piece { address, before: Vec::new(), after: None });
    }
    let piece = ioctl.memory.first_mut()?;
    Some((if after { piece.after.get_or_insert_default() } else { &mut piece.before }, size))
}

/// The words of a row; its label has fewer digits.
fn words(row: &str) -> impl Iterator<Item = u32> {
    let numbers = row.split_whitespace().filter(|w| w.len() == 10).filter_map(|w| w.strip_prefix("0x"));
    numbers.filter_map(|digits| u32::from_str_radix(digits, 16).ok())
}

/// `mmap 0x1000b 4 [RWxs] (no hint)`: the shim prints the mapped words after it, and no address.
fn mapping(line: &str, run: &mut Run) -> Option<()> {
    let (length, rest) = line.strip_prefix("mmap ")?.split_once("b ")?;
    let (fd, rest) = rest.split_once(" [")?;
    let has = |letter: char, bit: u32| if rest.chars().take(4).any(|c| c == letter) { bit } else { 0 };
    let protection = has('R', 1) | has('W', 2) | has('X', 4);
    let flags = has('s', 1) | has('p', 2);
    let (length, fd) = (hex::number(length)?, fd.parse().ok()?);
    let action = Action::Mmap { fd, path: String::new(), address: 0, length, protection, flags, offset: 0 };
    run.calls.push(KernelCall::new(action));
    Some(())
}

/// The line without escape sequences of colours.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        let after = after.strip_prefix('[').unwrap_or(after);
        let end = after.find('m').filter(|end| *end <= 4);
        rest = end.and_then(|end| after.get(end + 1..)).unwrap_or(after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_before_and_after() {
        let text = "offset: 0x0\nmmap 0x1000b 4 [RWxs] (no hint)\t\nioctl 2a, 32-byte param, fd 3\t\
            \u{1b}[1m\u{1b}[32m0xc1d00001 \u{1b}[0m\u{1b}[1m0x00000000 \u{1b}[0m0x20800110 0x00000000 \n\
            \u{1b}[1m0x0010\t\t\t\t0x0000abcd \
            0x00000000 0x00000048 0x00000000 \n\u{1b}[1m\u{1b}[34mRESULT: 0\u{1b}[0m\t\t\t0xc1d00001 0x00000000 \
            0x20800110 0x00000000 \n0x0010\t\t\t\t0x0000abcd 0x00000000 0x00000048 0x00000029 \n\n\
            ioctl d2, 4-byte param, fd 3\t0x00000001 \nRESULT: -1\t\t\t\n";
        assert!(text.lines().any(is_line));
        let run = read(text);
        assert_eq!((run.calls.len(), run.skipped_count), (3, 0));
        let Action::Ioctl(ioctl) = &run.calls[1].action else { panic!() };
        let (before, after) = (ioctl.before.as_ref().unwrap(), ioctl.after.as_ref().unwrap());
        assert_eq!((before.len(), after.len(), after[28], ioctl.request), (32, 32, 0x29, 0xc020_462a));
        assert_eq!((&before[8..12], run.calls[1].result), (&[0x10, 1, 0x80, 0x20][..], Some(0)));
        assert_eq!(ioctl.memory, []);
        let Action::Ioctl(failed) = &run.calls[2].action else { panic!() };
        assert_eq!((failed.after.as_ref(), run.calls[2].result), (None, Some(-1)));
        assert!(matches!(run.calls[0].action, Action::Mmap { length: 4096, protection: 3, flags: 1, .. }));
    }

    #[test]
    fn parameters_of_a_control() {
        let argument = "0xc1d00001 0x5c000002 0x20800110 0x00000000 \n\
                        0x0010\t\t\t\t0x0000abcd 0x00000000 0x00000014 0x00000000 \n";
        let method = "GPU method 0x5c000002:20800110\t";
        let before = "0x00000000 0x00000000 0x00000000 0x00000000 \n0x0010\t\t\t\t0x00000000 \n";
        let after = "0x00000000 0x54005854 0x00000058 0x00000000 \n0x0010\t\t\t\t0x00000007 \n";
        let text = format!(
            "ioctl 2a, 32-byte param, fd 3\t{argument}{method}{before}RESULT: 0\t\t\t{argument}{method}{after}\n"
        );
        let run = read(&text);
        let Action::Ioctl(ioctl) = &run.calls[0].action else { panic!() };
        assert_eq!((ioctl.before.as_ref().map(Vec::len), &ioctl.after), (Some(32), &ioctl.before));
        let [piece] = &ioctl.memory[..] else { panic!("{:?}", ioctl.memory) };
        let changed = piece.after.as_ref().unwrap();
        assert_eq!((piece.address, piece.before.len(), changed.len()), (0xabcd, 20, 20));
        assert_eq!((&changed[4..8], changed[16]), (&b"TX\0T"[..], 7));
    }
}

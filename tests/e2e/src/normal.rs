//! The normal form of a trace: the text without what differs from run to run.
//!
//! Arguments become `...`; times, process and thread ids, runtime versions in tags and cutap's own lines go; a result
//! that is an address, or that is no integer at all, becomes `_`. Names, order, nesting, results and marks stay. It
//! must never repair anything: a line that it does not understand stays unchanged and fails the comparison.

use crate::Counts;

/// Functions of the fixtures whose result is not an integer: the result word is whatever was left in the register.
const NO_INTEGER: &[&str] = &[
    "curandFixtureDouble",
    "curandFixtureBig",
    "curandFixtureTwoWords",
    "curandFixtureTwoDoubles",
    "curandFixtureMixed",
];

/// The whole text. A call with no child is one line here, however long it took: the 50 ms after which cutap opens a
/// call is a matter of the machine's speed, and has a separate test.
pub fn normal_form(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(without_ids).filter(|l| !l.starts_with("cutap: ")).map(normal_line) {
        match lines.last().and_then(|opening| folded(opening, &line)) {
            Some(one) => *lines.last_mut().expect("there is a last line") = one,
            None => lines.push(line),
        }
    }
    lines.iter().map(|l| format!("{l}\n")).collect()
}

/// `[tag] name(...) {` and its own closing line as one.
fn folded(opening: &str, closing: &str) -> Option<String> {
    let head = opening.strip_suffix(" {")?;
    let body = head.trim_start();
    let (indent, name) = (&head[..head.len() - body.len()], body.rsplit("] ").next()?.split('(').next()?);
    let result = closing.strip_prefix(indent)?.strip_prefix("} ")?.strip_prefix(name)?.strip_prefix(" = ")?;
    Some(format!("{head} = {result}"))
}

/// How often each function was called, after a trace in normal form: closing lines do not count again.
pub fn calls_in(normal: &str) -> Counts {
    let mut counts = Counts::new();
    for line in normal.lines().map(str::trim_start) {
        let (library, call) = match line.strip_prefix('[').and_then(|l| l.split_once("] ")) {
            Some((tag, call)) => (tag, call),
            None => ("libcuda.so.1", line),
        };
        if let Some((name, _)) = call.split_once('(').filter(|_| !call.starts_with(['}', 'l'])) {
            *counts.entry(format!("{library}:{name}")).or_default() += 1;
        }
    }
    counts
}

fn without_ids(line: &str) -> &str {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    match line.split_once(' ') {
        Some((ids, rest)) if ids.split_once('/').is_some_and(|(p, t)| digits(p) && digits(t)) => rest,
        _ => line,
    }
}

fn normal_line(line: &str) -> String {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    let (tag, body) = match body.strip_prefix('[').and_then(|l| l.split_once("] ")) {
        Some((tag, rest)) => (format!("[{}] ", tag.split(", runtime").next().unwrap_or(tag)), rest),
        None => (String::new(), body),
    };
    let (head, tail) = match body.strip_suffix(" {") {
        Some(head) => (head, " {".to_owned()),
        None => match body.rsplit_once(" = ") {
            Some((head, result)) => (head, format!(" = {}", normal_result(head, result))),
            None => return line.to_owned(),
        },
    };
    // A launch: the kernel stands where others have their arguments.
    if let Some(((name, kernel), _)) = head.split_once(" <<<").and_then(|(l, r)| Some((l.split_once(' ')?, r))) {
        // A handle is no name.
        let kernel = Some(kernel).filter(|kernel| !kernel.contains('#') && !kernel.starts_with("0x"));
        let kernel = kernel.map(|kernel| format!(" kernel={kernel}")).unwrap_or_default();
        return format!("{indent}{tag}{name}(...){kernel}{tail}");
    }
    let Some((name, arguments)) = head.split_once('(') else { return format!("{indent}{tag}{head}{tail}") };
    // A closing line names what the call wrote.
    if name.starts_with("} ") {
        return format!("{indent}{tag}{name}{tail}");
    }
    let kernel = arguments.split_once(") kernel=").map(|(_, kernel)| format!(" kernel={kernel}")).unwrap_or_default();
    format!("{indent}{tag}{name}(...){kernel}{tail}")
}

fn normal_result(head: &str, result: &str) -> String {
    let name = head.trim_start_matches("} ").split('(').next().unwrap_or_default();
    let untimed = match result.rsplit_once(" <") {
        Some((value, time)) if time.starts_with(|c: char| c.is_ascii_digit()) => value,
        _ => result,
    };
    let known = !NO_INTEGER.contains(&name) && !untimed.starts_with("0x");
    if known || untimed.starts_with('?') { untimed.to_owned() } else { "_".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_what_differs_and_nothing_else() {
        let text = "cutap: the simulated driver\n\
            12/13 [saxpy, runtime 12.9] cudaMalloc(0x7ffd3c0, 262144) {\n\
            12/13   cuMemAlloc_v2(0x7ffd3b0, \"a = (b)\") = 2 ! <1.2us>\n\
            } cudaMalloc(devPtr=&0x7f00 [device, 4 KiB]) = 2 ! <14us>\n\
            cudaLaunchKernel saxpy(int, float*) <<<1, (2,2)>>> stream 0 (args={1}) = 0 <3us>\n\
            1/2 cuFixtureDie(9) {\n1/2 } cuFixtureDie = ? <unfinished>\n\
            [libcurand.so.10] curandFixtureDouble(0x1) = 17 ! <1ns>\n";
        let expected = "[saxpy] cudaMalloc(...) {\n  cuMemAlloc_v2(...) = 2 !\n} cudaMalloc = 2 !\n\
            cudaLaunchKernel(...) kernel=saxpy(int, float*) = 0\ncuFixtureDie(...) = ? <unfinished>\n\
            [libcurand.so.10] curandFixtureDouble(...) = _\n";
        assert_eq!(normal_form(text), expected);
        let counts = calls_in(expected);
        assert_eq!(counts["saxpy:cudaMalloc"], 1);
        assert_eq!(counts["libcuda.so.1:cuMemAlloc_v2"], 1);
        assert_eq!(counts.len(), 5);
    }
}

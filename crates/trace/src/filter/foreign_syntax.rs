//! Words that users of strace, perf, grep or SQL type as a filter. A term of another language is answered with the form
//! that it has here.

use super::condition::duration;

/// Qualifiers of strace that choose no calls, and what does that here.
const QUALIFIERS: [(&[&str], &str); 6] = [
    (&["fault", "inject"], "trace, record and run change calls: cutap help inject"),
    (&["signal", "signals", "quiet", "silent"], "leave it out: cutap shows no signals, and -q silences its messages"),
    (&["abbrev", "verbose", "raw", "decode-fds"], "-v prints everything"),
    (&["read", "write", "kvm", "namespace"], "conditions on arguments are written cudaMemcpy*[count>=1MiB]"),
    (&["layer", "library", "lib", "name", "function"], "write the name alone"),
    (&["time", "duration"], "write a duration alone, as >=1ms"),
];

/// Words that mean a term of another name.
const WORDS: [(&[&str], &str); 6] = [
    (&["all", "any", "everything"], "all calls are shown without a filter; leave -e out"),
    (&["failed", "fail", "failure", "failing"], "write error, or -Z"),
    (&["successful", "success", "succeeded", "ok"], "write !error, or -z"),
    (&["kernel"], "the layer is called syscall; a kernel of the GPU is chosen by cudaLaunchKernel*[kernel=*NAME*]"),
    (&["none"], "cutap run records no calls"),
    (&["slow", "slowest"], "write a duration as >=1ms, or use cutap report --slowest"),
];

/// What to write in the place of a term that is no name; none where nothing is known.
pub(super) fn advice(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let of = |list: &[(&[&str], &str)], word: &str| {
        list.iter().find(|(words, _)| words.contains(&word)).map(|(_, advice)| (*advice).to_owned())
    };
    if let Some(advice) = of(&WORDS, &lower) {
        return Some(advice);
    }
    if duration(&format!(">{word}")).is_ok() {
        return Some(format!("write a duration as >={word} or <{word}"));
    }
    if let Some(class) = lower.strip_prefix('%') {
        return Some(format!(
            "there are no classes of calls such as %{class}; write a layer, a library or names with *"
        ));
    }
    if let Some((qualifier, value)) = lower.split_once('=') {
        let value = value.trim_start_matches('!');
        return match qualifier {
            "status" => of(&WORDS, value),
            "pid" | "tid" => Some(format!("write {qualifier}:{value}")),
            "return" | "ret" | "retval" | "result" | "rc" => {
                Some("results are compared with success alone: write error, or !error".to_owned())
            }
            _ => of(&QUALIFIERS, qualifier.trim_end_matches(['<', '>', '!'])),
        };
    }
    if let Some((before, after)) = word.split_once(['>', '<'])
        && matches!(&*before.trim().to_ascii_lowercase(), "time" | "duration" | "took" | "latency")
    {
        let sign = &word[before.len()..word.len() - after.len()];
        return Some(format!("write the duration alone: {sign}{}", after.trim()));
    }
    if let Some((name, conditions)) = word.split_once('(') {
        return Some(format!("conditions on arguments are in brackets: {name}[{}]", conditions.trim_end_matches(')')));
    }
    if let Some(name) = word.strip_prefix("not ").or_else(|| word.strip_prefix('-')) {
        return Some(format!("! means not: !{}", name.trim()));
    }
    if word.contains('|') {
        return Some(format!("a comma means or: {}", joined(word, '|')));
    }
    if let Some(pattern) = word.strip_prefix('/').or_else(|| word.contains(['\\', '$', '^']).then_some(word)) {
        let pattern: String = pattern.replace(".*", "*").chars().filter(|c| !"/\\^$()".contains(*c)).collect();
        return Some(format!("names take * and ?, not regular expressions: {pattern}"));
    }
    for (or, separator) in [(" or ", ","), (" and ", " & "), (" ", ",")] {
        if word.contains(or) {
            let words: Vec<&str> = word.split(or).map(str::trim).filter(|w| !w.is_empty()).collect();
            return Some(format!("write it as {}", words.join(separator)));
        }
    }
    None
}

fn joined(word: &str, at: char) -> String {
    word.split(at).map(str::trim).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn forms_of_other_languages() {
        for (word, said) in [
            ("all", "leave -e out"),
            ("Failed", "write error, or -Z"),
            ("1ms", "write a duration as >=1ms or <1ms"),
            ("%memory", "no classes of calls"),
            ("status=failed", "write error, or -Z"),
            ("status=!successful", "-z"),
            ("pid=12", "write pid:12"),
            ("inject=cudaMalloc:error=2", "cutap help inject"),
            ("duration>1ms", "write the duration alone: >1ms"),
            ("return=2", "write error, or !error"),
            ("time>=1ms", "write a duration alone, as >=1ms"),
            ("cudaMalloc(size>1MB)", "cudaMalloc[size>1MB]"),
            ("not cudaMalloc", "! means not: !cudaMalloc"),
            ("cudaMalloc|cudaFree", "a comma means or: cudaMalloc,cudaFree"),
            ("/cuda.*", "not regular expressions: cuda*"),
            ("^cuMem.*$", "not regular expressions: cuMem*"),
            ("-cudaFree", "! means not: !cudaFree"),
            ("cudaMalloc cudaFree", "write it as cudaMalloc,cudaFree"),
            ("runtime and error", "write it as runtime & error"),
        ] {
            let advice = advice(word).unwrap_or_default();
            assert!(advice.contains(said), "{word}: {advice}");
        }
        for name in ["cudaMaloc", "nvtx", "saxpy", "cublas"] {
            assert_eq!(advice(name), None, "{name}");
        }
    }
}

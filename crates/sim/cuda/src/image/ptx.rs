//! PTX text. The reader checks version, target, and the start of each statement at the outermost level. It extracts
//! `.entry` with its parameters and `.maxntid`, and variables in `.global` and `.const` at the outermost level. It
//! skips bodies by their braces. It rejects only text that a compiler would certainly reject.

use super::{Image, Kernel, MOST_PARAMETERS, Parameter, Variable};
use crate::abi::{Answer, Fault};
use std::ffi::CString;

/// Registers that a compiler might use for a small kernel.
const REGISTERS: i32 = 32;

/// Types of textures, samplers and surfaces, which are handles of eight bytes.
const OPAQUE: [&str; 3] = [".texref", ".samplerref", ".surfref"];

pub fn read(text: &[u8]) -> Answer<Image> {
    let text = without_comments(&String::from_utf8_lossy(text));
    if !text.contains(".version") || !text.contains(".target") {
        return Err(Fault::INVALID_IMAGE); // no PTX at all
    }
    check_version(&text)?;
    check_target(&text)?;
    let mut image = Image::default();
    let mut rest = text.as_str();
    // A statement ends with `;` or with a body in braces. The three directives of the file header end with a line.
    while let Some(end) = rest.find([';', '{']) {
        let (statement, after) = rest.split_at(end);
        if !is_directive(statement) {
            return Err(Fault::INVALID_PTX);
        }
        let is_array = after.starts_with('{') && statement.contains('=');
        if is_array {
            let close = rest.find(';').ok_or(Fault::INVALID_PTX)?;
            image.variables.extend(variable(&rest[..close]));
            rest = &rest[close + 1..];
        } else if after.starts_with('{') {
            image.kernels.extend(kernel(statement)?);
            rest = &after[body(after)?..];
        } else {
            image.variables.extend(variable(statement));
            rest = &after[1..];
        }
    }
    // The rest is no complete statement. It may be lines of the header, or start like a guard or a closing brace.
    if first_line(rest).is_none_or(|l| l.starts_with(['@', '}'])) { Ok(image) } else { Err(Fault::INVALID_PTX) }
}

/// The first words of statements at the outermost level.
const DIRECTIVES: [&str; 29] = [
    "abi_preserve",
    "abi_preserve_control",
    "alias",
    "align",
    "attribute",
    "branchtargets",
    "callprototype",
    "calltargets",
    "common",
    "const",
    "entry",
    "extern",
    "func",
    "global",
    "local",
    "noreturn",
    "param",
    "pragma",
    "reg",
    "samplerref",
    "section",
    "shared",
    "sreg",
    "surf",
    "surfref",
    "tex",
    "texref",
    "visible",
    "weak",
];

/// The first line of a statement after the lines of the header, which have no semicolon.
fn first_line(statement: &str) -> Option<&str> {
    const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];
    let mut lines = statement.lines().map(str::trim).filter(|l| !l.is_empty());
    lines.find(|l| !LINES.iter().any(|word| l.starts_with(word)))
}

/// Whether a statement at the outermost level has a valid start.
fn is_directive(statement: &str) -> bool {
    let Some(line) = first_line(statement) else { return true };
    let Some(word) = line.strip_prefix('.') else { return line.starts_with(['@', '}']) };
    let word = word.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or_default();
    DIRECTIVES.contains(&word)
}

/// The first word after a directive of the header.
fn head<'a>(text: &'a str, word: &str) -> &'a str {
    text.split_once(word)
        .and_then(|(_, t)| t.split([' ', '\t', '\r', '\n', ',']).find(|w| !w.is_empty()))
        .unwrap_or_default()
}

/// Versions of the language up to that of CUDA 13. Minor versions are not checked.
fn check_version(text: &str) -> Answer {
    let (major, minor) = head(text, ".version").split_once('.').ok_or(Fault::INVALID_PTX)?;
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(1..=9), Ok(_)) => Ok(()),
        (Ok(_), Ok(_)) => Err(Fault::UNSUPPORTED_PTX_VERSION),
        _ => Err(Fault::INVALID_PTX),
    }
}

/// The existing architectures, and possible new ones in the newest families.
fn check_target(text: &str) -> Answer {
    let target = head(text, ".target");
    let number = target.strip_prefix("sm_").or(target.strip_prefix("compute_")).unwrap_or_default();
    match number.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse::<u32>() {
        Ok(10..=13 | 20 | 21 | 30 | 32 | 35 | 37 | 50 | 52 | 53 | 60..=62 | 70 | 72 | 75) => Ok(()),
        Ok(80 | 86..=90 | 100..=129) => Ok(()),
        _ => Err(Fault::INVALID_PTX),
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, found) = rest.split_at(at);
        let (close, skip) = match found.as_bytes().get(1) {
            Some(b'/') => ("\n", 0),
            Some(b'*') => ("*/", 2),
            _ => ("/", 1), // a slash that is none of ours
        };
        out.push_str(before);
        rest = found.find(close).map_or("", |end| &found[end + skip..]);
    }
    out + rest
}

/// The length of a body in braces.
fn body(text: &str) -> Answer<usize> {
    let mut depth = 0usize;
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(at + 1);
        }
    }
    Err(Fault::INVALID_PTX)
}

/// Name and parameters of a kernel, from the text after `.entry`.
fn signature(head: &str) -> Answer<(&str, &str)> {
    let Some((name, rest)) = head.split_once('(') else {
        return if head.contains(')') { Err(Fault::INVALID_PTX) } else { Ok((head, "")) };
    };
    let (parameters, behind) = rest.split_once(')').ok_or(Fault::INVALID_PTX)?;
    let all_declared = parameters.trim().is_empty() || parameters.split(',').all(|p| p.contains(".param"));
    if name.contains(')') || parameters.contains('(') || behind.trim_start().starts_with(')') || !all_declared {
        return Err(Fault::INVALID_PTX);
    }
    Ok((name, parameters))
}

/// The kernel of a statement that declares one.
fn kernel(statement: &str) -> Answer<Option<Kernel>> {
    let Some((_, head)) = statement.split_once(".entry") else { return Ok(None) };
    let (name, parameters) = signature(head)?;
    let Some(name) = name.split_whitespace().next() else { return Err(Fault::INVALID_PTX) };
    described(head, name, parameters).ok_or(Fault::INVALID_PTX).map(Some)
}

/// `None` for parameters that a compiler rejects.
fn described(head: &str, name: &str, parameters: &str) -> Option<Kernel> {
    let name = CString::new(name).ok()?;
    let mut end = 0;
    let mut found = Vec::new();
    for text in parameters.split(',').filter(|p| p.contains(".param")) {
        let (size, align) = if OPAQUE.iter().any(|of| text.contains(of)) { (8, 8) } else { layout(text)? };
        let offset = u64::checked_next_multiple_of(end, align)?;
        found.push(Parameter { offset, size });
        end = offset.checked_add(size)?;
        if end > MOST_PARAMETERS {
            return None;
        }
    }
    let threads = head.split_once(".maxntid").map(|(_, sides)| {
        let sides = sides.split_whitespace().take_while(|w| w.starts_with(|c| is_digit(c) || c == ','));
        let sides = sides.collect::<String>();
        sides.split(',').filter_map(|n| n.parse::<i32>().ok()).fold(1, i32::saturating_mul)
    });
    let registers = REGISTERS;
    Some(Kernel { name, parameters: found, max_threads: threads, registers, ..Kernel::default() })
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn variable(statement: &str) -> Option<Variable> {
    let place = [".global", ".const"].into_iter().filter_map(|p| statement.find(p)).min()?;
    let text = &statement[place..];
    let (declared, value) = text.split_once('=').map_or((text, ""), |(d, v)| (d, v));
    let (size, _) = layout(declared)?;
    let word = declared.split_whitespace().next_back()?;
    let name = word.split('[').next()?.to_owned();
    let start = match value.trim().parse::<i64>() {
        Ok(number) => number.to_le_bytes()[..(size as usize).min(8)].to_vec(),
        Err(_) => Vec::new(),
    };
    let managed = statement.contains(".managed");
    Some(Variable { name, size, start, managed })
}

/// Size and alignment of a declaration: `.align 4 .b8 name[164]`, `.u64 name`, `.v4 .f32 name`. `None` for one that a
/// compiler rejects.
fn layout(text: &str) -> Option<(u64, u64)> {
    // `.param.f64 a` is a valid form of `.param .f64 a`.
    let text = &text.replace('.', " .");
    let words: Vec<&str> = text.split_whitespace().collect();
    let element = words.iter().find_map(|w| {
        let digits = w.strip_prefix(".")?.trim_start_matches(['b', 'u', 's', 'f']);
        if digits == "16x2" {
            return Some(4);
        }
        Some(digits.parse::<u64>().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64 | 128))? / 8)
    });
    let vector = match words.iter().find_map(|w| w.strip_prefix(".v").filter(|n| n.starts_with(is_digit))) {
        Some(number) => number.parse().ok().filter(|n| matches!(n, 2 | 4 | 8))?,
        None => 1,
    };
    let one: u64 = element? * vector;
    let mut counts = text.split('[').skip(1).filter_map(|n| n.split(']').next()?.trim().parse::<u64>().ok());
    let size = counts.try_fold(one, u64::checked_mul)?;
    // The alignment of a pointer is that of the memory it points to.
    let align = match words.iter().position(|w| *w == ".align").filter(|_| !words.contains(&".ptr")) {
        Some(at) => words.get(at + 1)?.parse().ok().filter(|align: &u64| align.is_power_of_two())?,
        None => one,
    };
    Some((size, align))
}

#[cfg(test)]
mod tests {
    use super::read;

    const TEXT: &str = "//\n.version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 counter = 42;\n\
        .const .align 4 .b8 table[64];\n.global .align 4 .b8 list[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n\
        .visible .entry plain(\n.param .align 4 .b8 a[164], // {\n.param .f64 b,\n.param .u8 c,\n.param .u16 d)\n\
        .maxntid 256, 1, 1\n{ .reg .b16 %rs<2>; { ret; } }\n.func f() { ret; }\n.visible .entry none()\n{ ret; }\n";

    #[test]
    fn kernels_with_their_parameters() {
        let image = read(TEXT.as_bytes()).expect("it is PTX");
        let names: Vec<_> = image.kernels.iter().map(|k| k.name.to_str().unwrap_or_default()).collect();
        assert_eq!(names, ["plain", "none"]);
        let parameters: Vec<_> = image.kernels[0].parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(parameters, [(0, 164), (168, 8), (176, 1), (178, 2)]);
        assert_eq!(image.kernels[0].max_threads, Some(256));
        assert!(image.kernels[1].parameters.is_empty());
    }

    #[test]
    fn variables_with_their_sizes() {
        let image = read(TEXT.as_bytes()).expect("it is PTX");
        let found: Vec<_> = image.variables.iter().map(|v| (v.name.as_str(), v.size)).collect();
        assert_eq!(found, [("counter", 4), ("table", 64), ("list", 8)]);
        assert_eq!(image.variables[0].start, 42u32.to_le_bytes());
    }

    #[test]
    fn directives_without_a_space_between() {
        let text = ".version 8.0\n.target sm_80\n.visible.entry f(.param.f64 a,.param.align 4.b8 s[12],\n\
            .param.texref t,\n.param .f16x2 h)\n{ ret; }\n";
        let image = read(text.as_bytes()).expect("it is PTX");
        let found: Vec<_> = image.kernels[0].parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(found, [(0, 8), (8, 12), (24, 8), (32, 4)]);
    }

    #[test]
    fn alignments_and_sizes_that_there_are_not() {
        let head = ".version 8.0\n.target sm_80\n.visible .entry k(";
        for wrong in [
            ".param .align 0 .b8 a[4]",
            ".param .align 3 .b8 a[4]",
            ".param .align",
            ".param .v0 .u32 a",
            ".param .v3 .u32 a",
            ".param .v99999999999999999999 .u32 a",
            ".param .b8 a[18446744073709551615]",
            ".param .b8 a[4294967296][4294967296]",
            ".param .b8 a[32765]",
            ".param .b8 a[32764], .param .b8 b",
            ".param .align 9223372036854775808 .b8 a, .param .align 9223372036854775808 .b8 b",
        ] {
            assert_eq!(read(format!("{head}{wrong}){{ret;}}").as_bytes()).err().map(|f| f.0), Some(218), "{wrong}");
        }
        let right = ".param .u32 n, .param .u64 .ptr .global .align 16 p, .param .v4 .f32 q, .param .b8 a[32732]";
        let image = read(format!("{head}{right}){{ret;}}").as_bytes()).expect("it is PTX");
        let found: Vec<_> = image.kernels[0].parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(found, [(0, 4), (8, 8), (16, 16), (32, 32732)]);
    }

    #[test]
    fn versions_targets_and_forms_that_there_are_not() {
        let head = ".version 7.8\n.target sm_80\n.address_size 64\n";
        let refused = |text: &str| read(text.as_bytes()).err().map(|fault| fault.0);
        for (version, expected) in [
            ("9.5", None),
            ("1.0", None),
            ("99.9", Some(222)),
            ("10.0", Some(222)),
            ("8", Some(218)),
            ("x.y", Some(218)),
        ] {
            assert_eq!(refused(&format!(".version {version}\n.target sm_80\n")), expected, "{version}");
        }
        for target in
            ["sm_20", "sm_90a", "sm_103f", "sm_121a", "compute_80", "sm_80, texmode_independent", "sm_80,debug"]
        {
            assert_eq!(refused(&format!(".version 8.0\n.target {target}\n")), None, "{target}");
        }
        for target in ["sm_999", "sm_42", "sm_81", "sm80", "foo80", "sm_", "80"] {
            assert_eq!(refused(&format!(".version 8.0\n.target {target}\n")), Some(218), "{target}");
        }
        for right in ["k(){ret;}", "k{ret;}", "k(.param .u64 a)\n.maxntid 1,1,1\n{ret;}", "k(.param .u64 a);"] {
            assert_eq!(refused(&format!("{head}.visible .entry {right}\n")), None, "{right}");
        }
        for wrong in [
            "k(.param .u64 a{ret;}",
            "k(.param .u64 a)){ret;}",
            "k .param .u64 a){ret;}",
            "k(.param .u64 a,){ret;}",
            "k(.u64 a){ret;}",
            "(.param .u64 a){ret;}",
            "k(){ret;",
            "k(",
        ] {
            assert_eq!(refused(&format!("{head}.visible .entry {wrong}\n")), Some(218), "{wrong}");
        }
        for wrong in [".foo x;", ".foo .entry k(){ret;}", "garbage", ".entry k(){ret;}\ngarbage"] {
            assert_eq!(refused(&format!("{head}{wrong}\n")), Some(218), "{wrong}");
        }
        for right in
            [".extern .func f(.param .b32 a);", ".weak .func f(){}", ".pragma \"nounroll\";", ".file 1 \"a(b.cu\""]
        {
            assert_eq!(refused(&format!("{head}{right}\n")), None, "{right}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        assert!(read(b"int main() { return 0; }").is_err());
        assert!(read(b".version 8.0 .target sm_80 .entry x() {").is_err());
    }
}

//! The text of a whole module. The reader checks version, target, and the start of each statement at the outermost
//! level. It extracts kernels, and variables in `.global` and `.const` at the outermost level. It skips bodies by their
//! braces. It rejects only text that a compiler would certainly reject.

use super::declaration::{Declaration, is_opaque};
use super::kernel::Kernel;
use super::words::{without_comments, words};

/// Why text is no module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// It is no PTX at all.
    NotPtx,
    /// It is of a version of the language that does not exist yet.
    Version,
    /// A compiler would reject it.
    Syntax,
}

/// A variable that the host can find by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// The initial bytes. All others are zero.
    pub start: Vec<u8>,
    /// Whether it is in managed memory.
    pub managed: bool,
}

/// What a text has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// Its kernels in order.
    pub kernels: Vec<Kernel>,
    /// Its variables in order.
    pub variables: Vec<Variable>,
}

impl Module {
    /// Reads a text.
    ///
    /// # Errors
    /// A compiler would reject it.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let text = without_comments(&String::from_utf8_lossy(text));
        if !text.contains(".version") || !text.contains(".target") {
            return Err(Error::NotPtx);
        }
        check_version(&text)?;
        check_target(&text)?;
        let mut module = Self::default();
        let mut rest = text.as_str();
        // A statement ends with `;` or with a body in braces. The three directives of the file header end with a line.
        while let Some(end) = rest.find([';', '{']) {
            let (statement, after) = rest.split_at(end);
            if !is_directive(statement) {
                return Err(Error::Syntax);
            }
            let is_array = after.starts_with('{') && statement.contains('=');
            if is_array {
                let (array, after) = rest.split_once(';').ok_or(Error::Syntax)?;
                module.variables.extend(variable(array));
                rest = after;
            } else if after.starts_with('{') {
                module.kernels.extend(kernel(statement)?);
                rest = behind_body(after)?;
            } else {
                module.variables.extend(variable(statement));
                rest = after.get(1..).unwrap_or_default();
            }
        }
        // The rest is no complete statement. It may be lines of the header, or start like a guard or a closing brace.
        let is_end = first_line(rest).is_none_or(|line| line.starts_with(['@', '}']));
        if is_end { Ok(module) } else { Err(Error::Syntax) }
    }
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
fn check_version(text: &str) -> Result<(), Error> {
    let (major, minor) = head(text, ".version").split_once('.').ok_or(Error::Syntax)?;
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(1..=9), Ok(_)) => Ok(()),
        (Ok(_), Ok(_)) => Err(Error::Version),
        _ => Err(Error::Syntax),
    }
}

/// The existing architectures, and possible new ones in the newest families.
fn check_target(text: &str) -> Result<(), Error> {
    let target = head(text, ".target");
    let number = target.strip_prefix("sm_").or(target.strip_prefix("compute_")).unwrap_or_default();
    match number.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse::<u32>() {
        Ok(10..=13 | 20 | 21 | 30 | 32 | 35 | 37 | 50 | 52 | 53 | 60..=62 | 70 | 72 | 75) => Ok(()),
        Ok(80 | 86..=90 | 100..=129) => Ok(()),
        _ => Err(Error::Syntax),
    }
}

/// The text behind a body in braces.
fn behind_body(text: &str) -> Result<&str, Error> {
    let mut depth = 0_usize;
    for (at, sign) in text.match_indices(['{', '}']) {
        depth = if sign == "{" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return Ok(text.get(at + 1..).unwrap_or_default());
        }
    }
    Err(Error::Syntax)
}

/// The kernel of a statement that declares one.
fn kernel(statement: &str) -> Result<Option<Kernel>, Error> {
    let Some((_, head)) = statement.split_once(".entry") else { return Ok(None) };
    Kernel::parse_plain(head).ok_or(Error::Syntax).map(Some)
}

fn variable(statement: &str) -> Option<Variable> {
    let (declared, value) = statement.split_once('=').unwrap_or((statement, ""));
    let words = words(declared)?;
    let place = words.iter().position(|word| matches!(*word, ".global" | ".const"))?;
    let words = words.get(place + 1..).filter(|words| !words.iter().any(|word| is_opaque(word)))?;
    let Declaration { name, size, .. } = Declaration::parse(words)?;
    let start = match value.trim().parse::<i64>() {
        Ok(number) => number.to_le_bytes().into_iter().take(size.min(8) as usize).collect(),
        Err(_) => Vec::new(),
    };
    Some(Variable { name: name?.to_owned(), size, start, managed: statement.contains(".managed") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Module, Error> {
        Module::parse(text)
    }

    const TEXT: &str = "//\n.version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 counter = 42;\n\
        .const .align 4 .b8 table[64];\n.global .align 4 .b8 list[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n\
        .visible .entry plain(\n.param .align 4 .b8 a[164], // {\n.param .f64 b,\n.param .u8 c,\n.param .u16 d)\n\
        .maxntid 256, 1, 1\n{ .reg .b16 %rs<2>; { ret; } }\n.func f() { ret; }\n.visible .entry none()\n{ ret; }\n";

    #[test]
    fn kernels_with_their_parameters() {
        let image = read(TEXT.as_bytes()).expect("it is PTX");
        let names: Vec<_> = image.kernels.iter().map(|k| k.name.as_str()).collect();
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
            assert_eq!(read(format!("{head}{wrong}){{ret;}}").as_bytes()).err(), Some(Error::Syntax), "{wrong}");
        }
        let right = ".param .u32 n, .param .u64 .ptr .global .align 16 p, .param .v4 .f32 q, .param .b8 a[32732]";
        let image = read(format!("{head}{right}){{ret;}}").as_bytes()).expect("it is PTX");
        let found: Vec<_> = image.kernels[0].parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(found, [(0, 4), (8, 8), (16, 16), (32, 32732)]);
    }

    #[test]
    fn versions_targets_and_forms_that_there_are_not() {
        let head = ".version 7.8\n.target sm_80\n.address_size 64\n";
        let refused = |text: &str| read(text.as_bytes()).err();
        for (version, expected) in [
            ("9.5", None),
            ("1.0", None),
            ("99.9", Some(Error::Version)),
            ("10.0", Some(Error::Version)),
            ("8", Some(Error::Syntax)),
            ("x.y", Some(Error::Syntax)),
        ] {
            assert_eq!(refused(&format!(".version {version}\n.target sm_80\n")), expected, "{version}");
        }
        for target in
            ["sm_20", "sm_90a", "sm_103f", "sm_121a", "compute_80", "sm_80, texmode_independent", "sm_80,debug"]
        {
            assert_eq!(refused(&format!(".version 8.0\n.target {target}\n")), None, "{target}");
        }
        for target in ["sm_999", "sm_42", "sm_81", "sm80", "foo80", "sm_", "80"] {
            assert_eq!(refused(&format!(".version 8.0\n.target {target}\n")), Some(Error::Syntax), "{target}");
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
            assert_eq!(refused(&format!("{head}.visible .entry {wrong}\n")), Some(Error::Syntax), "{wrong}");
        }
        for wrong in [".foo x;", ".foo .entry k(){ret;}", "garbage", ".entry k(){ret;}\ngarbage"] {
            assert_eq!(refused(&format!("{head}{wrong}\n")), Some(Error::Syntax), "{wrong}");
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

//! Runs clang over a set of headers: its tree as JSON, and all macros with the file of each.
//! Must not interpret either.

use crate::node::Node;
use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One reading of a set of headers.
pub(crate) struct Reading<'a> {
    pub(crate) headers: Vec<&'a str>,
    pub(crate) folders: &'a [PathBuf],
    pub(crate) defines: Vec<&'a str>,
    pub(crate) cxx: bool,
}

/// A macro without parameters.
#[derive(Debug, Clone)]
pub(crate) struct Macro {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) file: String,
}

impl Reading<'_> {
    pub(crate) fn tree(&self) -> Result<Node> {
        let json = self.run(&["-fsyntax-only", "-Xclang", "-ast-dump=json"])?;
        serde_json::from_slice(&json).context("clang's JSON was not understood: is this clang older than 9?")
    }

    /// The compiler's own layouts of all records, as text; also of those that `more` declares after the headers.
    pub(crate) fn layouts(&self, more: &str) -> Result<String> {
        let source = self.source() + more;
        let text = self.run_on(&source, &["-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete"])?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The macros, in order; one that is defined twice stands here twice.
    pub(crate) fn macros(&self) -> Result<Vec<Macro>> {
        let text = self.run(&["-E", "-dD"])?;
        Ok(macros(&String::from_utf8_lossy(&text)))
    }

    /// A program for clang or gcc that includes them.
    pub(crate) fn source(&self) -> String {
        self.headers.iter().map(|h| format!("#include <{h}>\n")).collect()
    }

    fn run(&self, words: &[&str]) -> Result<Vec<u8>> {
        self.run_on(&self.source(), words)
    }

    fn run_on(&self, source: &str, words: &[&str]) -> Result<Vec<u8>> {
        let clang = find()?;
        let mut command = Command::new(&clang);
        command.args(["-w", "-ferror-limit=0", "-x", if self.cxx { "c++" } else { "c" }]);
        // Some headers have a macro of the standard's number, and each clang has its own usual one.
        command.args(self.cxx.then_some("-std=gnu++17"));
        command.args(self.defines.iter().map(|d| format!("-D{d}")));
        command.args(self.folders.iter().map(|f| format!("-I{}", f.display())));
        command.args(words).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{clang} (of CUTAP_CLANG?) cannot be started"))?;
        child.stdin.take().context("clang's input")?.write_all(source.as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let first = stderr.lines().find(|l| l.contains("error")).unwrap_or("clang said nothing");
            bail!("{} could not be read: {first}", self.headers.join(", "));
        }
        ensure!(!output.stdout.is_empty(), "clang answered nothing for {}", self.headers.join(", "));
        Ok(output.stdout)
    }
}

/// The clang to use: `$CUTAP_CLANG`, else the newest found.
pub(crate) fn find() -> Result<String> {
    if let Ok(named) = std::env::var("CUTAP_CLANG") {
        return Ok(named);
    }
    let plain = std::iter::once("clang".to_owned());
    let compiler = plain.chain((14..=24).rev().map(|n| format!("clang-{n}"))).find(|name| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    });
    compiler.context(
        "clang is not installed, and an import needs it to read headers: `apt-get install clang`, or name one in \
         CUTAP_CLANG (what is committed under api/ needs no clang to be used)",
    )
}

fn macros(text: &str) -> Vec<Macro> {
    let mut file = String::new();
    let mut macros = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            if let Some(name) = rest.split('"').nth(1) {
                name.clone_into(&mut file);
            }
        } else if let Some(rest) = line.strip_prefix("#define ") {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, text) = rest.split_at(end);
            if !text.starts_with('(') {
                macros.push(Macro { name: name.to_owned(), text: text.trim().to_owned(), file: file.clone() });
            }
        }
    }
    macros
}

#[cfg(test)]
mod tests {
    #[test]
    fn macros_have_files() {
        let text = "# 1 \"a.h\" 1\n#define A 1\n#define F(x) x\n#define B\n# 3 \"dir/b.h\" 2\n#define C (A + 1)\n";
        let found: Vec<_> = super::macros(text).into_iter().map(|m| (m.name, m.text, m.file)).collect();
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(found, [row("A", "1", "a.h"), row("B", "", "a.h"), row("C", "(A + 1)", "dir/b.h")]);
    }
}

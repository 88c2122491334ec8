//! `page`: joins the modules of `crates/view/page` into the template of `cutap view`, `crates/view/src/page.html`. A
//! module becomes a function that returns what it exports. The page's policy allows this one script and this one style
//! by their hashes, so the file may hold anything else only as text.

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FOLDER: &str = "crates/view/page";
const MADE: &str = "crates/view/src/page.html";
const LONGEST: usize = 118;

/// The module that begins.
const MAIN: &str = "main.js";

/// Writes the template.
pub(crate) fn run(root: &Path) -> Result<()> {
    let (path, bytes) = generate(root)?;
    std::fs::write(root.join(&path), bytes).with_context(|| format!("writing {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// The template and its path.
pub(crate) fn generate(root: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let folder = root.join(FOLDER);
    let read = |name: &str| -> Result<String> {
        let text = std::fs::read_to_string(folder.join(name)).with_context(|| format!("{FOLDER}/{name}"))?;
        for (n, line) in text.lines().enumerate() {
            ensure!(line.chars().count() <= LONGEST, "{FOLDER}/{name}:{}: longer than {LONGEST} columns", n + 1);
        }
        Ok(text)
    };
    let mut modules = Modules { texts: BTreeMap::new(), order: Vec::new() };
    for entry in std::fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".js") {
            let text = read(&name)?;
            modules.texts.insert(name, text);
        }
    }
    let (script, style) = (modules.joined()?, read("style.css")?);
    for word in ["</script", "</style", "<!--"] {
        ensure!(!script.contains(word) && !style.contains(word), "{word} would end the script or the style");
    }
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let mut page = read("template.html")?;
    for (place, text) in [("POLICY", &policy), ("STYLE", &style), ("SCRIPT", &script)] {
        let place = format!("<!--{place}-->");
        ensure!(page.matches(&place).count() == 1, "template.html has {place} not once");
        page = page.replace(&place, text);
    }
    Ok((MADE.into(), page.into_bytes()))
}

/// SHA-256 as a policy has it.
fn hash(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text.as_bytes());
    let mut out = String::new();
    for three in digest.chunks(3) {
        let number = (0..3).fold(0u32, |n, place| n << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
        let letter = |place: usize| char::from(LETTERS[(number >> (18 - 6 * place)) as usize & 63]);
        (0..4).for_each(|place| out.push(if place > three.len() { '=' } else { letter(place) }));
    }
    out
}

/// Modules by the names of their files, and those that were joined.
struct Modules {
    texts: BTreeMap<String, String>,
    order: Vec<(String, String)>,
}

impl Modules {
    /// One script: each module behind those that it imports.
    fn joined(&mut self) -> Result<String> {
        self.join(MAIN, &mut Vec::new())?;
        if let Some(unused) = self.texts.keys().find(|name| !self.order.iter().any(|(joined, _)| joined == *name)) {
            bail!("{FOLDER}/{unused} is imported by no module");
        }
        let parts: Vec<&str> = self.order.iter().map(|(_, text)| text.as_str()).collect();
        Ok(format!("\"use strict\";\n{}", parts.join("\n")))
    }

    fn join(&mut self, name: &str, open: &mut Vec<String>) -> Result<()> {
        if self.order.iter().any(|(joined, _)| joined == name) {
            return Ok(());
        }
        ensure!(!open.iter().any(|of| of == name), "modules import each other in a circle: {} {name}", open.join(" "));
        let text = self.texts.get(name).with_context(|| format!("no module {name}"))?.clone();
        open.push(name.to_owned());
        let (mut body, mut exports) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some((names, from)) = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from ")) {
                let from = from.trim_matches(|c| matches!(c, '"' | ';' | '.' | '/'));
                self.join(&format!("{}.js", from.trim_end_matches(".js")), open)?;
                body += &format!("const {names} = {};\n", variable(from));
                continue;
            }
            ensure!(!line.starts_with("import "), "{name}: an import must be one line: {line}");
            let declared = line.strip_prefix("export ");
            if let Some(declared) = declared {
                exports.push(declared_name(declared).with_context(|| format!("{name}: {line}"))?);
            }
            body += declared.unwrap_or(line);
            body.push('\n');
        }
        open.pop();
        let exports = exports.join(", ");
        let joined = format!("const {} = (() => {{\n{body}return {{{exports}}};\n}})();", variable(name));
        self.order.push((name.to_owned(), joined));
        Ok(())
    }
}

/// The variable of a module.
fn variable(name: &str) -> String {
    format!("m_{}", name.trim_end_matches(".js"))
}

/// The name that `async function f(` or `const C =` declares.
fn declared_name(declared: &str) -> Result<&str> {
    let mut words = declared.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let name = words.find(|word| !matches!(*word, "async" | "function" | "const" | "let" | "class"));
    name.context("an export must be a declaration")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(modules: &[(&str, &str)]) -> Result<String> {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Modules { texts: modules.iter().map(own).collect(), order: Vec::new() }.joined()
    }

    #[test]
    fn modules_come_behind_their_imports() {
        let main = ("main.js", "import {f} from \"./a.js\";\nf();\n");
        let script = joined(&[main, ("a.js", "export async function f() {}\n")]).unwrap();
        let expected = "\"use strict\";\nconst m_a = (() => {\nasync function f() {}\nreturn {f};\n})();\n\
             const m_main = (() => {\nconst {f} = m_a;\nf();\nreturn {};\n})();";
        assert_eq!(script, expected);
    }

    #[test]
    fn refused() {
        let main = ("main.js", "import {f} from \"./a.js\";\n");
        assert!(joined(&[main, ("a.js", "import {x} from \"./main.js\";\n")]).is_err(), "a circle");
        assert!(joined(&[main]).is_err(), "no such module");
        assert!(joined(&[("main.js", ""), ("b.js", "")]).is_err(), "not imported");
    }

    #[test]
    fn known_hash() {
        assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}

//! The preload's code for one processor is in its folders `arch` and `sys/arch`. No other file has assembler or names a
//! processor or a register.

use anyhow::{Context, Result};
use std::path::Path;

const SOURCES: &str = "crates/preload/src";
const FOLDERS: [&str; 2] = ["arch/", "sys/arch/"];

/// Words of assembler, and the processor.
const ASSEMBLER: [&str; 4] = ["asm", "global_asm", "naked_asm", "x86_64"];

const REGISTERS: [&str; 23] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    "xmm", "xmm0", "xmm1", "xmm7", "eax", "edi", "rip",
];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    walk(&root.join(SOURCES), "", wrong)
}

fn walk(folder: &Path, within: &str, wrong: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            walk(&path, &format!("{within}{name}/"), wrong)?;
        } else if !FOLDERS.iter().any(|arch| within.starts_with(arch)) {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            wrong.extend(complaint(&format!("{within}{name}"), &text));
        }
    }
    Ok(())
}

fn complaint(file: &str, text: &str) -> Option<String> {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    if let Some(word) = words().find(|word| ASSEMBLER.contains(word)) {
        return Some(format!("{SOURCES}/{file} has {word}: it belongs in arch/ or sys/arch/"));
    }
    let register = words().find(|word| REGISTERS.contains(word));
    register.map(|register| format!("{SOURCES}/{file} names the register {register}: it belongs in arch/ or sys/arch/"))
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn assembler_and_registers() {
        assert_eq!(complaint("slots/table.rs", "fn f() { arch::load8(r#as) }"), None);
        assert!(complaint("slots/table.rs", "asm!(\"nop\")").is_some());
        assert!(complaint("slots/table.rs", "/// Comes in rdi.").is_some());
        assert_eq!(complaint("slots/frame.rs", "/// The argument registers, in order."), None);
    }
}

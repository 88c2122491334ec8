//! Call sites: the disassembly around each call of a watched function, with the constant arguments that the code before
//! it sets. An ioctl request is named by the tables; the name of an environment variable is read from the data.

use super::Binary;
use cutap_rm::{Tables, escape_of};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, Mnemonic, NasmFormatter, OpKind, Register};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// The functions that are looked for.
const WATCHED: [&str; 6] = ["ioctl", "mmap", "mmap64", "getenv", "secure_getenv", "__secure_getenv"];
/// How many instructions before a call may set its arguments.
const SETTERS: usize = 12;

/// A call site.
#[derive(Debug, Clone)]
pub struct Site {
    /// The function that is called; `syscall` for the instruction.
    pub function: &'static str,
    /// The address of the call.
    pub address: u64,
    /// The nearest function of the file at or before it.
    pub nearest: Option<String>,
    /// The meaning of a constant argument: a request, or the name of a variable.
    pub argument: Option<String>,
    /// Instructions around it: address and text.
    pub lines: Vec<(u64, String)>,
}

/// Finds the call sites, with so many instructions before and after each.
#[must_use]
pub fn find(binary: &Binary, context: usize) -> Vec<Site> {
    let targets = stubs(binary);
    let mut sites = Vec::new();
    for (start, bytes) in &binary.code {
        section(binary, &targets, *start, bytes, context, &mut sites);
    }
    sites.sort_by_key(|site| site.address);
    sites
}

/// Addresses that lead to a watched function: jump stubs, and its own code in a static program.
fn stubs(binary: &Binary) -> HashMap<u64, &'static str> {
    let mut names_by_address = HashMap::new();
    for name in WATCHED {
        if let Some(address) = binary.function(name) {
            names_by_address.insert(address, name);
        }
    }
    for (start, bytes) in &binary.code {
        // A stub is `endbr64` or nothing, then a jump through a slot.
        let mut decoder = Decoder::with_ip(64, bytes, *start, DecoderOptions::NONE);
        let (mut instruction, mut begin) = (Instruction::default(), None);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            match (instruction.mnemonic(), slot(binary, &instruction)) {
                (Mnemonic::Jmp, Some(name)) => drop(names_by_address.insert(begin.unwrap_or(instruction.ip()), name)),
                (Mnemonic::Endbr64, _) => {
                    begin = Some(instruction.ip());
                    continue;
                }
                _ => {}
            }
            begin = None;
        }
    }
    names_by_address
}

/// The watched function through whose slot an instruction goes.
fn slot(binary: &Binary, instruction: &Instruction) -> Option<&'static str> {
    let through = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address())?;
    let name = binary.slots.get(&through)?;
    WATCHED.into_iter().find(|watched| watched == name)
}

fn called(binary: &Binary, targets: &HashMap<u64, &'static str>, instruction: &Instruction) -> Option<&'static str> {
    match instruction.mnemonic() {
        Mnemonic::Syscall => Some("syscall"),
        Mnemonic::Call | Mnemonic::Jmp => match instruction.op0_kind() {
            OpKind::NearBranch64 => targets.get(&instruction.near_branch_target()).copied(),
            // A jump through a slot is the stub itself.
            _ if instruction.mnemonic() == Mnemonic::Call => slot(binary, instruction),
            _ => None,
        },
        _ => None,
    }
}

fn section(
    binary: &Binary,
    targets: &HashMap<u64, &'static str>,
    start: u64,
    bytes: &[u8],
    context: usize,
    sites: &mut Vec<Site>,
) {
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut formatter = NasmFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_space_after_operand_separator(true);
    let mut before: VecDeque<Instruction> = VecDeque::new();
    // Sites that still need instructions after them: place in `sites`, how many.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let function = called(binary, targets, &instruction);
        for (at, _) in &open {
            let line = line(binary, &mut formatter, &instruction, function);
            if let Some(site) = sites.get_mut(*at) {
                site.lines.push(line);
            }
        }
        open.iter_mut().for_each(|(_, left)| *left -= 1);
        open.retain(|(_, left)| *left > 0);
        if let Some(function) = function {
            let own = line(binary, &mut formatter, &instruction, Some(function));
            let preceding = before.iter().skip(before.len().saturating_sub(context));
            let mut lines: Vec<_> = preceding.map(|i| line(binary, &mut formatter, i, None)).collect();
            lines.push(own);
            let address = instruction.ip();
            let argument = argument(binary, function, &before);
            sites.push(Site { function, address, nearest: binary.nearest(address), argument, lines });
            if context > 0 {
                open.push((sites.len() - 1, context));
            }
        }
        if before.len() >= context.max(SETTERS) {
            before.pop_front();
        }
        before.push_back(instruction);
    }
}

fn line(
    binary: &Binary,
    formatter: &mut NasmFormatter,
    instruction: &Instruction,
    function: Option<&str>,
) -> (u64, String) {
    let mut text = String::new();
    match function {
        Some(function) if function != "syscall" => {
            let _ = write!(text, "{} {function}", if instruction.mnemonic() == Mnemonic::Jmp { "jmp" } else { "call" });
        }
        _ => formatter.format(instruction, &mut text),
    }
    let memory = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
    if let (Mnemonic::Lea, Some(found)) = (instruction.mnemonic(), memory.and_then(|at| binary.text(at))) {
        let _ = write!(text, "  ; \"{}\"", cutap_printable::printable(&found));
    }
    (instruction.ip(), text)
}

/// The constant argument of a call, from the last instruction before it that sets the register.
fn argument(binary: &Binary, function: &str, before: &VecDeque<Instruction>) -> Option<String> {
    let is_getenv = function.ends_with("getenv");
    let register = match function {
        "ioctl" => Register::RSI,
        _ if is_getenv => Register::RDI,
        _ => return None,
    };
    for instruction in before.iter().rev().take(SETTERS) {
        // After a call nothing is known of the registers.
        if matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Ret | Mnemonic::Jmp) {
            return None;
        }
        if instruction.op_count() == 0
            || instruction.op0_kind() != OpKind::Register
            || instruction.op0_register().full_register() != register
        {
            continue;
        }
        let is_immediate = instruction.mnemonic() == Mnemonic::Mov
            && matches!(instruction.op1_kind(), OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64);
        return match instruction.mnemonic() {
            Mnemonic::Lea if is_getenv && instruction.is_ip_rel_memory_operand() => {
                binary.text(instruction.ip_rel_memory_address())
            }
            _ if is_immediate && is_getenv => binary.text(instruction.immediate(1)),
            _ if is_immediate => u32::try_from(instruction.immediate(1) & 0xffff_ffff).ok().map(request),
            _ => None,
        };
    }
    None
}

/// A request with its name.
fn request(number: u32) -> String {
    let tables = Tables::of_default_release();
    let is_escape = number >> 8 & 0xff == u32::from(b'F') && number >> 30 != 0;
    let name = match is_escape {
        true => tables.and_then(|t| t.escape(escape_of(number).0)).map(|e| e.name()),
        false => tables.and_then(|t| t.uvm(number)).map(|u| u.name()),
    };
    name.map_or_else(|| format!("{number:#x}"), |name| format!("{number:#x} {name}"))
}

/// The sites as text.
#[must_use]
pub fn text(file: &str, sites: &[Site]) -> String {
    let mut out = String::new();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for site in sites {
        match counts.iter_mut().find(|(name, _)| *name == site.function) {
            Some((_, count)) => *count += 1,
            None => counts.push((site.function, 1)),
        }
    }
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} of {name}")).collect();
    let file = cutap_printable::printable(file);
    let _ = match counts.is_empty() {
        true => writeln!(out, "{file}: no call of ioctl, mmap or getenv, and no syscall instruction"),
        false => writeln!(out, "{file}: call sites: {}", counts.join(", ")),
    };
    for site in sites {
        let nearest = site.nearest.as_deref().unwrap_or("before every function with a name");
        let _ = write!(out, "\n{} at {:#x}, {nearest}", site.function, site.address);
        let _ = match &site.argument {
            Some(argument) => writeln!(out, ": {}", cutap_printable::printable(argument)),
            None => writeln!(out),
        };
        for (address, line) in &site.lines {
            let mark = if *address == site.address { "->" } else { "  " };
            let _ = writeln!(out, "  {mark} {address:x}  {line}");
        }
    }
    out
}

/// The sites as JSON, one object a line.
#[must_use]
pub fn json(file: &str, sites: &[Site]) -> String {
    let mut out = String::new();
    for site in sites {
        let lines: Vec<String> = site.lines.iter().map(|(address, text)| format!("{address:x} {text}")).collect();
        let object = serde_json::json!({
            "file": file,
            "function": site.function,
            "address": format!("{:#x}", site.address),
            "nearest": site.nearest,
            "argument": site.argument,
            "instructions": lines,
        });
        out += &(cutap_printable::json(&object.to_string()).into_owned() + "\n");
    }
    out
}

//! Where parameters are found, against a C program: gcc calls functions with hundreds of parameter lists,
//! a stub keeps the registers and the stack, and the bytes of each parameter must stand where we say. The
//! block of a runtime's callback is compared with `offsetof`.

use super::Api;
use crate::interface::functions::FunctionRow;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Types: what C calls them, their bytes.
const TYPES: [(&str, usize); 16] = [
    ("int", 4),
    ("unsigned long long", 8),
    ("float", 4),
    ("double", 8),
    ("void *", 8),
    ("char", 1),
    ("short", 2),
    ("Three", 12),
    ("FloatPair", 8),
    ("DoublePair", 16),
    ("Mixed", 16),
    ("FloatInt", 8),
    ("Handle64", 64),
    ("Extent", 24),
    ("Longs", 16),
    ("Either", 8),
];

const C_TYPES: &str = "typedef struct { unsigned int x, y, z; } Three; typedef struct { float x, y; } FloatPair;
typedef struct { double x, y; } DoublePair; typedef struct { long a; double b; } Mixed;
typedef struct { float f; int i; } FloatInt; typedef struct { char reserved[64]; } Handle64;
typedef struct { unsigned long w, h, d; } Extent; typedef struct { long a, b; } Longs;
typedef union { float f; int i; double d; } Either;";

fn types_toml() -> String {
    let mut out = String::new();
    let mut add = |kind: &str, name: &str, size: u32, fields: &[(&str, &str, u32)]| {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, ty, at)| format!("{{ name = \"{name}\", type = \"{ty}\", offset = {at} }}"))
            .collect();
        let fields = fields.join(", ");
        writeln!(out, "[[{kind}]]\nname = \"{name}\"\nsize = {size}\nfields = [{fields}]").unwrap();
    };
    add("struct", "Three", 12, &[("x", "unsigned int", 0), ("y", "unsigned int", 4), ("z", "unsigned int", 8)]);
    add("struct", "FloatPair", 8, &[("x", "float", 0), ("y", "float", 4)]);
    add("struct", "DoublePair", 16, &[("x", "double", 0), ("y", "double", 8)]);
    add("struct", "Mixed", 16, &[("a", "long", 0), ("b", "double", 8)]);
    add("struct", "FloatInt", 8, &[("f", "float", 0), ("i", "int", 4)]);
    add("struct", "Handle64", 64, &[("reserved", "char[64]", 0)]);
    add("struct", "Extent", 24, &[("w", "size_t", 0), ("h", "size_t", 8), ("d", "size_t", 16)]);
    add("struct", "Longs", 16, &[("a", "long", 0), ("b", "long", 8)]);
    add("union", "Either", 8, &[("f", "float", 0), ("i", "int", 0), ("d", "double", 0)]);
    out
}

/// Parameter lists by a fixed sequence of numbers.
fn lists() -> Vec<Vec<usize>> {
    let mut seed = 12345u64;
    let mut next = move |below: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    (0..300).map(|_| (0..1 + next(14)).map(|_| next(TYPES.len())).collect()).collect()
}

fn functions_toml(lists: &[Vec<usize>]) -> String {
    let mut out = String::new();
    for (n, list) in lists.iter().enumerate() {
        let params: Vec<String> = list
            .iter()
            .enumerate()
            .map(|(k, t)| format!("{{ name = \"p{k}\", type = \"{}\" }}", TYPES[*t].0))
            .collect();
        let params = params.join(", ");
        writeln!(out, "[[function]]\nname = \"f{n:03}\"\nreturns = \"int\"\nparams = [{params}]\ncallback = 1")
            .unwrap();
    }
    out
}

/// Calls each list with parameter k's bytes all k + 1, and prints what the stub found, then the offsets
/// of a struct of them.
fn program(lists: &[Vec<usize>]) -> String {
    let mut out = String::from("#include <stdio.h>\n#include <stddef.h>\n#include <string.h>\n");
    out += C_TYPES;
    out += "\nunsigned long kept[46];
__asm__(\".globl probe\\nprobe:\\n lea kept(%rip), %rax\\n mov %rdi, (%rax)\\n mov %rsi, 8(%rax)\\n mov %rdx, 16(%rax)\\n\"
\" mov %rcx, 24(%rax)\\n mov %r8, 32(%rax)\\n mov %r9, 40(%rax)\\n movq %xmm0, 48(%rax)\\n movq %xmm1, 56(%rax)\\n\"
\" movq %xmm2, 64(%rax)\\n movq %xmm3, 72(%rax)\\n movq %xmm4, 80(%rax)\\n movq %xmm5, 88(%rax)\\n movq %xmm6, 96(%rax)\\n\"
\" movq %xmm7, 104(%rax)\\n mov $0, %rcx\\n1: mov 8(%rsp,%rcx,8), %rdx\\n mov %rdx, 112(%rax,%rcx,8)\\n inc %rcx\\n\"
\" cmp $32, %rcx\\n jne 1b\\n xor %eax, %eax\\n ret\\n\");\nextern int probe();\n";
    out += "int main(void) { char room[4096]; memset(room, 0, sizeof room);\n";
    for list in lists {
        let types: Vec<&str> = list.iter().map(|t| TYPES[*t].0).collect();
        let fields: Vec<String> = types.iter().enumerate().map(|(k, t)| format!("{t} p{k};")).collect();
        let names: Vec<String> = (0..list.len()).map(|k| format!("v.p{k}")).collect();
        writeln!(out, "{{ struct {{ {} }} v; memset(kept, 0, sizeof kept);", fields.concat()).unwrap();
        for k in 0..list.len() {
            writeln!(out, "memset(&v.p{k}, {}, sizeof v.p{k});", k + 1).unwrap();
        }
        writeln!(out, "((int (*)({}))probe)({});", types.join(", "), names.join(", ")).unwrap();
        out += "for (int i = 0; i < 46; i++) printf(\"%lx \", kept[i]);";
        for k in 0..list.len() {
            write!(out, "printf(\"%lu \", (unsigned long)((char *)&v.p{k} - (char *)&v));").unwrap();
        }
        out += "printf(\"%lu\\n\", sizeof v); }\n";
    }
    out + "return room[0]; }\n"
}

/// The words that a frame would record, as bytes.
fn recorded(row: &FunctionRow, kept: &[u64]) -> Vec<u8> {
    let (ints, vectors, stack) = (row.shape.ints.into(), row.shape.vectors.into(), row.shape.stack.into());
    let words = kept[..6].iter().take(ints).chain(kept[6..14].iter().take(vectors));
    words.chain(kept[14..].iter().take(stack)).flat_map(|w| w.to_le_bytes()).collect()
}

#[test]
fn every_parameter_is_found_where_gcc_put_it() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("skipped: no gcc to compare with");
        return;
    }
    let lists = lists();
    let api = Api::new(&functions_toml(&lists), &types_toml(), "");
    let output = run(&api.0, &program(&lists));
    let mut compared = 0;
    api.rows(|_, rows| {
        assert_eq!(rows.len(), lists.len());
        for ((row, list), line) in rows.iter().zip(&lists).zip(output.lines()) {
            let (words, offsets): (Vec<&str>, Vec<&str>) = {
                let mut all = line.split_whitespace();
                (all.by_ref().take(46).collect(), all.collect())
            };
            let kept: Vec<u64> = words.iter().map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
            let bytes = recorded(row, &kept);
            for (k, (param, t)) in row.params.iter().zip(list).enumerate() {
                assert_eq!(param.offset.to_string(), offsets[k], "{}: {list:?}", row.name);
                let size = TYPES[*t].1;
                if param.word == 255 {
                    continue;
                }
                let first = usize::from(param.word) * 8;
                let mut found = bytes[first..first + size.min(8)].to_vec();
                if size > 8 {
                    let second = if param.second == 255 { first + 8 } else { usize::from(param.second) * 8 };
                    found.extend_from_slice(&bytes[second..second + size - 8]);
                }
                assert!(found.iter().all(|b| usize::from(*b) == k + 1), "{} p{k} of {list:?}: {found:?}", row.name);
                compared += 1;
            }
            assert_eq!(row.block.unwrap().to_string(), offsets[list.len()], "{}", row.name);
        }
    })
    .unwrap();
    assert!(compared > 1500, "{compared}");
}

fn run(folder: &Path, program: &str) -> String {
    let (source, binary) = (folder.join("probe.c"), folder.join("probe"));
    std::fs::write(&source, program).unwrap();
    let built = Command::new("gcc").args(["-O1", "-w", "-o"]).arg(&binary).arg(&source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap()
}

#[test]
fn a_large_result_takes_the_first_register() {
    let functions = "[[function]]\nname = \"f\"\nreturns = \"Extent\"\nparams = [{ name = \"a\", type = \"int\" }]\n";
    let api = Api::new(functions, &types_toml(), "");
    api.rows(|_, rows| assert_eq!((rows[0].params[0].word, rows[0].shape.ints), (1, 2))).unwrap();
}

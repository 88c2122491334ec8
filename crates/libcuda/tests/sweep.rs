//! Calls every declared export with arguments that no program means (`programs/sweep.c`). None may crash or hang, or
//! accept a list that is not mapped.

mod common;

use common::{on_sim, program, scratch, sim, succeed};
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Count, Dir, Function, Param, Rule, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// These accept any host pointer, and read it immediately.
const READS_THE_HOST: [&str; 2] = ["cuMemcpy", "cuMemcpy_ptds"];

fn functions() -> impl Iterator<Item = &'static Function> {
    let family = TABLES.families.iter().find(|f| f.name == "driver").expect("the driver's family");
    // The simulated driver has the newest form, which is the last one.
    family.functions.iter().map(|f| (f.name, f)).collect::<BTreeMap<_, _>>().into_values()
}

fn kind(param: &Param, number: usize, function: &Function) -> char {
    let counts = |p: &Param| matches!(p.rule, Rule::Array(Count::Of(n)) if usize::from(n) == number);
    let list = function.params.iter().any(|p| p.dir == Dir::In && counts(p));
    match TABLES.types[usize::from(param.ty)] {
        Type::Pointer(..) if param.rule == Rule::Text && param.dir == Dir::In => 'T',
        Type::Pointer(to, _) => match TABLES.types[usize::from(to)] {
            Type::Int { bytes: 4 | 8, .. } => 'Z',
            _ => 'P',
        },
        Type::Code => 'F',
        Type::DevicePointer => 'D',
        Type::Handle(n) => match TABLES.handles[usize::from(n)].name {
            "CUcontext" => 'c',
            "CUstream" => 's',
            "CUevent" => 'e',
            "CUmodule" => 'm',
            "CUfunction" => 'f',
            "CUkernel" => 'k',
            "CUlibrary" => 'l',
            "CUgraph" => 'g',
            "CUgraphNode" => 'n',
            "CUgraphExec" => 'x',
            "CUmemoryPool" => 'p',
            "CUarray" => 'a',
            "CUlinkState" => 'L',
            _ => 'z',
        },
        _ if list => 'C',
        _ => 'z',
    }
}

#[test]
fn nothing_crashes_hangs_or_takes_an_absurd_list() {
    let mut plan = String::new();
    let mut planned = 0;
    for function in functions().filter(|f| !READS_THE_HOST.contains(&f.name)) {
        let kinds: String = function.params.iter().enumerate().map(|(n, p)| kind(p, n, function)).collect();
        writeln!(plan, "{} {kinds}", function.name).expect("memory");
        planned += 1;
    }
    let mut child = on_sim(&program("sweep", "plain", &[]))
        .env_remove("CUTAP_SIM_REPORT")
        .current_dir(scratch()) // a graph is printed into the file `f`
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(plan.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, format!("{planned} functions: all is well\n"));
}

/// `cutap api --list driver` lists the exports of the simulated driver.
#[test]
fn every_name_of_the_registry_is_exported_and_no_other() {
    let mut known: BTreeSet<String> = functions().map(|f| f.name.to_owned()).collect();
    let of_driver = |name: &&&str| name.starts_with("cu") && !name.starts_with("cuda");
    known.extend(cutap_calls::FUNCTIONS.iter().filter(of_driver).map(|name| (*name).to_owned()));
    let nm = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(sim().join("libcuda.so.1")));
    let nm = String::from_utf8_lossy(&nm.stdout);
    let exported: BTreeSet<String> = nm.lines().filter_map(|line| Some(line.split_once(" T ")?.1.to_owned())).collect();
    let missing: Vec<_> = known.difference(&exported).collect();
    let more: Vec<_> = exported.difference(&known).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:?}; only there: {more:?}");
    assert!(exported.len() >= 734, "{}", exported.len());
}

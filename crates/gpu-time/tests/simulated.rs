//! The injection on the simulated driver and the simulated CUPTI. The program exports the functions of the preload, and
//! prints the rows that it gets.

use cutap_wire::rows::{Row, RowContent, State, reason};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gpu-time")
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// The folder of the libraries and of the program. The libraries are built in `target/inside`, as those of `cutap` are.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let (here, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), scratch());
        let target = folder.ancestors().nth(2).expect("a folder in cargo's target folder").join("inside");
        std::fs::create_dir_all(&folder).expect("a folder for the libraries");
        for (package, built, name, features) in [
            ("cutap-libcuda", "libcutap_libcuda.so", "libcuda.so.1", None),
            ("cutap-sim-cupti", "libcutap_sim_cupti.so", "libcupti.so", None),
            ("cutap-gpu-time", "libcutap_gpu_time.so", "libcutap_gpu_time.so", Some("inject")),
        ] {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.current_dir(here).arg("rustc").arg("--target-dir").arg(&target);
            cargo.args(["-q", "-p", package, "--release", "--lib", "--crate-type", "cdylib"]);
            cargo.args(features.map(|features| ["--features", features]).into_iter().flatten()).arg("--");
            succeed(cargo.arg("-C").arg(format!("link-arg=-Wl,-soname,{name}")));
            std::fs::copy(target.join("release").join(built), folder.join(name)).expect("the library");
        }
        let mut gcc = Command::new("gcc");
        gcc.args(["-w", "-O1", "-rdynamic"]).arg(here.join("tests/programs/rows.c"));
        succeed(gcc.arg("-o").arg(folder.join("rows")).args(["-lpthread", "-ldl"]));
        folder
    })
}

/// Correlation id, what the work is, and the executable graph and the index of its node.
type Described = (u32, String, Option<(u32, u32)>);

/// What the program printed.
#[derive(Default)]
struct Printed {
    rows: Vec<Row>,
    names: BTreeMap<u32, String>,
    executables: Vec<u32>,
    device_buffers: Option<u64>,
}

impl Printed {
    fn parse(text: &str) -> Printed {
        let mut printed = Printed::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |n: usize| words[n].parse::<u64>().expect("a number");
            match words[0] {
                "row" => {
                    let row_words: Vec<u64> = (2..words.len()).map(number).collect();
                    printed.rows.push(Row::unpack(number(1) as u8, &row_words).expect("a row"));
                }
                "name" => drop(printed.names.insert(number(1) as u32, words[2].to_owned())),
                "executable" => printed.executables.push(number(1) as u32),
                "buffers" => printed.device_buffers = Some(number(1)),
                _ => panic!("{line}"),
            }
        }
        printed
    }

    /// Kernels, copies and sets.
    fn work(&self) -> Vec<&Row> {
        let is_work =
            |row: &&Row| matches!(row.content, RowContent::Kernel(_) | RowContent::Copy(_) | RowContent::Set { .. });
        self.rows.iter().filter(is_work).collect()
    }

    fn states(&self) -> Vec<State> {
        let state = |row: &Row| if let RowContent::State(state) = row.content { Some(state) } else { None };
        self.rows.iter().filter_map(state).collect()
    }

    /// Each piece of work.
    fn described(&self) -> Vec<Described> {
        let describe = |row: &&Row| {
            let (text, node) = match row.content {
                RowContent::Kernel(kernel) => {
                    let name = self.names.get(&kernel.name).expect("the name came before the row");
                    (format!("{name} {:?} {:?} {}", kernel.grid, kernel.block, kernel.dynamic_shared), kernel.node)
                }
                RowContent::Copy(copied) => (format!("copy {} {}", copied.kind, copied.bytes), copied.node),
                RowContent::Set { bytes, value, node } => (format!("set {bytes} {value}"), node),
                _ => unreachable!("work only"),
            };
            let place = (node.graph != 0).then_some((node.graph, node.node as u32));
            assert_eq!(node.node >> 32, u64::from(node.graph));
            (row.place.correlation, text, place)
        };
        self.work().iter().map(describe).collect()
    }
}

fn program(version: &str, faults: &str, words: &[&str]) -> Command {
    let folder = folder();
    let mut command = Command::new("timeout");
    command.arg("60").arg(folder.join("rows")).args(words).env("LD_LIBRARY_PATH", folder);
    command.env("CUDA_INJECTION64_PATH", folder.join("libcutap_gpu_time.so"));
    command.env("CUTAP_SIM_CUPTI", version).env("CUTAP_SIM_CUPTI_FAULTS", faults);
    command
}

fn run(version: &str, faults: &str, words: &[&str]) -> Printed {
    Printed::parse(&succeed(&mut program(version, faults, words)))
}

/// What the program submits, by correlation id.
fn expected(executables: &[u32]) -> Vec<Described> {
    let mut all = Vec::new();
    let mut correlation = 0;
    let mut add = |text: String| {
        correlation += 1;
        all.push((correlation, text, None));
    };
    for name in ["first", "second"] {
        for grid in 1..=3 {
            add(format!("{name} [{grid}, 2, 3] [32, 4, 1] 128"));
        }
        add("copy 1 48".to_owned());
        add("set 16 7".to_owned());
    }
    add("copy 2 16".to_owned());
    let nodes = [
        "first [10, 1, 1] [1, 1, 1] 0",
        "second [11, 1, 1] [1, 1, 1] 0",
        "first [12, 1, 1] [1, 1, 1] 0",
        "set 13 1",
        "copy 8 14",
    ];
    // The node with the child graph has index 0.
    for (launch, (executable, first)) in
        [(executables[0], 0), (executables[0], 0), (executables[0], 0), (executables[1], 1)].into_iter().enumerate()
    {
        for (index, node) in (first..).zip(nodes) {
            all.push((correlation + 1 + launch as u32, node.to_owned(), Some((executable, index))));
        }
    }
    all
}

#[test]
fn all_rows_arrive_in_all_layouts() {
    for (version, number) in [("11.7", 17), ("12.9", 28), ("13.0", 130_001), ("13.5", 130_500)] {
        let printed = run(version, "", &[]);
        assert_eq!(printed.described(), expected(&printed.executables), "{version}");
        assert_eq!(printed.states(), [State { version: number, ..State::default() }]);
        assert_eq!(printed.names.len(), 2);
        // A stream does one thing after the other.
        let mut last_ends = BTreeMap::new();
        for place in printed.work().iter().map(|row| row.place) {
            assert!(last_ends.insert(place.stream, place.end).is_none_or(|last| last < place.start));
            assert!(place.start < place.end);
        }
        assert_eq!(last_ends.len(), 3);
        let calls: Vec<(u32, u32)> = printed
            .rows
            .iter()
            .filter_map(|row| match row.content {
                RowContent::DriverCall { thread, .. } => Some((row.place.correlation, thread)),
                _ => None,
            })
            .collect();
        // 11.7 cannot choose driver functions, so that all have records.
        assert_eq!(calls.iter().map(|call| call.0).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
        let threads = [0, 5, 10].map(|n| calls[n].1);
        assert!(threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]);
    }
}

/// The clock is read at the start, each second and at the end, and rows arrive while the program runs.
#[test]
fn the_clock_is_bracketed_each_second() {
    let printed = run("13.0", "", &["0", "wait"]);
    let is_clock = |row: &&Row| matches!(row.content, RowContent::Clock { .. });
    let clocks: Vec<_> = printed.rows.iter().filter(is_clock).map(|row| row.place).collect();
    assert!(clocks.len() >= 4, "{}", clocks.len());
    assert!(clocks.iter().all(|place| place.start <= place.end));
    assert!(!matches!(printed.rows.last().map(|row| row.content), Some(RowContent::Kernel(_))));
    assert_eq!(printed.described(), expected(&printed.executables));
}

#[test]
fn planted_faults() {
    let count = |faults| run("13.0", faults, &["2000"]);
    let all = count("");
    assert_eq!((all.work().len(), count("lost").work().len()), (2031, 2029));
    let has_no_times = |row: &&&Row| (row.place.start, row.place.end) == (0, 0);
    assert_eq!(count("zero").work().iter().filter(has_no_times).count(), 20);
    let order = |printed: &Printed| printed.described().iter().map(|work| work.0).collect::<Vec<_>>();
    let (swapped, in_order) = (order(&count("swapped")), order(&all));
    assert!(in_order.is_sorted() && !swapped.is_sorted());
    assert_eq!(swapped.iter().zip(&in_order).filter(|(a, b)| a != b).count(), 40);
    assert_eq!(count("late").described(), all.described());
}

#[test]
fn a_refusal_has_a_reason() {
    let printed = run("13.0", "refuse", &[]);
    let state = State { version: 130_001, reason: reason::NOT_PERMITTED, ..State::default() };
    assert_eq!((printed.states(), printed.work().len()), (vec![state], 0));
}

#[test]
fn device_buffers_are_bounded() {
    let buffers = |number: &str| {
        let mut command = program("13.0", "", &[]);
        Printed::parse(&succeed(command.env("CUTAP_CUPTI_BUFFERS", number))).device_buffers
    };
    assert_eq!(["8", "0", "many"].map(buffers), [Some(8), Some(0), Some(0)]);
}

/// The words that load no injection.
#[test]
fn no_injection() {
    for path in ["", "none", "/nonexistent/library.so"] {
        let mut command = Command::new("timeout");
        command.arg("60").arg(folder().join("rows")).env("LD_LIBRARY_PATH", folder());
        let printed = Printed::parse(&succeed(command.env("CUDA_INJECTION64_PATH", path)));
        assert_eq!((printed.rows.len(), printed.executables.len()), (0, 2));
    }
}

/// The library runs in processes of other programs.
#[test]
fn the_library_holds_no_panic() {
    let library = folder().join("libcutap_gpu_time.so");
    let symbols = succeed(Command::new("nm").arg(&library));
    assert!(symbols.contains("InitializeInjection") && !symbols.contains("9panicking"), "{symbols}");
    let exports = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    assert_eq!(exports.lines().count(), 1, "{exports}");
}

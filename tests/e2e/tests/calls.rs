//! What a call carries and how it ends: arguments, registers, threads, forks, signals, exceptions, deaths.

use cutap_e2e::{case, cutap, finish, json_lines, out, scratch};
use std::process::Command;

#[test]
fn more_arguments_than_registers() {
    case("arguments").golden();
}

#[test]
fn floats() {
    case("floats").golden();
}

#[test]
fn structs_by_value_and_as_results() {
    case("structs").golden();
}

#[test]
fn registers_and_errno_are_kept() {
    case("registers").golden();
}

#[test]
fn callback_on_a_thread_of_the_driver() {
    case("host_callback").golden();
}

#[test]
fn threads_start_at_once_in_their_first_call() {
    case("threads_at_once").counts();
}

#[test]
fn threads_come_and_go() {
    case("threads_in_turn").counts();
}

#[test]
fn memory_that_is_taken_away_while_it_is_read() {
    case("protected_meanwhile").counts();
}

#[test]
fn memory_of_the_programs_own_file_that_cannot_be_read() {
    case("unreadable").golden();
    // Where the kernel refuses to copy, readable memory is shown all the same, and the refusal is reported.
    // A filter may refuse with any error.
    case("unreadable_refused").like("unreadable").golden();
    case("unreadable_refused_otherwise").like("unreadable").golden();
    for (name, refused) in [("unreadable", false), ("unreadable_refused", true), ("unreadable_refused_otherwise", true)]
    {
        let text = case(name).text(&[]);
        for shown in ["logFileName=\"readable.log\")", "version=&13 ", "symbol=\"cuInit\", pfn=&0x"] {
            assert!(text.contains(shown), "{name}: {shown}: {text}");
        }
        let said = text.contains("cutap: 1 process in which process_vm_readv was refused");
        assert_eq!(said, refused, "{name}: {text}");
    }
}

#[test]
fn module_images_that_cannot_be_read() {
    let folder = scratch("modules");
    let text = case("unreadable").text(&["--dump-modules", folder.join("modules").to_str().unwrap()]);
    assert!(text.contains("cutap: 4 modules not dumped"), "{text}");
}

#[test]
fn threads_whose_rings_cannot_be_made() {
    for name in ["no_ring_files", "no_ring_folder"] {
        let text = case(name).text(&["-c", "--json"]);
        let lines: Vec<serde_json::Value> = json_lines(&text).collect();
        let calls =
            |function: &str| lines.iter().find(|l| l["name"] == function).map_or(0, |l| l["calls"].as_u64().unwrap());
        assert_eq!((calls("cuInit"), calls("cuDriverGetVersion")), (1, 1), "{name}: {text}");
        let counts = lines.last().unwrap()["counts"].as_array().unwrap().clone();
        let lost = counts.iter().find(|c| c["text"].as_str().unwrap().contains("ring could not be made"));
        let lost = lost.unwrap_or_else(|| panic!("{name}: nothing is counted: {text}"))["count"].as_u64().unwrap();
        assert_eq!(lost + calls("cuMemAlloc_v2") + calls("cuMemFree_v2"), 2000, "{name}: {text}");
    }
}

#[test]
fn fork_before_and_after_the_first_call() {
    case("fork_before").golden();
    case("fork_after").golden();
}

#[test]
fn vfork_before_and_after_the_first_call() {
    case("vfork_before").like("fork_before").golden();
    case("vfork_after").like("fork_after").golden();
    case("vforks").counts();
}

#[test]
fn children_that_exec() {
    case("exec").golden();
}

#[test]
fn children_with_an_ld_preload_of_their_own() {
    case("own_preload").counts();
}

#[test]
fn children_by_functions_that_no_plain_link_reaches() {
    case("exec_by_other_names").counts();
    case("exec_of_old").counts();
}

#[test]
fn signal_handler_calls_inside_a_call() {
    case("signal_storm").counts();
    case("signal_stack").counts();
    case("alternate_stack").counts();
    case("first_in_handler").counts();
}

#[test]
fn grandchild_has_the_names() {
    case("grandchild").counts();
}

#[test]
fn signal_handler_jumps_out_of_a_call() {
    case("signal_jump").left_early("libcuda.so.1:cuStreamSynchronize", 200).counts();
}

#[test]
fn timer_jumps_out_of_calls_while_a_library_is_opened() {
    let mut case = case("timer_jump");
    for function in ["cuDriverGetVersion", "cuMemAlloc_v2", "cuStreamSynchronize"] {
        case = case.left_early(&format!("libcuda.so.1:{function}"), 2000);
    }
    case.counts();
}

#[test]
fn exception_through_a_call() {
    case("exception").golden();
}

#[test]
fn longjmp_through_a_call() {
    case("longjmp").golden();
}

#[test]
fn thread_exits_in_a_call() {
    case("pthread_exit").golden();
}

#[test]
fn thread_is_cancelled_in_a_call() {
    case("pthread_cancel").golden();
}

#[test]
fn thread_is_left_in_a_call() {
    case("thread_left").golden();
}

#[test]
fn fork_in_a_callback() {
    case("fork_in_callback").counts();
}

#[test]
fn smallest_stack() {
    case("small_stack").golden();
}

#[test]
fn process_ends_in_a_call() {
    case("end_exit").like("end_in_driver").golden();
    case("end_kill").like("end_in_driver").golden();
    case("end_segv").like("end_in_driver").golden();
}

#[test]
fn exit_in_a_callback() {
    case("end_in_callback").golden();
}

#[test]
fn calls_after_main() {
    case("last_words").golden();
}

/// A program whose own handler does what a filter forbids the kernel: cutap's files are opened by it too.
#[test]
fn a_sandbox_in_the_program_opens_our_files() {
    case("sandbox").counts();
}

#[test]
fn call_just_below_an_unmapped_page() {
    case("guard_page").golden();
}

#[test]
fn fibres() {
    case("fibres").counts();
}

#[test]
fn fibres_whose_stacks_are_unmapped() {
    let text = case("fibres_gone").text(&["--json", "--stack=driver"]);
    // A call of a fibre that another one leaves has a line for that, too.
    let returned = json_lines(&text).filter(|l: &serde_json::Value| l["type"] == "call" && l["state"] == "done");
    assert_eq!(returned.count(), 6 * 100 * 4);
}

/// A call that ends in another thread than it began in has no end, is counted, and is not taken for a call of that
/// thread.
#[test]
fn fibre_ends_a_call_in_another_thread() {
    let text = case("fibre_moves").text(&["--json"]);
    let lines: Vec<serde_json::Value> = json_lines(&text).collect();
    let calls = lines.iter().filter(|l| l["type"] == "call" && l["name"] == "cuFixtureCall");
    let mut states: Vec<&str> = calls.map(|l| l["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    assert_eq!(states, ["done", "unfinished"], "{text}");
    let counts = lines.last().unwrap()["counts"].as_array().unwrap().clone();
    let elsewhere = counts.iter().find(|c| c["text"].as_str().unwrap().contains("in another thread"));
    assert_eq!(elsewhere.map(|c| c["count"].as_u64()), Some(Some(1)), "{text}");
}

/// Nobody reads: the ring grows, and chunks that are not mapped any more must not be missed by a call that a handler
/// interrupted.
#[test]
fn handler_that_makes_more_calls_than_are_mapped() {
    for _ in 0..6 {
        let run = scratch("long_handler");
        let script = r#"eval "$("$0" env -o "$1/run")" && exec "$2""#;
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(cutap()).arg(&*run).arg(out().join("long_handler"));
        let done = finish(command.env("LD_LIBRARY_PATH", out()));
        assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
    }
}

#[test]
fn forty_deep() {
    case("recursion").golden();
}

#[test]
fn backtrace_through_our_frames() {
    case("backtrace").golden();
}

#[test]
fn gdb_unwinds_through_our_frames() {
    if Command::new("gdb").arg("--version").output().is_err() {
        println!("skipped: no gdb here (apt install gdb)");
        return;
    }
    let trace = std::env::temp_dir().join(format!("cutap-e2e-gdb-{}", std::process::id()));
    let mut gdb = Command::new(cutap());
    gdb.arg("trace").arg("-o").arg(&trace).args([
        "--",
        "gdb",
        "-q",
        "-batch",
        "-ex",
        "break in_callback",
        "-ex",
        "run",
        "-ex",
        "backtrace",
    ]);
    gdb.args(["-ex", "finish", "-ex", "continue"]).arg(out().join("backtrace"));
    let run = finish(gdb.env("LD_LIBRARY_PATH", out()).env("DEBUGINFOD_URLS", ""));
    let _ = std::fs::remove_file(&trace);
    let at = |function: &str| {
        run.stdout.find(function).unwrap_or_else(|| panic!("no {function} in:\n{}\n{}", run.stdout, run.stderr))
    };
    let frames = [at(" in_callback ("), at("cuFixtureCall ("), at(" main (")];
    assert!(frames.is_sorted(), "the frames are in another order:\n{}", run.stdout);
    assert!(!run.stdout.contains("Backtrace stopped") && run.stdout.contains("ok\n"), "{}", run.stdout);
}

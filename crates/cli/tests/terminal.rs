//! The program on a terminal is as without us: keys, stop and continue, colours. A real shell drives
//! it, with programs that know no CUDA.

mod support;

use support::terminal::Terminal;
use support::{CUTAP, Folder, processes, until};

/// Says `started`, counts the SIGINTs it gets, and says how many 0.4 s after the first.
const COUNTS_INTERRUPTS: &str = "import signal, time
count = 0
def note(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, note)
print('star' + 'ted', flush=True)
while not count:
    time.sleep(0.01)
time.sleep(0.4)
print('interrupts', count, flush=True)
raise SystemExit(5)
";

#[test]
fn ctrl_c_ends_the_program_and_the_shell_sees_it() {
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- sh -c 'echo star''ted; exec sleep 100'"));
    terminal.expect("started");
    terminal.ctrl('c');
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 128 + libc::SIGINT);
}

#[test]
fn ctrl_c_reaches_the_program_once_and_its_answer_counts() {
    let folder = Folder::new("ctrl-c");
    let script = folder.join("count.py");
    std::fs::write(&script, COUNTS_INTERRUPTS).unwrap();
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- python3 {}", script.display()));
    terminal.expect("started");
    terminal.ctrl('c');
    terminal.expect("interrupts 1");
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 5);
}

#[test]
fn ctrl_backslash_is_mirrored() {
    let mut terminal = Terminal::new();
    terminal.line("ulimit -c 0");
    terminal.line(&format!("{CUTAP} trace -- sh -c 'echo star''ted; exec sleep 100'"));
    terminal.expect("started");
    terminal.ctrl('\\');
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 128 + libc::SIGQUIT);
}

#[test]
fn ctrl_z_and_fg() {
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- sh -c 'echo star''ted; read x; echo go''t $x; exit 3'"));
    terminal.expect("started");
    for _ in 0..3 {
        terminal.stop();
        terminal.expect("ready$ ");
        assert_eq!(terminal.code(), 128 + libc::SIGTSTP);
        terminal.expect("ready$ ");
        terminal.line("fg");
        terminal.expect("trace");
    }
    terminal.line("hello");
    terminal.expect("got hello");
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 3);
}

#[test]
fn a_program_that_stops_itself_stops_the_job() {
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- sh -c 'echo star''ted; kill -STOP $$; echo con''tinued; exit 4'"));
    terminal.expect("started");
    terminal.expect("Stopped");
    terminal.expect("ready$ ");
    terminal.line("fg");
    terminal.expect("continued");
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 4);
}

#[test]
fn a_background_job_that_reads_is_stopped_as_without_us() {
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- sh -c 'read x; echo go''t $x; exit 6' &"));
    let mut shown = String::new();
    until("the job is stopped", || {
        terminal.line("jobs; echo lis''ted");
        shown = terminal.expect("listed");
        shown.contains("Stopped")
    });
    terminal.line("fg");
    terminal.expect("trace");
    terminal.line("more");
    terminal.expect("got more");
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 6);
}

#[test]
fn a_shell_under_us_has_job_control() {
    let mut terminal = Terminal::new();
    terminal.line(&format!("PS1='in''ner> ' {CUTAP} trace -- bash --norc --noprofile --noediting -i"));
    terminal.expect("inner> ");
    // With exec: a shell that starts its child with vfork cannot be stopped until the child runs.
    terminal.line("sh -c 'echo star''ted; exec sleep 100'");
    terminal.expect("started");
    terminal.ctrl('z');
    terminal.expect("Stopped");
    terminal.expect("inner> ");
    terminal.line("fg");
    terminal.expect("sleep 100");
    terminal.ctrl('c');
    terminal.expect("inner> ");
    terminal.line("exit 8");
    terminal.expect("ready$ ");
    assert_eq!(terminal.code(), 8);
}

#[test]
fn a_closed_terminal_ends_all() {
    let folder = Folder::new("hangup");
    let mark = folder.join("mark").display().to_string();
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} trace -- sh -c 'echo star''ted; sleep 100; : {mark}'"));
    terminal.expect("started");
    assert!(!processes(&mark).is_empty());
    drop(terminal);
    until("all have ended", || processes(&mark).is_empty());
}

/// What takes longer than a second says how far it is. Here a reader keeps the export waiting.
#[test]
fn progress_has_a_percentage() {
    let folder = Folder::new("progress");
    let made = std::process::Command::new(CUTAP).args(["demo", "--recording"]).current_dir(&folder.0).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut terminal = Terminal::new();
    let file = folder.join("training.cutap");
    let export = format!("{CUTAP} export --json /dev/stdout {0}", file.display());
    terminal.line(&format!("{export} | (sleep 3; cat > /dev/null); echo do''ne"));
    let shown = terminal.expect("done");
    let bar = shown.split("exporting ").skip(1).find_map(|part| part.split_once("training.cutap ")).expect(&shown).1;
    let percent: u64 = bar.split(" %").next().unwrap().parse().unwrap_or_else(|_| panic!("{shown}"));
    assert!((1..=100).contains(&percent), "{shown}");
}

/// A pager's pipe is read on the terminal: lines are folded and cut as without a pager.
#[test]
fn a_pager_gets_the_lines_of_the_terminal() {
    let folder = Folder::new("paged");
    let file = folder.join("training.cutap");
    assert!(support::cutap(&["demo", "--recording"]).arg(&file).status().unwrap().success());
    let mut terminal = Terminal::new();
    terminal.line(&format!("PAGER='wc -l | sed s/^/paged:/' {CUTAP} show {}", file.display()));
    terminal.expect("paged:1");
    terminal.expect("ready$ ");
    let count = format!("PAGER=cat {CUTAP} show {} | wc -l | sed s/^/piped:/", file.display());
    terminal.line(&count);
    terminal.expect("piped:66");
}

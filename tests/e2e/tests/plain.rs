//! The programs themselves, without cutap: each does what it says it does. Needs no cutap and no GPU.

use cutap_e2e::{NOT_ALONE, case, programs};
use std::os::unix::process::ExitStatusExt;

/// Programs that end in another way than by saying `ok`: exit code, signal.
const OTHER_ENDS: &[(&str, Option<i32>, Option<i32>)] = &[
    ("end_exit", Some(3), None),
    ("end_in_callback", Some(4), None),
    ("end_abort", None, Some(6)),
    ("end_kill", None, Some(9)),
    ("end_segv", None, Some(11)),
    ("hangs", None, Some(14)),
    ("busy_return", Some(7), None),
    ("busy_exit", Some(7), None),
    ("busy_now", Some(7), None),
    ("busy_quick", Some(7), None),
    ("busy_exec", Some(7), None),
    ("busy_abort", None, Some(6)),
    ("busy_segv", None, Some(11)),
    ("busy_kill", None, Some(9)),
];

#[test]
fn every_program_says_ok() {
    let mut wrong = String::new();
    for name in programs().into_iter().filter(|n| !NOT_ALONE.contains(&n.as_str())) {
        let run = case(&name).plain();
        let other = OTHER_ENDS.iter().find(|(n, ..)| *n == name);
        let right = match other {
            Some((_, code, signal)) => run.status.code() == *code && run.status.signal() == *signal,
            None => run.status.success() && run.stdout.ends_with("ok\n") && run.stderr.is_empty(),
        };
        if !right {
            wrong += &format!("{name}: {run:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

//! Signal handlers that call the runtime in the middle of the runtime's own calls, as timers of profilers do.

use crate::real::{linked, program, shared, sim};
use cutap_e2e::{cutap, finish};
use std::process::Command;

#[test]
fn a_handler_asks_for_the_device_while_the_program_does() {
    for runtime in [linked("11.8"), linked("12.9"), linked("13.0"), linked("13.5"), shared("12.4"), shared("13.5")] {
        let Some(program) = program("handler", runtime, &[]) else { continue };
        let mut plain = Command::new(&program);
        let mut traced = Command::new(cutap());
        traced.args(["trace", "-c", "-o", "/dev/null", "--"]).arg(&program);
        for command in [&mut plain, &mut traced] {
            let run = finish(command.env("LD_LIBRARY_PATH", sim()));
            assert_eq!((run.status.code(), &*run.stdout), (Some(0), "ok\n"), "{}: {run:?}", runtime.version);
        }
    }
}

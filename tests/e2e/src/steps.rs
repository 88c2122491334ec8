//! The program `gpu_steps` under cutap: it launches a kernel when the test asks for it.

use crate::cutap::cutap;
use crate::process::finish;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// The program, which waits for its next step.
#[derive(Debug)]
pub struct Steps {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The id of its process.
    pub pid: String,
}

impl Steps {
    /// Runs a command of cutap whose last words are the program and its arguments.
    pub fn start(command: &mut Command) -> Steps {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cutap runs");
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut steps = Steps { child, input, output, pid: String::new() };
        steps.pid = steps.line();
        steps
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the program prints");
        line.trim().to_owned()
    }

    /// Launches the next kernel.
    pub fn step(&mut self) {
        self.input.write_all(b"\n").expect("the program reads");
        assert!(self.line().starts_with("step "));
    }

    /// The id of the cutap in front.
    pub fn front(&self) -> u32 {
        self.child.id()
    }

    /// Output and errors of `cutap ctl` for the program.
    pub fn ctl(&self, words: &[&str]) -> String {
        finish(Command::new(cutap()).args(["ctl", &self.pid]).args(words)).everything()
    }

    /// Ends the program, and waits for cutap. The rest of the program's output, and how cutap ended.
    pub fn finish(self) -> (String, ExitStatus) {
        let Steps { mut child, input, mut output, .. } = self;
        drop(input);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("the program prints");
        (rest, child.wait().expect("cutap ends"))
    }

    /// Ends the program. It and cutap must succeed.
    pub fn end(self) {
        assert!(self.finish().1.success());
    }
}

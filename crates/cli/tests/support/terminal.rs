//! A real shell with job control on a pseudo terminal, driven as a person would.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    seen: usize,
    shell: Child,
}

impl Terminal {
    /// Starts the shell and waits for its prompt.
    pub fn new() -> Terminal {
        let (mut master, mut slave) = (0, 0);
        let (none, size) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: two words of cutap to fill; no name, no settings, no size.
        let (master, slave) = unsafe {
            assert_eq!(libc::openpty(&mut master, &mut slave, none, std::ptr::null_mut(), size), 0);
            (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile", "--noediting", "-i"]).env("PS1", "ready$ ").env("TERM", "xterm");
        command.env_remove("NO_COLOR").env_remove("LD_PRELOAD").env_remove("CUTAP_RUN");
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        let unwanted = master.as_raw_fd();
        // SAFETY: system calls only, between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::close(unwanted);
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let shell = command.spawn().unwrap();
        drop(command);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, shared) = (File::from(master.try_clone().unwrap()), screen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
        });
        let mut terminal = Terminal { keys: File::from(master), screen, seen: 0, shell };
        terminal.expect("ready$ ");
        terminal
    }
    /// Types a line.
    pub fn line(&mut self, text: &str) {
        self.keys.write_all(format!("{text}\n").as_bytes()).unwrap();
    }
    /// Presses Ctrl and a letter.
    pub fn ctrl(&mut self, letter: char) {
        self.keys.write_all(&[letter as u8 & 0x1f]).unwrap();
    }
    /// Presses Ctrl-Z until the shell says that the job has stopped: `fg` prints the job's name before the
    /// terminal is the job's, and a key in between goes to the shell.
    pub fn stop(&mut self) {
        for _ in 0..10 {
            self.ctrl('z');
            for _ in 0..200 {
                if self.screen.lock().unwrap()[self.seen..].contains("Stopped") {
                    self.expect("Stopped");
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.expect("Stopped");
    }
    /// Waits until the screen shows this, behind what was expected before; what it showed up to there.
    pub fn expect(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap();
            if let Some(at) = screen[self.seen..].find(text) {
                let shown = screen[self.seen..self.seen + at].to_owned();
                self.seen += at + text.len();
                return shown;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no {text:?} on the screen: {}", &screen[self.seen..]);
            drop(screen);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// Asks for the exit code of the last job.
    pub fn code(&mut self) -> i32 {
        self.line("echo code=$?=");
        self.expect("\ncode=");
        self.expect("=").parse().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.keys.write_all(b"\x03\nexit\nexit\n");
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

//! The accounts of `--limit-memory`: processes that stop at each step, continue, or are killed there.

use cutap_wire::accounts::{Accounts, MAGIC, Process, SLOTS, VERSION, Word, Words, units};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

type File = Arc<Mutex<HashMap<Word, u64>>>;

fn file() -> File {
    Arc::new(Mutex::new(HashMap::from([(Word::Magic, MAGIC), (Word::Version, VERSION), (Word::Device(0), 7)])))
}

/// Without stops.
#[derive(Clone)]
struct Free(File);

impl Words for Free {
    fn load(&self, word: Word) -> u64 {
        *self.0.lock().unwrap().get(&word).unwrap_or(&0)
    }
    fn exchange(&self, word: Word, from: u64, to: u64) -> bool {
        let mut all = self.0.lock().unwrap();
        let place = all.entry(word).or_insert(0);
        let is_equal = *place == from;
        *place = if is_equal { to } else { *place };
        is_equal
    }
}

/// What a process does at a step.
enum Next {
    Step,
    Die,
}

struct Killed;

/// A process that asks before each step.
struct Stepped {
    words: Free,
    asks: Sender<()>,
    next: Receiver<Next>,
}

impl Stepped {
    fn step(&self, word: Word) {
        // Words that never change in these tests are no steps.
        if matches!(word, Word::Device(_) | Word::High) {
            return;
        }
        let _ = self.asks.send(());
        if !matches!(self.next.recv(), Ok(Next::Step)) {
            resume_unwind(Box::new(Killed));
        }
    }
}

impl Words for Stepped {
    fn load(&self, word: Word) -> u64 {
        self.step(word);
        self.words.load(word)
    }
    fn exchange(&self, word: Word, from: u64, to: u64) -> bool {
        self.step(word);
        self.words.exchange(word, from, to)
    }
}

/// A process under the control of a test. `R`: what it returns.
struct Run<R> {
    thread: JoinHandle<Option<R>>,
    asked: Receiver<()>,
    next: Sender<Next>,
}

impl<R: Send + 'static> Run<R> {
    fn new(file: &File, act: impl FnOnce(Accounts<Stepped>) -> R + Send + 'static) -> Run<R> {
        let ((asks, asked), (next, stepped)) = (channel(), channel());
        let words = Stepped { words: Free(file.clone()), asks, next: stepped };
        let thread = spawn(move || catch_unwind(AssertUnwindSafe(|| act(Accounts(words)))).ok());
        Run { thread, asked, next }
    }
    /// So many steps, or to the end. False at the end.
    fn go(&self, steps: usize) -> bool {
        (0..steps).all(|_| self.asked.recv().is_ok() && self.next.send(Next::Step).is_ok())
    }
    fn end(self) -> R {
        self.go(usize::MAX);
        self.thread.join().unwrap().expect("not killed")
    }
    fn kill(self) {
        let _ = self.asked.recv();
        let _ = self.next.send(Next::Die);
        let _ = self.thread.join();
    }
}

fn process(pid: u32) -> Process {
    Process { pid, namespace: 0, start: 100 }
}

/// Two processes with slots.
fn two() -> File {
    let file = file();
    let all = Accounts(Free(file.clone()));
    assert_eq!(all.claim(process(1), &|_| false), Some(0));
    assert_eq!(all.claim(process(2), &|_| false), Some(1));
    file
}

const LIMIT: u64 = 10;

/// How many steps a process alone takes at most.
const STEPS: usize = 40;

/// Each of two wants more than half. One of them gets it, wherever the other one stops.
#[test]
fn one_of_two_gets_it() {
    let mut schedules = 0;
    for first in 0..STEPS {
        for second in 0..STEPS {
            let file = two();
            let a = Run::new(&file, |all| all.reserve(0, 0, 6, LIMIT));
            let b = Run::new(&file, |all| all.reserve(0, 1, 6, LIMIT));
            let a_goes_on = a.go(first);
            let b_goes_on = b.go(second);
            let done = [a.end(), b.end()];
            assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1, "{first} {second}: {done:?}");
            let all = Accounts(Free(file));
            assert_eq!(all.sum(0), 6, "{first} {second}");
            assert_eq!(all.of_slot(0, 0), if done[0].is_ok() { 6 } else { 0 }, "{first} {second}");
            schedules += 1;
            if !b_goes_on || !a_goes_on {
                break;
            }
        }
    }
    assert!(schedules > 100, "{schedules}");
}

/// What one gives and another one takes, while a third one adds up, is not added twice.
#[test]
fn a_refusal_is_of_one_moment() {
    for stopped in 0..STEPS {
        let file = two();
        let all = Accounts(Free(file.clone()));
        assert_eq!((all.claim(process(3), &|_| false), all.reserve(0, 0, 6, LIMIT)), (Some(2), Ok(())));
        let third = Run::new(&file, |all| all.reserve(0, 2, 4, LIMIT));
        third.go(stopped);
        all.release(0, 0, 6);
        assert_eq!(all.reserve(0, 1, 6, LIMIT), Ok(()), "{stopped}");
        assert_eq!((third.end(), all.sum(0)), (Ok(()), 10), "{stopped}");
    }
}

/// What a process does in the tests that kill it.
fn work(all: &Accounts<Stepped>, slot: usize) -> u64 {
    let first = all.reserve(0, slot, 4, LIMIT).is_ok();
    if first {
        all.release(0, slot, 3);
    }
    let second = all.reserve(0, slot, 2, LIMIT).is_ok();
    u64::from(first) + 2 * u64::from(second)
}

/// A process is killed at each step, while another one has stopped at each of its steps. Nothing is lost: what the dead
/// one had comes back, and what the other one has is in its slot.
#[test]
fn a_killed_process_loses_nothing() {
    let mut schedules = 0;
    for first in 0..2 * STEPS {
        for second in 0..2 * STEPS {
            let file = two();
            let a = Run::new(&file, |all| work(&all, 0));
            let b = Run::new(&file, |all| work(&all, 1));
            let a_goes_on = a.go(first);
            let b_goes_on = b.go(second);
            a.kill();
            let has = b.end();
            let all = Accounts(Free(file));
            assert!(all.sum(0) <= LIMIT, "{first} {second}");
            assert_eq!(has, all.of_slot(0, 1), "{first} {second}");
            all.reclaim_dead(process(2), &|of| of.pid == 1);
            assert_eq!((all.sum(0), all.of_slot(0, 0)), (has, 0), "{first} {second}");
            assert_eq!(all.claim(process(3), &|_| false), Some(0), "{first} {second}");
            assert_eq!(all.reserve(0, 0, LIMIT - has, LIMIT), Ok(()));
            schedules += 1;
            if !a_goes_on || !b_goes_on {
                break;
            }
        }
    }
    assert!(schedules > 500, "{schedules}");
}

/// Who frees the slot of a dead process is killed at each step itself, and another process stops anywhere.
#[test]
fn a_killed_reclaimer_loses_nothing() {
    for killed in 0..STEPS {
        for stopped in 0..STEPS {
            let file = two();
            let all = Accounts(Free(file.clone()));
            assert_eq!(all.claim(process(3), &|_| false), Some(2));
            // It died when its turn was taken and not folded.
            let dead = Run::new(&file, |all| all.reserve(0, 0, 5, LIMIT));
            dead.go(11);
            dead.kill();
            let reclaims = Run::new(&file, |all| all.reclaim_dead(process(2), &|of| of.pid == 1));
            let other = Run::new(&file, |all| all.reserve(0, 2, 3, LIMIT));
            other.go(stopped);
            let goes_on = reclaims.go(killed);
            reclaims.kill();
            assert_eq!(other.end(), Ok(()));
            all.reclaim_dead(process(3), &|of| of.pid < 3);
            assert_eq!((all.sum(0), all.of_slot(0, 2)), (3, 3), "{killed} {stopped}");
            let free = (0..3).filter(|slot| all.0.load(Word::Process(*slot)) == 0).count();
            assert_eq!(free, 2, "{killed} {stopped}");
            if !goes_on {
                break;
            }
        }
    }
}

#[test]
fn slots_are_free_again_and_a_full_file_is_refused() {
    let all = Accounts(Free(file()));
    for pid in 0..SLOTS as u32 {
        assert!(all.claim(process(pid + 1), &|_| false).is_some());
    }
    assert_eq!(all.claim(process(9999), &|_| false), None);
    assert_eq!(all.claim(process(9999), &|of| of.pid == 77), Some(76));
    assert_eq!(all.claim(process(9998), &|_| false), None);
}

/// The same number at another time is another process. The program that replaced another one begins with nothing.
#[test]
fn numbers_are_used_again() {
    let all = Accounts(Free(file()));
    let (old, new) = (process(5), Process { start: 101, ..process(5) });
    let slot = all.claim(old, &|_| false).unwrap();
    assert_eq!(all.reserve(0, slot, 8, LIMIT), Ok(()));
    all.forget(new);
    assert_eq!(all.sum(0), 8);
    all.reclaim_dead(new, &|of| of.pid == 5 && !of.has_start(101));
    assert_eq!(all.sum(0), 0);
    let slot = all.claim(new, &|_| false).unwrap();
    assert_eq!(all.reserve(0, slot, 8, LIMIT), Ok(()));
    all.forget(new);
    assert_eq!((all.sum(0), all.claim(new, &|_| false)), (0, Some(slot)));
}

/// Containers come and go: each has a namespace.
#[test]
fn namespaces_are_used_again() {
    let all = Accounts(Free(file()));
    for inode in 1..200 {
        let namespace = all.namespace(inode).unwrap();
        let own = Process { namespace, ..process(5) };
        let slot = all.claim(own, &|_| false).unwrap();
        assert!(all.is_namespace(own, inode));
        if inode > 60 {
            all.return_slot(slot, own);
        }
    }
    assert_eq!(all.namespace(7), Some(6), "one with a process keeps its number");
}

#[test]
fn words_of_processes() {
    for (pid, namespace, start) in [(1, 0, 1), (4_194_303, 63, 12_345_678_901)] {
        let all = Accounts(Free(file()));
        let process = Process { pid, namespace, start };
        let slot = all.claim(process, &|_| false).unwrap();
        assert_eq!(Process::of_word(all.0.load(Word::Process(slot))), process);
        assert_eq!(units(all.0.load(Word::Used(0, slot))), 0);
    }
}

/// Tags come again after four million turns. One that another slot still has is left out.
#[test]
fn tags_come_again() {
    const LAST: u64 = (1 << 22) - 1;
    let file = two();
    let words = [(Word::Turn(0), LAST - 1), (Word::Used(0, 0), LAST - 1), (Word::Used(0, 1), 1 << 22 | LAST)];
    file.lock().unwrap().extend(words);
    let all = Accounts(Free(file));
    for has in 2..=4 {
        assert_eq!(all.reserve(0, 1, 1, LIMIT), Ok(()));
        assert_eq!((all.of_slot(0, 1), all.sum(0)), (has, has));
    }
}

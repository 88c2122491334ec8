//! Answers of a real driver, by request: values of recorded runs, replayed. No code knows a single command.
//!
//! A request is looked up by its number and its bytes. Handles count as their class, and addresses do not count. A list
//! of indices is answered by index.

use cutap_kernel::{Action, Ioctl, Piece, Result, Run, formats};
use cutap_rm::{Device, Params, Pointee, Record, Tables, escape_of};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// What libcuda 580.159.04 sent, and what the driver of that release answered.
const RUNS: [&str; 3] = [
    include_str!("../../../crates/rm/tests/transcripts/vecadd.txt"),
    include_str!("../../../crates/rm/tests/transcripts/more.txt"),
    include_str!("../../../crates/rm/tests/transcripts/pytorch.txt"),
];
/// The release that answered, as answers write it.
const RELEASE: &str = "580.159.04";

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// An escape with so many bytes.
    Escape(u32, usize),
    Control(u32),
    /// The parameters of a new object.
    Class(u32),
    Uvm(u32),
}

/// How well a recorded request equals the one that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    /// So many bytes of the request differ.
    Near(usize),
    /// No recorded list has this index.
    NoIndex(u32),
}

/// An answer to one request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The argument as the driver leaves it.
    pub(crate) bytes: Vec<u8>,
    /// Memory behind its pointers: address and bytes.
    pub(crate) memory: Vec<(u64, Vec<u8>)>,
    pub(crate) status: u64,
    pub(crate) fits: Match,
}

/// Bytes before and after.
#[derive(Debug)]
struct Change {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Change {
    /// Makes the same change to other bytes.
    fn apply(&self, to: &mut [u8]) {
        for ((to, before), after) in to.iter_mut().zip(&self.before).zip(&self.after) {
            if before != after {
                *to = *after;
            }
        }
    }
}

#[derive(Debug)]
struct Recorded {
    change: Change,
    /// What of the bytes counts in a comparison.
    normal: Vec<u8>,
    /// Offset of each pointer, and the memory behind it.
    memory: Vec<(usize, Change)>,
    status: u64,
    /// The run, by its number.
    run: usize,
    /// It was an answer.
    used: Cell<bool>,
}

impl Recorded {
    fn is_silent(&self) -> bool {
        let is_same = |change: &Change| change.before == change.after;
        is_same(&self.change) && self.memory.iter().all(|(_, change)| is_same(change)) && self.status == 0
    }
}

/// The question that newer libraries ask in place of this one, with the same struct.
fn older(question: Question) -> Option<Question> {
    const SAME: [(u32, u32); 1] = [(0xc36f_0101, 0x906f_0101)];
    let Question::Control(command) = question else { return None };
    SAME.iter().find(|(old, _)| *old == command).map(|(_, new)| Question::Control(*new))
}

/// All answers.
#[derive(Debug)]
pub struct Answers {
    all: BTreeMap<Question, Vec<Recorded>>,
    /// By control and index.
    lists: BTreeMap<(u32, u32), u32>,
    /// Classes that were made, each with its parent's.
    children: BTreeSet<(u32, u32)>,
    runs: usize,
    tables: Tables,
    /// The version of the recorded driver, and that of this one.
    recorded: String,
    version: String,
}

/// The handles of a process with their classes.
pub(crate) trait Handles {
    fn class(&self, handle: u32) -> Option<u32>;
}

impl Handles for HashMap<u32, u32> {
    fn class(&self, handle: u32) -> Option<u32> {
        self.get(&handle).copied()
    }
}

impl Answers {
    /// As a driver of this version gives them: it says its own version in place of the recorded one.
    pub fn new(version: &str) -> Self {
        let runs = RUNS.map(|run| formats::read(run).expect("a transcript"));
        let mut answers = Self::of(RELEASE, version);
        runs.iter().for_each(|run| answers.add(run));
        answers
    }

    /// Those of another run, in a form that `cutap syscall decode` reads. A run that does not say its driver is of this
    /// version.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path, version: &str) -> Result<Self> {
        let run = formats::read_file(path)?;
        let mut answers = Self::of(run.head.driver.as_deref().unwrap_or(version), version);
        answers.add(&run);
        Ok(answers)
    }

    fn of(recorded: &str, version: &str) -> Self {
        let tables = Tables::select(recorded).expect("a version").tables;
        let (all, lists, children) = Default::default();
        Self { all, lists, children, runs: 0, tables, recorded: recorded.to_owned(), version: version.to_owned() }
    }

    fn add(&mut self, run: &Run) {
        let mut handles = HashMap::new();
        self.runs += 1;
        for call in &run.calls {
            if let (Action::Ioctl(ioctl), Some(0)) = (&call.action, call.result) {
                self.add_request(ioctl, &mut handles);
            }
        }
    }

    fn add_request(&mut self, ioctl: &Ioctl, handles: &mut HashMap<u32, u32>) {
        let Some(before) = ioctl.before.clone() else { return };
        let after = ioctl.after.clone().unwrap_or_else(|| before.clone());
        let outer = Change { before, after };
        let Ok(request) = u32::try_from(ioctl.request) else { return };
        if matches!(Device::of_path(&ioctl.path), Some(Device::Uvm | Device::UvmTools)) {
            return self.keep(Question::Uvm(request), outer, &[], 0, handles);
        }
        let (number, size) = escape_of(request);
        let inner = |pointer: usize| {
            let at = long(&outer.before, pointer);
            let piece = ioctl.memory.iter().find(|piece| piece.address == at && at != 0)?;
            let after = piece.after.as_ref().unwrap_or(&piece.before).clone();
            Some(Change { before: piece.before.clone(), after })
        };
        match number {
            0x2a => {
                let (command, status) = (word(&outer.before, 8), word(&outer.after, 28));
                let params = inner(16).unwrap_or(Change { before: Vec::new(), after: Vec::new() });
                if status == 0 {
                    self.add_list(command, &params, ioctl);
                }
                self.keep(Question::Control(command), params, &ioctl.memory, status.into(), handles);
            }
            0x2b => {
                let (parent, class) = (word(&outer.before, 4), word(&outer.after, 12));
                let at_status = if size == 48 { 40 } else { 28 };
                let (made, status) = (word(&outer.after, 8), word(&outer.after, at_status));
                if status == 0 {
                    if let Some(parent) = handles.get(&parent) {
                        self.children.insert((class, *parent));
                    }
                    handles.insert(made, class);
                }
                if let Some(params) = inner(16) {
                    self.keep(Question::Class(class), params, &ioctl.memory, status.into(), handles);
                }
            }
            _ => self.keep(Question::Escape(number, size), outer, &[], 0, handles),
        }
    }

    fn keep(&mut self, question: Question, change: Change, pieces: &[Piece], status: u64, handles: &HashMap<u32, u32>) {
        let (mut change, mut memory) = (change, Vec::new());
        for at in (0..change.before.len().saturating_sub(7)).step_by(8) {
            let address = long(&change.before, at);
            if let Some(piece) = pieces.iter().find(|piece| piece.address == address && address != 0) {
                let after = piece.after.as_ref().unwrap_or(&piece.before).clone();
                memory.push((at, Change { before: piece.before.clone(), after }));
            }
        }
        for after in memory.iter_mut().map(|(_, change)| &mut change.after).chain([&mut change.after]) {
            self.say_version(after);
        }
        let pointers: Vec<usize> = memory.iter().map(|(at, _)| *at).collect();
        let normal = normal(&change.before, &pointers, handles);
        let (run, used) = (self.runs, Cell::new(false));
        self.all.entry(question).or_default().push(Recorded { change, normal, memory, status, run, used });
    }

    /// Exchanges the version of the recorded driver.
    fn say_version(&self, bytes: &mut [u8]) {
        let mut text = self.version.clone().into_bytes();
        text.resize(self.recorded.len(), 0);
        if self.recorded == self.version {
            return;
        }
        while let Some(at) = bytes.windows(text.len()).position(|found| found == self.recorded.as_bytes()) {
            bytes[at..at + text.len()].copy_from_slice(&text);
        }
    }

    fn add_list(&mut self, command: u32, params: &Change, ioctl: &Ioctl) {
        let Some(list) = self.list(command) else { return };
        let items = match list.place {
            Place::Inside(at) => params.after.get(at..).map(<[u8]>::to_vec),
            Place::Behind(at) => {
                let address = long(&params.before, at);
                let piece = ioctl.memory.iter().find(|piece| piece.address == address);
                piece.map(|piece| piece.after.as_ref().unwrap_or(&piece.before).clone())
            }
        };
        let count = word(&params.before, list.count) as usize;
        for item in items.unwrap_or_default().chunks_exact(8).take(count) {
            self.lists.insert((command, word(item, 0)), word(item, 4));
        }
    }

    /// Whether a class was made below that class.
    pub(crate) fn may_be(&self, class: u32, parent: u32) -> bool {
        self.children.contains(&(class, parent))
    }

    /// The parameters of a control in the recorded release.
    pub(crate) fn params(&self, command: u32) -> Option<Record> {
        self.tables.control(command)?.params()
    }

    /// The recorded size of a control's parameters.
    pub(crate) fn size(&self, command: u32) -> Option<usize> {
        self.all.get(&Question::Control(command))?.first().map(|recorded| recorded.change.before.len())
    }

    /// What the driver answers to this.
    pub(crate) fn find(
        &self,
        question: Question,
        bytes: &[u8],
        handles: &dyn Handles,
        memory: &dyn Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> Option<Answer> {
        let recorded = self.all.get(&question).or_else(|| self.all.get(&older(question)?))?;
        let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a != b).count();
        // Memory behind pointers decides where the request itself does not: much of it is only written.
        let distance = |recorded: &Recorded| {
            let pointers: Vec<usize> = recorded.memory.iter().map(|(at, _)| *at).collect();
            let behind = recorded.memory.iter().map(|(at, change)| {
                let own = memory(long(bytes, *at), change.before.len());
                own.map_or(change.before.len(), |own| differ(&own, &change.before))
            });
            (differ(&normal(bytes, &pointers, handles), &recorded.normal), behind.sum())
        };
        let same_size = recorded.iter().filter(|recorded| recorded.change.before.len() == bytes.len());
        let distances: Vec<((usize, usize), &Recorded)> = same_size.map(|r| (distance(r), r)).collect();
        let (least, first) = distances.iter().min_by_key(|(distance, _)| *distance).copied()?;
        let differ = least.0;
        // A request that was repeated gets the answers of one run in their order, then the last of them again.
        let mut equal = distances.iter().filter(|(d, r)| (*d, r.run) == (least, first.run)).map(|(_, r)| *r);
        let nearest = equal.clone().find(|r| !r.used.get()).or_else(|| equal.next_back())?;
        nearest.used.set(true);
        let list = match question {
            Question::Control(command) => self.list(command).map(|list| (command, list)),
            _ => None,
        };
        let mut answer = Answer {
            bytes: bytes.to_vec(),
            memory: Vec::new(),
            status: nearest.status,
            // A request that is only accepted has one answer.
            fits: if differ == 0 || recorded.iter().all(Recorded::is_silent) {
                Match::Exact
            } else {
                Match::Near(differ)
            },
        };
        if let Some((command, list)) = list.filter(|_| differ > 0) {
            self.fill(command, &list, &mut answer, memory);
            return Some(answer);
        }
        nearest.change.apply(&mut answer.bytes);
        for (at, change) in &nearest.memory {
            let address = long(bytes, *at);
            let Some(mut behind) = memory(address, change.before.len()).filter(|_| address != 0) else { continue };
            change.apply(&mut behind);
            answer.memory.push((address, behind));
        }
        Some(answer)
    }

    /// Fills a list, index by index.
    fn fill(&self, command: u32, list: &List, answer: &mut Answer, memory: &dyn Fn(u64, usize) -> Option<Vec<u8>>) {
        let count = word(&answer.bytes, list.count) as usize;
        (answer.fits, answer.status) = (Match::Exact, 0);
        let mut fill = |items: &mut [u8]| {
            for item in items.chunks_exact_mut(8).take(count) {
                match self.lists.get(&(command, word(item, 0))) {
                    Some(data) => item[4..].copy_from_slice(&data.to_le_bytes()),
                    None => answer.fits = Match::NoIndex(word(item, 0)),
                }
            }
        };
        match list.place {
            Place::Inside(at) => fill(answer.bytes.get_mut(at..).unwrap_or_default()),
            Place::Behind(at) => {
                let address = long(&answer.bytes, at);
                if let Some(mut items) = memory(address, count.min(4096) * 8) {
                    fill(&mut items);
                    answer.memory.push((address, items));
                }
            }
        }
    }

    /// Where a control has its list of pairs of index and data, if that is its form.
    fn list(&self, command: u32) -> Option<List> {
        let is_pair = |record: Record| record.size() == 8 && record.fields().map(|f| f.name()).eq(["index", "data"]);
        let params = self.params(command)?;
        let count = params.fields().find(|f| f.name().ends_with("ListSize"))?.offset();
        let place = params.fields().find_map(|field| {
            let behind = field.pointer().map(|pointer| pointer.pointee());
            match (field.record(), behind) {
                (Some(record), _) if is_pair(record) => Some(Place::Inside(field.offset())),
                (_, Some(Pointee::Records(record))) if is_pair(record) => Some(Place::Behind(field.offset())),
                _ => None,
            }
        })?;
        Some(List { count, place })
    }
}

struct List {
    /// Offset of the number of pairs.
    count: usize,
    place: Place,
}

enum Place {
    /// The pairs are at this offset.
    Inside(usize),
    /// Their address is at this offset.
    Behind(usize),
}

/// The fields of a struct in the layout of another release, by name.
pub(crate) fn translated(from: &Params, to: Record) -> Params {
    let mut result = Params::of(to);
    copy(from.record(), from.bytes(), to, result.bytes_mut());
    result
}

fn copy(from: Record, bytes: &[u8], to: Record, into: &mut [u8]) {
    for field in to.fields() {
        let Some(old) = from.fields().find(|old| old.name() == field.name()) else { continue };
        let (old_size, new_size) = (old.element_size(), field.element_size());
        for at in 0..old.elements().unwrap_or(1).min(field.elements().unwrap_or(1)) {
            let (begin, new_begin) = (old.offset() + at * old_size, field.offset() + at * new_size);
            let (Some(bytes), Some(into)) =
                (bytes.get(begin..begin + old_size), into.get_mut(new_begin..new_begin + new_size))
            else {
                continue;
            };
            match (old.record(), field.record()) {
                (Some(old), Some(new)) => copy(old, bytes, new, into),
                _ => into.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
            }
        }
    }
}

/// Bytes with the class in place of each handle, and without pointers.
fn normal(bytes: &[u8], pointers: &[usize], handles: &dyn Handles) -> Vec<u8> {
    let mut normal = bytes.to_vec();
    for at in pointers {
        normal.get_mut(*at..*at + 8).unwrap_or_default().fill(0);
    }
    for word in normal.as_chunks_mut::<4>().0 {
        if let Some(class) = handles.class(u32::from_le_bytes(*word)) {
            *word = (class | 0x4000_0000).to_le_bytes();
        }
    }
    normal
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let long = bytes.get(at..).and_then(<[u8]>::first_chunk);
    long.map_or(0, |long| u64::from_le_bytes(*long))
}

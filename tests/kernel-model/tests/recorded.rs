//! What libcuda 580 sent to a GPU, sent to the model: it answers as the driver did.

use cutap_kernel::{Action, Ioctl, KernelCall, formats};
use cutap_kernel_model::{Answers, Memory, Model, Pieces};
use cutap_rm::Tables;
use std::collections::BTreeMap;
use std::path::Path;

const VERSION: &str = "580.159.04";

/// How a program's requests were answered.
#[derive(Default)]
struct Outcome {
    requests: usize,
    equal: usize,
    /// The first whose answer differs, or that was refused.
    first: Option<String>,
    differ: BTreeMap<String, usize>,
}

struct Replay {
    model: Model,
    /// The handle that the model gave, by the recorded handle of a client.
    clients: BTreeMap<u32, u32>,
    nodes: BTreeMap<String, i32>,
}

impl Replay {
    fn new(answers: Answers) -> Self {
        let tables = Tables::select(VERSION).unwrap().tables;
        let mut model = Model::with_answers(tables, answers);
        let paths = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"];
        let nodes = paths.map(|path| (path.to_owned(), i32::try_from(model.open(path)).unwrap()));
        Self { model, clients: BTreeMap::new(), nodes: nodes.into() }
    }

    /// With the model's handles in place of the recorded ones.
    fn own(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for word in bytes.as_chunks_mut::<4>().0 {
            if let Some(own) = self.clients.get(&u32::from_le_bytes(*word)) {
                *word = own.to_le_bytes();
            }
        }
        bytes
    }

    /// Whether the answer is the recorded one.
    fn request(&mut self, ioctl: &Ioctl) -> bool {
        let before = ioctl.before.as_ref().unwrap();
        let after = ioctl.after.as_ref().unwrap_or(before);
        let mut memory = Pieces::default();
        for piece in &ioctl.memory {
            memory.place_at(piece.address, &self.own(&piece.before));
        }
        let at = memory.place(&self.own(before));
        let request = u32::try_from(ioctl.request).unwrap();
        if request == 0xc038_464e {
            // The descriptor for which the mapping is prepared.
            let fd = u32::from_le_bytes(before[48..52].try_into().unwrap());
            self.model.open_as(fd as usize, "/dev/nvidiactl");
        }
        let result = self.model.ioctl(self.nodes[&ioctl.path], request, at, &mut memory);
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let answer = memory.read(at, before.len()).unwrap();
        if request == 0xc030_462b && word(after, 12) == 0x41 {
            self.clients.insert(word(after, 8), word(&answer, 8));
        }
        let same = |address: u64, recorded: &[u8]| memory.read(address, recorded.len()) == Some(self.own(recorded));
        let pieces = ioctl.memory.iter().all(|p| same(p.address, p.after.as_ref().unwrap_or(&p.before)));
        result == 0 && same(at, after) && pieces
    }
}

fn replayed(name: &str) -> Outcome {
    let path = format!("{}/../../crates/rm/tests/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let run = formats::read_file(Path::new(&path)).unwrap();
    let tables = Tables::select(VERSION).unwrap().tables;
    let answers = Answers::of_file(Path::new(&path), VERSION).unwrap();
    let (mut replay, mut outcome) = (Replay::new(answers), Outcome::default());
    for KernelCall { action, result, .. } in &run.calls {
        let Action::Ioctl(ioctl) = action else { continue };
        if *result != Some(0) {
            continue;
        }
        outcome.requests += 1;
        if replay.request(ioctl) {
            outcome.equal += 1;
            continue;
        }
        let before = ioctl.before.as_ref().unwrap();
        let word = |at: usize| before.get(at..at + 4).map_or(0, |w| u32::from_le_bytes(w.try_into().unwrap()));
        let what = match ioctl.request {
            0xc020_462a => tables.control(word(8)).map_or(format!("{:#x}", word(8)), |c| c.name().to_owned()),
            0xc030_462b => tables.class(word(12)).map_or(format!("{:#x}", word(12)), |c| c.name().to_owned()),
            other => format!("{} {other:#x}", ioctl.path),
        };
        outcome.first.get_or_insert_with(|| what.clone());
        *outcome.differ.entry(what).or_default() += 1;
    }
    outcome
}

/// The program's whole traffic with the driver, from cuInit to its end.
fn all_equal(name: &str, requests: usize) {
    let outcome = replayed(name);
    assert_eq!((outcome.first, outcome.differ), (None, BTreeMap::new()), "{name}");
    assert_eq!((outcome.requests, outcome.equal), (requests, requests), "{name}");
}

#[test]
fn a_vector_addition() {
    all_equal("vecadd", 466);
}

#[test]
fn memory_of_all_kinds() {
    all_equal("more", 736);
}

#[test]
fn pytorch() {
    all_equal("pytorch", 557);
}

//! What one run says of its collectives, as data: part of the answer of `cutap where --json`.

use super::signature::{Signature, digest_of};
use serde::{Deserialize, Serialize};

/// Calls of a communicator that an answer for other machines has, at least.
const TAIL: usize = 256;

/// The collectives of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCollectives {
    /// Which the calls name by their places.
    pub signatures: Vec<Signature>,
    /// Names of streams: `stream#1`. The calls name them by their places.
    pub streams: Vec<String>,
    pub communicators: Vec<RunCommunicator>,
}

/// A communicator as one rank has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCommunicator {
    /// As in a trace of this run: `comm#1`.
    pub name: String,
    pub pid: u32,
    /// The same on all its ranks; none if the call that made it was not recorded.
    pub identity: Option<String>,
    /// The communicator that it was made from.
    pub parent: Option<Derived>,
    /// How many were made from it.
    pub children: u64,
    /// The function that made it.
    pub made_by: Option<String>,
    /// When that was called.
    pub made_ns: u64,
    /// How many ranks it has, and which of them this one is.
    pub ranks: Option<u32>,
    pub rank: Option<u32>,
    /// The call that made it has not returned.
    pub is_starting: bool,
    pub communicator_end: Option<CommunicatorEnd>,
    /// All its calls were recorded, so they can be counted.
    pub is_whole: bool,
    /// Its calls are known by NCCL's ranges only: without counts of elements, streams and results.
    pub has_ranges_only: bool,
    /// Number of the first call in `calls`, from 1, and what stands for those before it.
    pub first: u64,
    #[serde(with = "hexadecimal")]
    pub digest: u64,
    pub calls: Vec<CollectiveCall>,
    /// Between two ranks, the last ones.
    pub transfers: Vec<Transfer>,
    /// There were more.
    pub has_older_transfers: bool,
}

/// A number as text: readers of JSON may round it.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{number:#x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).map_err(serde::de::Error::custom)
    }
}

/// How a communicator was made from another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Derived {
    /// Identity of the other one.
    pub identity: String,
    /// The how many-th that was made from it.
    pub child: u64,
    /// Ranks are in the order of their keys, and those of one key in the order that they had.
    pub key: Option<i64>,
}

/// How a communicator ended on a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommunicatorEnd {
    Destroyed,
    Aborted,
}

/// How far a call has come on a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It has not returned, or its group has not ended.
    #[default]
    Called,
    /// It is in its stream.
    Enqueued,
    /// A wait behind it in its stream has returned.
    Complete,
}

/// A collective of a rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectiveCall {
    pub signature: u32,
    pub state: CallState,
    /// On the clock of its host since that started.
    pub start_ns: u64,
    /// When a wait behind it returned; 0: none has.
    pub complete_ns: u64,
    pub tid: u32,
    /// Its stream, by its place in the names.
    pub stream: u32,
    /// The group that it was called in; 0: none. Calls of one group have no order.
    pub group: u64,
    /// Bytes of its larger buffer; 0: not known.
    pub bytes: u64,
    /// How long the GPU worked for it, on this rank; 0: not recorded.
    pub gpu_ns: u64,
}

/// A call that sends to a rank or receives from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transfer {
    pub is_send: bool,
    /// Rank in the communicator.
    pub peer: u32,
    /// The how many-th of this kind to or from this rank, from 1.
    pub number: u64,
    pub call: CollectiveCall,
}

impl RunCommunicator {
    /// The number behind that of the last call.
    pub fn next_number(&self) -> u64 {
        self.first + self.calls.len() as u64
    }

    /// The call of this number.
    pub fn call(&self, number: u64) -> Option<&CollectiveCall> {
        self.calls.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

impl RunCollectives {
    pub fn signature(&self, call: &CollectiveCall) -> Option<&Signature> {
        self.signatures.get(call.signature as usize)
    }

    /// The name of a call's stream.
    pub fn stream(&self, call: &CollectiveCall) -> &str {
        self.streams.get(call.stream as usize).map_or("", String::as_str)
    }

    /// Without the older calls, for which a number stands that agrees on all ranks if the calls do.
    pub fn tail(mut self) -> RunCollectives {
        for communicator in &mut self.communicators {
            // Blocks of calls begin at the same numbers on all ranks.
            let dropped = communicator.calls.len().saturating_sub(TAIL) / TAIL * TAIL;
            for call in communicator.calls.drain(..dropped) {
                let digest = self.signatures.get(call.signature as usize).map_or(0, Signature::digest);
                communicator.digest = digest_of(communicator.digest, &digest.to_le_bytes());
            }
            communicator.first += dropped as u64;
            let transfers = &mut communicator.transfers;
            communicator.has_older_transfers |= transfers.len() > TAIL;
            transfers.drain(..transfers.len().saturating_sub(TAIL));
        }
        self.used_signatures()
    }

    /// Drops signatures of no call.
    fn used_signatures(mut self) -> RunCollectives {
        let mut places = vec![None; self.signatures.len()];
        let mut signatures = Vec::new();
        let calls = self.communicators.iter_mut().flat_map(|communicator| {
            communicator.calls.iter_mut().chain(communicator.transfers.iter_mut().map(|transfer| &mut transfer.call))
        });
        for call in calls {
            let Some(place) = places.get_mut(call.signature as usize) else { continue };
            let next = signatures.len() as u32;
            let new = *place.get_or_insert(next);
            if new == next {
                signatures.extend(self.signatures.get(call.signature as usize).cloned());
            }
            call.signature = new;
        }
        self.signatures = signatures;
        self
    }
}

//! A communicator while its run is followed.

use super::run::{CollectiveCall, CommunicatorEnd, Derived, RunCommunicator, Transfer};
use std::collections::HashMap;

/// Transfers of a communicator that are kept.
const MOST_TRANSFERS: usize = 1 << 16;

/// A followed call; those that failed are left out at the end.
#[derive(Debug)]
pub struct Followed {
    pub call: CollectiveCall,
    /// None for a collective; the direction and the rank of a transfer.
    pub transfer: Option<(bool, u32)>,
    pub has_failed: bool,
}

#[derive(Debug)]
pub struct Communicator {
    pub process: u32,
    pub pid: u32,
    /// 0 until it is known.
    pub handle: u64,
    pub name: String,
    pub identity: Option<String>,
    pub made_by: Option<String>,
    pub made_ns: u64,
    pub ranks: Option<u32>,
    pub rank: Option<u32>,
    pub is_starting: bool,
    pub has_failed: bool,
    pub communicator_end: Option<CommunicatorEnd>,
    pub parent: Option<Derived>,
    pub children: u64,
    /// Its calls are known by NCCL's ranges only.
    pub has_ranges_only: bool,
    pub calls: Vec<Followed>,
}

impl Communicator {
    pub fn state(&self, is_whole: bool, has_number: &dyn Fn(&Followed) -> bool) -> RunCommunicator {
        let numbered = || self.calls.iter().filter(|of| !of.has_failed && has_number(of));
        let mut numbers: HashMap<(bool, u32), u64> = HashMap::new();
        let mut transfers: Vec<Transfer> = Vec::new();
        for of in numbered() {
            let Some((is_send, peer)) = of.transfer else { continue };
            let number = numbers.entry((is_send, peer)).or_default();
            *number += 1;
            transfers.push(Transfer { is_send, peer, number: *number, call: of.call.clone() });
        }
        let has_older_transfers = transfers.len() > MOST_TRANSFERS;
        transfers.drain(..transfers.len().saturating_sub(MOST_TRANSFERS));
        RunCommunicator {
            name: self.name.clone(),
            pid: self.pid,
            identity: self.identity.clone(),
            parent: self.parent.clone(),
            children: self.children,
            made_by: self.made_by.clone(),
            made_ns: self.made_ns,
            ranks: self.ranks,
            rank: self.rank,
            is_starting: self.is_starting,
            communicator_end: self.communicator_end,
            is_whole: is_whole && self.made_by.is_some(),
            has_ranges_only: self.has_ranges_only,
            first: 1,
            digest: 0,
            calls: numbered().filter(|of| of.transfer.is_none()).map(|of| of.call.clone()).collect(),
            transfers,
            has_older_transfers,
        }
    }
}

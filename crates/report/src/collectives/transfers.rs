//! Calls between two ranks: the n-th that one sends to another is the n-th that the other receives from it.

use super::finding::{Finding, FindingKind};
use super::job::{JobCollectives, JoinedCommunicator};
use super::run::{CallState, Transfer};
use std::collections::HashMap;

/// From, to, whether it is the sender's side, and which of them.
type Key = (u32, u32, bool, u64);

impl JobCollectives<'_> {
    /// The first transfer of which the other side is another one, or not there.
    pub(super) fn unmatched_transfer(&self, place: usize, of: &JoinedCommunicator) -> Option<Finding> {
        let mut all: HashMap<Key, (usize, &Transfer)> = HashMap::new();
        // The number of the last one of each side.
        let mut last: HashMap<(u32, u32, bool), u64> = HashMap::new();
        let mut by_rank = HashMap::new();
        for (n, member) in of.members.iter().enumerate() {
            let Some(rank) = member.rank else { continue };
            let Some(communicator) = self.communicator(member).filter(|of| of.is_whole) else { continue };
            by_rank.insert(rank, n);
            for transfer in &communicator.transfers {
                let (from, to) = if transfer.is_send { (rank, transfer.peer) } else { (transfer.peer, rank) };
                last.insert((from, to, transfer.is_send), transfer.number);
                all.insert((from, to, transfer.is_send, transfer.number), (n, transfer));
            }
        }
        let finding = |((from, to, is_send, number), (member, transfer)): (&Key, &(usize, &Transfer))| {
            let peer = *by_rank.get(if *is_send { to } else { from })?;
            let other_side = all.get(&(*from, *to, !*is_send, *number));
            let (own_run, peer_member) = (of.members.get(*member)?.run, of.members.get(peer)?);
            // It may be among older ones, or not be recorded yet.
            let last_of_peer = last.get(&(*from, *to, !*is_send)).copied();
            let is_older = match last_of_peer {
                Some(last) => last >= *number,
                None => self.communicator(peer_member)?.has_older_transfers,
            };
            let is_known = self.is_known_at(peer_member.run, own_run, transfer.call.start_ns);
            if other_side.is_none() && (is_older || !is_known) {
                return None;
            }
            let without_peer = |signature: u32, run: usize| {
                let signature = self.runs.get(run)?.collectives.signatures.get(signature as usize)?;
                Some((signature.parameter("count"), signature.parameter("datatype")))
            };
            let run = |member: usize| of.members.get(member).map_or(usize::MAX, |member| member.run);
            let agrees = other_side.is_some_and(|(other_member, other)| {
                without_peer(transfer.call.signature, run(*member))
                    == without_peer(other.call.signature, run(*other_member))
            });
            let is_complete = transfer.call.state == CallState::Complete;
            // A small one may be complete before the other side is there.
            if agrees || other_side.is_none() && is_complete || other_side.is_some() && !*is_send {
                return None;
            }
            let kind = FindingKind::Transfer {
                member: *member,
                peer,
                is_send: *is_send,
                number: *number,
                peer_signature: other_side.map(|(_, other)| other.call.signature),
                signature: transfer.call.signature,
            };
            Some(Finding { communicator: place, kind, start_ns: transfer.call.start_ns, is_over: is_complete })
        };
        all.iter().filter_map(finding).min_by_key(|finding| (finding.start_ns, finding.kind.number()))
    }
}

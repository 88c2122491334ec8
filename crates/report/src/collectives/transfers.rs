//! Calls between two ranks: the n-th that one sends to another is the n-th that the other receives from it.

use super::finding::{Finding, FindingKind};
use super::job::{JobCollectives, JoinedCommunicator};
use super::member::Member;
use super::order::{OrderedCall, Step};
use super::run::{CallState, RunCommunicator, Transfer};

/// One direction between two members, from the side whose calls are looked at.
struct Direction<'a> {
    /// Their places among the members.
    own: usize,
    peer: usize,
    is_send: bool,
    /// The communicator as the other side has it.
    of_peer: &'a RunCommunicator,
    own_steps: &'a [Step<'a>],
    peer_steps: &'a [Step<'a>],
    /// Sender and receiver.
    ranks: (u32, u32),
}

/// A transfer that the other rank did not call, and the call of all ranks before which it should have.
struct Unmatched<'a> {
    transfer: &'a Transfer,
    before: Option<u64>,
}

impl Direction<'_> {
    /// Number and place of the transfers of a side, in their order.
    fn transfers(&self, steps: &[Step<'_>]) -> Vec<(u64, usize)> {
        let number = |step: &Step<'_>| match step.of {
            OrderedCall::Transfer(_, from, to, number) if (from, to) == self.ranks => Some((number, step.place)),
            _ => None,
        };
        steps.iter().filter_map(number).collect()
    }

    /// The first number from which the other side is behind before each call of all ranks that it has come to: that
    /// call, and the transfer that it lacks there.
    fn first_missing(&self, own_next: u64, peer_next: u64) -> Option<(u64, u64)> {
        let (own, peer) = (self.transfers(self.own_steps), self.transfers(self.peer_steps));
        let first_peer = match (peer.first(), self.of_peer.has_older_transfers) {
            (Some((number, _)), _) => *number,
            (None, false) => 1,
            (None, true) => return None,
        };
        let first_own = own.first()?.0;
        let collectives = |steps: &[Step<'_>]| -> Vec<(u64, usize)> {
            let number = |step: &Step<'_>| match step.of {
                OrderedCall::Collective(_, number) => Some((number, step.place)),
                OrderedCall::Transfer(..) => None,
            };
            steps.iter().filter_map(number).collect()
        };
        let (own_calls, peer_calls) = (collectives(self.own_steps), collectives(self.peer_steps));
        let first_call = |calls: &[(u64, usize)], next: u64| calls.first().map_or(next, |(number, _)| *number);
        let first = first_call(&own_calls, own_next).max(first_call(&peer_calls, peer_next));
        // The other side has called all of these; this one comes to the last one next, at the latest.
        let last = (peer_next.checked_sub(1)?).min(own_next);
        let mut missing = None;
        for call in (first..=last).rev() {
            // What has no order to the call, since it is in one group with it, counts for neither side.
            let own_before = match own_calls.binary_search_by_key(&call, |(number, _)| *number) {
                Ok(n) => own.partition_point(|(_, place)| *place < own_calls[n].1),
                Err(_) => own.len(),
            };
            let n = peer_calls.binary_search_by_key(&call, |(number, _)| *number).ok()?;
            let peer_before = peer.partition_point(|(_, place)| *place <= peer_calls[n].1);
            let (own_last, peer_last) = (first_own + own_before as u64, first_peer + peer_before as u64);
            if own_last <= peer_last {
                break;
            }
            missing = Some((call, peer_last));
        }
        missing
    }
}

impl<'a> JobCollectives<'a> {
    /// The first transfer of which the other side is another one, or not there.
    pub(super) fn unmatched_transfer(&self, place: usize, of: &JoinedCommunicator) -> Option<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        for (own, member) in of.members.iter().enumerate() {
            let Some(rank) = member.rank else { continue };
            let Some(communicator) = self.with_transfers(member) else { continue };
            let mut peers: Vec<u32> = communicator.transfers.iter().map(|transfer| transfer.peer).collect();
            peers.sort_unstable();
            peers.dedup();
            for (peer, other) in of.members.iter().enumerate() {
                let Some(peer_rank) = other.rank.filter(|rank| peers.binary_search(rank).is_ok()) else { continue };
                let Some(of_peer) = self.communicator(other).filter(|of| of.is_whole) else { continue };
                let own_steps = self.steps(&[(place, member)], Some((rank, peer_rank)));
                let peer_steps = self.steps(&[(place, other)], Some((peer_rank, rank)));
                for is_send in [true, false] {
                    let ranks = if is_send { (rank, peer_rank) } else { (peer_rank, rank) };
                    let (own_steps, peer_steps) = (&own_steps[..], &peer_steps[..]);
                    let direction = Direction { own, peer, is_send, of_peer, own_steps, peer_steps, ranks };
                    all.extend(self.different_transfer(place, of, communicator, &direction));
                    all.extend(self.transfer_without_peer(place, of, communicator, &direction));
                }
            }
        }
        // A rank that waits in another transfer is late for that reason, unless it has passed the place of this one.
        let waits = |of: &Finding| match of.kind {
            FindingKind::Transfer { peer, before: None, peer_signature: None, .. } => all.iter().any(
                |other| matches!(other.kind, FindingKind::Transfer { member, .. } if member == peer && !other.is_over),
            ),
            _ => false,
        };
        let first = all.iter().min_by_key(|finding| (waits(finding), finding.start_ns, finding.kind.number()));
        first.cloned()
    }

    /// A communicator with all its calls, and with transfers.
    fn with_transfers(&self, member: &Member) -> Option<&'a RunCommunicator> {
        self.communicator(member).filter(|of| of.is_whole && !member.is_unaligned && !of.transfers.is_empty())
    }

    /// The first transfer that has another count or type on the other side. It is looked for from the sender's side.
    fn different_transfer(
        &self,
        place: usize,
        of: &JoinedCommunicator,
        communicator: &RunCommunicator,
        direction: &Direction<'_>,
    ) -> Option<Finding> {
        if !direction.is_send {
            return None;
        }
        let (own, peer) = (of.members.get(direction.own)?, of.members.get(direction.peer)?);
        let without_peer = |transfer: &Transfer, member: &Member| {
            let signature = self.runs.get(member.run)?.collectives.signature(&transfer.call)?;
            Some((signature.parameter("count"), signature.parameter("datatype")))
        };
        let received = direction.of_peer.transfers.iter().filter(|of| !of.is_send && Some(of.peer) == own.rank);
        let mut received = received.peekable();
        let sent = communicator.transfers.iter().filter(|of| of.is_send && Some(of.peer) == peer.rank);
        for transfer in sent {
            while received.next_if(|other| other.number < transfer.number).is_some() {}
            let Some(receive) = received.peek().filter(|receive| receive.number == transfer.number) else { continue };
            if without_peer(transfer, own) != without_peer(receive, peer) {
                let signature = Some(receive.call.signature);
                return Some(transfer_finding(place, direction, &Unmatched { transfer, before: None }, signature));
            }
        }
        None
    }

    /// The first transfer that the other side did not call, or called behind a call of all ranks that this side makes
    /// later.
    fn transfer_without_peer(
        &self,
        place: usize,
        of: &JoinedCommunicator,
        communicator: &RunCommunicator,
        direction: &Direction<'_>,
    ) -> Option<Finding> {
        let (own, peer) = (of.members.get(direction.own)?, of.members.get(direction.peer)?);
        let (own_next, peer_next) = (self.next_number(own)?, self.next_number(peer)?);
        let mut own_transfers =
            communicator.transfers.iter().filter(|of| of.is_send == direction.is_send && Some(of.peer) == peer.rank);
        // A small one may be complete before the other side is there.
        let is_open = |transfer: &&Transfer| transfer.call.state != CallState::Complete;
        if let Some((call, number)) = direction.first_missing(own_next, peer_next) {
            let transfer = own_transfers.clone().find(|transfer| transfer.number == number).filter(is_open);
            if let Some(transfer) = transfer {
                return Some(transfer_finding(place, direction, &Unmatched { transfer, before: Some(call) }, None));
            }
        }
        let peer_transfers = || {
            let mut all = direction.of_peer.transfers.iter();
            all.rfind(|of| of.is_send != direction.is_send && Some(of.peer) == own.rank).map(|last| last.number)
        };
        let last = match (peer_transfers(), direction.of_peer.has_older_transfers) {
            (Some(last), _) => last,
            (None, false) => 0,
            // It may be among older ones.
            (None, true) => return None,
        };
        let transfer = own_transfers.find(|transfer| transfer.number > last && is_open(transfer))?;
        // It may not be recorded yet.
        if !self.is_known_at(peer.run, own.run, transfer.call.start_ns) {
            return None;
        }
        // Another rank that is late for a call before it is late for that reason.
        let before = communicator.calls.partition_point(|call| call.start_ns < transfer.call.start_ns) as u64;
        let before = u64::try_from((communicator.first + before) as i64 + own.shift).ok()?;
        if peer_next < before {
            return None;
        }
        Some(transfer_finding(place, direction, &Unmatched { transfer, before: None }, None))
    }
}

fn transfer_finding(
    place: usize,
    direction: &Direction<'_>,
    of: &Unmatched<'_>,
    peer_signature: Option<u32>,
) -> Finding {
    let call = &of.transfer.call;
    let kind = FindingKind::Transfer {
        member: direction.own,
        peer: direction.peer,
        is_send: direction.is_send,
        number: of.transfer.number,
        before: of.before,
        peer_signature,
        signature: call.signature,
    };
    Finding { communicator: place, kind, start_ns: call.start_ns, is_over: call.state == CallState::Complete }
}

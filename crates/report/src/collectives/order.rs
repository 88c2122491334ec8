//! Ranks that call two collectives in different order may wait for each other until they are killed: collectives of
//! two communicators, or a collective and a transfer of one.

use super::job::{JobCollectives, JoinedCommunicator};
use super::member::{Member, labels};
use super::run::{CallState, CollectiveCall};
use std::collections::HashMap;

/// Pairs of communicators, and of ranks of one, that are compared.
const MOST_PAIRS: usize = 256;
/// Calls of each communicator that are compared, the last ones.
const MOST_CALLS: usize = 4096;

/// A call that two ranks make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OrderedCall {
    /// Communicator and number.
    Collective(usize, u64),
    /// Communicator, sender, receiver, number.
    Transfer(usize, u32, u32, u64),
}

/// Two calls in different order on two ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherOrder {
    /// In the order of the first side.
    pub calls: [OrderedCall; 2],
    /// The ranks of each side, the fewest first.
    pub labels: [String; 2],
    /// On both ranks both calls went into one stream.
    pub is_one_stream: bool,
    /// One of the ranks has gone on.
    pub is_over: bool,
}

/// A call of a rank, and its place: calls of one group have one.
pub(super) struct Step<'a> {
    pub of: OrderedCall,
    pub place: usize,
    call: &'a CollectiveCall,
}

impl<'a> JobCollectives<'a> {
    /// The first calls of each pair of communicators or ranks that were called in different order.
    pub(super) fn other_orders(&self) -> Vec<OtherOrder> {
        let together: Vec<usize> = (0..self.joined.len()).filter(|n| self.joined[*n].members.len() > 1).collect();
        let second = |one: usize| together.iter().copied().filter(move |two| one < *two);
        let pairs = together.iter().flat_map(|one| second(*one).map(|two| (*one, two)));
        let of_pairs = pairs.take(MOST_PAIRS).filter_map(|(one, two)| self.order_of_two(one, two));
        of_pairs.chain(together.iter().filter_map(|one| self.order_of_transfers(*one))).collect()
    }

    /// Of the collectives of two communicators.
    fn order_of_two(&self, one: usize, two: usize) -> Option<OtherOrder> {
        let (first, second) = (&self.joined[one], &self.joined[two]);
        let process = |member: &Member| self.communicator(member).map(|of| of.pid);
        let same = |member: &Member, other: &Member| member.run == other.run && process(member) == process(other);
        let both = first.members.iter().filter_map(|a| Some((a, second.members.iter().find(|b| same(a, b))?)));
        let both = both.filter(|(a, b)| !a.is_unaligned && !b.is_unaligned);
        let ranks: Vec<(&Member, Vec<Step<'a>>)> =
            both.map(|(a, b)| (a, self.steps(&[(one, a), (two, b)], None))).collect();
        compared(&ranks)
    }

    /// Of collectives and transfers of one communicator.
    fn order_of_transfers(&self, one: usize) -> Option<OtherOrder> {
        let members = &self.joined[one].members;
        let has_transfers = |member: &&Member| {
            !member.is_unaligned && self.communicator(member).is_some_and(|of| of.is_whole && !of.transfers.is_empty())
        };
        let with: Vec<&Member> = members.iter().filter(has_transfers).collect();
        let pairs = with.iter().enumerate().flat_map(|(n, a)| with[n + 1..].iter().map(move |b| (*a, *b)));
        let orders = pairs.take(MOST_PAIRS).filter_map(|(a, b)| {
            let ranks = (a.rank?, b.rank?);
            let steps_of_a = self.steps(&[(one, a)], Some((ranks.0, ranks.1)));
            let steps_of_b = self.steps(&[(one, b)], Some((ranks.1, ranks.0)));
            compared(&[(a, steps_of_a), (b, steps_of_b)])
        });
        orders.min_by_key(|order| order.is_over)
    }

    /// The calls of a process in these communicators, in the order of entry; with the transfers between this rank and
    /// another one, if both are given.
    pub(super) fn steps(&self, of: &[(usize, &Member)], ranks: Option<(u32, u32)>) -> Vec<Step<'a>> {
        let mut steps: Vec<Step<'a>> = Vec::new();
        for (place, member) in of {
            let Some(communicator) = self.communicator(member) else { continue };
            let older = communicator.calls.len().saturating_sub(MOST_CALLS);
            steps.extend(communicator.calls.iter().enumerate().skip(older).map(|(n, call)| {
                let number = (communicator.first + n as u64) as i64 + member.shift;
                let of = OrderedCall::Collective(*place, u64::try_from(number).unwrap_or(0));
                Step { of, place: 0, call }
            }));
            let Some((own, peer)) = ranks else { continue };
            let with_peer = communicator.transfers.iter().filter(|transfer| transfer.peer == peer);
            steps.extend(with_peer.map(|transfer| {
                let (from, to) = if transfer.is_send { (own, peer) } else { (peer, own) };
                Step { of: OrderedCall::Transfer(*place, from, to, transfer.number), place: 0, call: &transfer.call }
            }));
        }
        steps.sort_by_key(|step| step.call.start_ns);
        let (mut place, mut group) = (0, 0);
        for step in &mut steps {
            if step.call.group == 0 || step.call.group != group {
                place += 1;
            }
            group = step.call.group;
            step.place = place;
        }
        steps
    }

    /// The call of a member.
    pub fn ordered_call(&self, member: &Member, of: OrderedCall) -> Option<&'a CollectiveCall> {
        match of {
            OrderedCall::Collective(_, number) => self.call(member, number),
            OrderedCall::Transfer(_, from, to, number) => {
                let is_send = member.rank == Some(from);
                let peer = if is_send { to } else { from };
                let transfers = &self.communicator(member)?.transfers;
                let transfer = transfers
                    .iter()
                    .find(|transfer| (transfer.is_send, transfer.peer, transfer.number) == (is_send, peer, number));
                transfer.map(|transfer| &transfer.call)
            }
        }
    }
}

/// The first two calls that ranks have in different order.
fn compared(ranks: &[(&Member, Vec<Step<'_>>)]) -> Option<OtherOrder> {
    let (_, base) = ranks.first()?;
    let [first, second] = ranks.iter().skip(1).find_map(|(_, steps)| different(base, steps))?;
    // Of those that have both: whether they have the first one first.
    let sides = ranks.iter().filter_map(|(member, steps)| {
        let step = |of: OrderedCall| steps.iter().find(|step| step.of == of);
        let (first, second) = (step(first)?, step(second)?);
        (first.place != second.place).then_some((*member, first, second))
    });
    type Side<'a, 'b> = Vec<(&'a Member, &'a Step<'b>, &'a Step<'b>)>;
    let (mut right, mut wrong): (Side<'_, '_>, Side<'_, '_>) = sides.partition(|(_, a, b)| a.place < b.place);
    let is_complete = |step: &Step<'_>| step.call.state == CallState::Complete;
    let all = || right.iter().chain(&wrong);
    let is_one_stream = all().all(|(_, a, b)| a.call.stream == b.call.stream);
    // The later of two calls is complete on a rank that has gone on.
    let is_over = right.iter().any(|(_, _, b)| is_complete(b)) || wrong.iter().any(|(_, a, _)| is_complete(a));
    let is_swapped = wrong.len() < right.len();
    if is_swapped {
        std::mem::swap(&mut right, &mut wrong);
    }
    let labels_of = |side: &Side<'_, '_>| labels(side.iter().map(|(member, ..)| *member));
    let calls = if is_swapped { [second, first] } else { [first, second] };
    Some(OtherOrder { calls, labels: [labels_of(&right), labels_of(&wrong)], is_one_stream, is_over })
}

/// The first two calls that two ranks have in different order, in that of the first rank.
fn different(base: &[Step<'_>], steps: &[Step<'_>]) -> Option<[OrderedCall; 2]> {
    let by_call: HashMap<OrderedCall, usize> = base.iter().map(|step| (step.of, step.place)).collect();
    // Of those before, the one that is latest on the other rank.
    let mut latest: Option<(&Step<'_>, usize)> = None;
    for step in steps {
        let Some(place) = by_call.get(&step.of).copied() else { continue };
        match latest {
            Some((before, latest_place)) if place < latest_place && before.place < step.place => {
                return Some([step.of, before.of]);
            }
            Some((_, latest_place)) if place <= latest_place => {}
            _ => latest = Some((step, place)),
        }
    }
    None
}

impl OrderedCall {
    pub fn communicator(self) -> usize {
        match self {
            OrderedCall::Collective(communicator, _) | OrderedCall::Transfer(communicator, ..) => communicator,
        }
    }

    /// `call 118 of comm#1`.
    pub fn text(self, job: &JobCollectives<'_>) -> String {
        let joined: Option<&JoinedCommunicator> = job.joined.get(self.communicator());
        let name = joined.map_or("", |of| &of.name);
        match self {
            OrderedCall::Collective(_, number) => format!("call {number} of {name}"),
            OrderedCall::Transfer(_, from, to, number) => {
                format!("transfer {number} from rank {from} to rank {to} in {name}")
            }
        }
    }
}

impl OtherOrder {
    /// The sentence.
    pub fn text(&self, job: &JobCollectives<'_>) -> String {
        let [first, second] = self.calls.map(|call| call.text(job));
        let [few, many] = &self.labels;
        let result = match (self.is_over, self.is_one_stream) {
            (true, _) => "they went on",
            (false, true) => "each waits for the other, for both calls are in one stream",
            (false, false) => "they may wait for each other",
        };
        format!("different order: {few} called {first} before {second}, {many} the other way round: {result}")
    }
}

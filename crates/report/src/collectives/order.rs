//! Ranks that call the collectives of two communicators in different order may wait for each other for ever.

use super::job::{JobCollectives, JoinedCommunicator};
use super::member::Member;
use std::collections::HashMap;

/// Pairs of communicators that are compared.
const MOST_PAIRS: usize = 256;

/// Two calls in different order on two ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherOrder {
    /// Communicator and number, in the order of the first rank.
    pub calls: [(usize, u64); 2],
    pub labels: [String; 2],
    /// On both ranks both calls went into one stream.
    pub is_one_stream: bool,
}

/// A call of either communicator: when, which, and its stream.
type Step<'a> = (u64, (usize, u64), &'a str);

impl JobCollectives<'_> {
    /// The first calls of each pair of communicators that two ranks called in different order.
    pub fn other_orders(&self) -> Vec<OtherOrder> {
        let together: Vec<usize> = (0..self.joined.len()).filter(|n| self.joined[*n].members.len() > 1).collect();
        let pairs = together.iter().flat_map(|one| together.iter().filter(move |two| one < two).map(move |two| (*one, *two)));
        pairs.take(MOST_PAIRS).filter_map(|(one, two)| self.other_order(one, two)).collect()
    }

    fn other_order(&self, one: usize, two: usize) -> Option<OtherOrder> {
        let (first, second) = (&self.joined[one], &self.joined[two]);
        let same = |member: &Member, other: &Member| {
            let process = |member: &Member| self.communicator(member).map(|of| of.pid);
            member.run == other.run && process(member) == process(other)
        };
        let both = first.members.iter().filter_map(|a| Some((a, second.members.iter().find(|b| same(a, b))?)));
        let mut both = both.filter(|(a, b)| !a.is_unaligned && !b.is_unaligned);
        let (base_a, base_b) = both.next()?;
        let base = self.steps((one, first, base_a), (two, second, base_b));
        let places: HashMap<(usize, u64), usize> = base.iter().enumerate().map(|(n, step)| (step.1, n)).collect();
        for (a, b) in both {
            let steps = self.steps((one, first, a), (two, second, b));
            let common = steps.iter().filter_map(|step| Some((step, *places.get(&step.1)?)));
            let mut latest: Option<(&Step<'_>, usize)> = None;
            for (step, place) in common {
                if let Some((before, latest_place)) = latest
                    && place < latest_place
                {
                    let base_streams = (base[place].2, base[latest_place].2);
                    return Some(OtherOrder {
                        calls: [step.1, before.1],
                        labels: [base_a.label.clone(), a.label.clone()],
                        is_one_stream: base_streams.0 == base_streams.1 && step.2 == before.2,
                    });
                }
                latest = Some((step, place));
            }
        }
        None
    }

    /// The calls of a process in both, in the order of entry.
    fn steps(
        &self,
        one: (usize, &JoinedCommunicator, &Member),
        two: (usize, &JoinedCommunicator, &Member),
    ) -> Vec<Step<'_>> {
        let mut steps: Vec<Step<'_>> = Vec::new();
        for (place, _, member) in [one, two] {
            let Some(communicator) = self.communicator(member) else { continue };
            steps.extend(communicator.calls.iter().enumerate().map(|(n, call)| {
                let number = (communicator.first + n as u64) as i64 + member.shift;
                (call.start_ns, (place, u64::try_from(number).unwrap_or(0)), call.stream.as_str())
            }));
        }
        steps.sort_by_key(|step| step.0);
        steps
    }
}

impl OtherOrder {
    /// The sentence.
    pub fn text(&self, job: &JobCollectives<'_>) -> String {
        let name = |(communicator, number): (usize, u64)| {
            format!("call {number} of {}", job.joined.get(communicator).map_or("", |of| &of.name))
        };
        let [first, second] = self.calls.map(name);
        let [one, other] = &self.labels;
        let result = match self.is_one_stream {
            true => "each waits for the other, for both calls are in one stream",
            false => "they may wait for each other",
        };
        format!("different order: {one} called {first} before {second}, {other} the other way round: {result}")
    }
}

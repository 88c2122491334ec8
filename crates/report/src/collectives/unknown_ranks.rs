//! Ranks of which nothing can be compared, and files that were given twice.

use super::absent::TOGETHER_NS;
use super::job::{JobCollectives, JoinedCommunicator};
use super::member::{Member, labels, ranks_text};
use super::run::{CallState, CollectiveCall};
use crate::format::units::time;
use std::collections::BTreeMap;

impl JobCollectives<'_> {
    /// Whether ranks of the communicator are those of the job: so it is if it is so of all that are known.
    pub(super) fn has_job_ranks(&self, of: &JoinedCommunicator) -> bool {
        let run_rank = |member: &Member| self.runs.get(member.run).and_then(|run| run.rank);
        of.members.iter().all(|member| member.rank.is_some() && run_rank(member) == member.rank)
    }

    /// Ranks of the communicator that are not known, by the reason.
    pub fn unknown_ranks(&self, of: &JoinedCommunicator) -> Vec<(Vec<u32>, String)> {
        let has_job_ranks = self.has_job_ranks(of);
        let reason = |rank: u32| {
            let run = self.runs.iter().find(|run| has_job_ranks && run.rank == Some(rank));
            match run.map(|run| (&run.file, &run.lacks)) {
                Some((file, Some(lacks))) => format!("calls are missing in {file}: {lacks}"),
                Some((file, None)) => format!("no call of it is in {file}"),
                None => "no call in these files".to_owned(),
            }
        };
        let mut all: Vec<(Vec<u32>, String)> = Vec::new();
        for rank in of.unknown_ranks.iter().copied() {
            let reason = reason(rank);
            match all.iter_mut().find(|(_, other)| *other == reason) {
                Some((ranks, _)) => ranks.push(rank),
                None => all.push((vec![rank], reason)),
            }
        }
        all
    }

    /// `; rank 3 is not known: no call in these files`, for each reason.
    pub(super) fn unknown_text(&self, of: &JoinedCommunicator) -> String {
        let text = |(ranks, reason): (Vec<u32>, String)| {
            let is = if ranks.len() == 1 { "is" } else { "are" };
            format!("; {} {is} not known: {reason}", ranks_text(ranks))
        };
        self.unknown_ranks(of).into_iter().map(text).collect()
    }

    /// `; the program of rank 1 was ended by SIGKILL, 4s before the others`, of ranks that do not run on.
    pub(super) fn gone_text(&self, together: &[&JoinedCommunicator]) -> String {
        let mut all: Vec<(usize, String)> = Vec::new();
        for member in together.iter().flat_map(|of| &of.members) {
            let Some(run) = self.runs.get(member.run) else { continue };
            let of_clock = (0..self.runs.len()).filter(|other| self.have_one_clock(*other, member.run));
            let last_ns = of_clock.filter_map(|other| Some(self.runs.get(other)?.last_ns)).max().unwrap_or(0);
            let later_ns = last_ns.saturating_sub(run.last_ns);
            let text = match (&run.program_end, &run.stopped) {
                (Some(end), _) if later_ns > TOGETHER_NS && !self.is_finished(member.run) => {
                    format!("; the program of {} {end}, {} before the others", member.label, time(later_ns))
                }
                (None, Some(stopped)) => format!("; {} {stopped}", member.label),
                _ => continue,
            };
            if !all.iter().any(|(of, _)| *of == member.run) {
                all.push((member.run, text));
            }
        }
        all.into_iter().map(|(_, text)| text).collect()
    }

    /// Whether nothing of a run is left to do: its calls are complete, or their communicators ended in order.
    fn is_finished(&self, run: usize) -> bool {
        let all = self.runs.get(run).map_or(&[][..], |run| &run.collectives.communicators);
        all.iter().all(|of| {
            let is_open = |call: &CollectiveCall| call.state != CallState::Complete;
            of.communicator_end.is_some() || !of.calls.iter().any(is_open)
        })
    }

    /// The sentence where no two ranks of a communicator are known.
    pub(super) fn nothing_to_compare(&self) -> Option<String> {
        let of = self.joined.iter().find(|of| !of.unknown_ranks.is_empty())?;
        let members = labels(of.members.iter());
        Some(format!("nothing to compare: only {members} of {} is known{}", of.name, self.unknown_text(of)))
    }

    /// Files that are of one rank, have nothing to do with each other, or lack calls.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut by_rank: BTreeMap<(usize, u32), Vec<&Member>> = BTreeMap::new();
        for (n, of) in self.joined.iter().enumerate() {
            for member in &of.members {
                by_rank.entry((n, member.rank.unwrap_or(u32::MAX))).or_default().push(member);
            }
        }
        let file = |run: usize| self.runs.get(run).map_or("", |run| &run.file);
        let mut doubts: Vec<String> = Vec::new();
        let mut add = |rank: u32, one: usize, other: usize, why: &str| {
            let text = format!("rank {rank} is in two files, {} and {}{why}", file(one), file(other));
            if one != other && !doubts.contains(&text) {
                doubts.push(text);
            }
        };
        for ((_, rank), members) in by_rank.iter().filter(|((_, rank), _)| *rank != u32::MAX) {
            if let [one, other, ..] = members[..] {
                add(*rank, one.run, other.run, ": give each once");
            }
        }
        for (n, run) in self.runs.iter().enumerate() {
            let is_same_rank = |other: &usize| run.rank.is_some() && self.runs[*other].rank == run.rank;
            let shares = |other: usize| {
                self.joined.iter().any(|of| {
                    let has = |run: usize| of.members.iter().any(|member| member.run == run);
                    has(n) && has(other)
                })
            };
            if let Some(other) = (0..n).find(is_same_rank).filter(|other| !shares(*other)) {
                add(run.rank.unwrap_or(0), other, n, ", which share no communicator: they may be of two jobs");
            }
        }
        for run in &self.runs {
            let lacks = run.lacks.as_ref().filter(|_| !run.collectives.communicators.is_empty());
            doubts.extend(lacks.map(|lacks| format!("calls are missing in {}: {lacks}", run.file)));
        }
        doubts
    }
}

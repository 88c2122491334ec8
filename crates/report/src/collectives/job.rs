//! The collectives of all runs of a job: their communicators joined by identity.

use super::align::{Sequence, TimedCall, shift};
use super::member::Member;
use super::run::{CollectiveCall, RunCollectives, RunCommunicator};
use super::signature::Signature;
use std::collections::HashMap;

/// A run, with what is known of it beside its collectives.
#[derive(Debug, Clone)]
pub struct JobRun<'a> {
    pub file: String,
    pub rank: Option<u32>,
    /// Which start of which host: runs with the same one have one clock.
    pub boot_id: Option<String>,
    /// What its recording lacks.
    pub lacks: Option<String>,
    /// How its program ended: `was killed by signal 9`.
    pub program_end: Option<String>,
    /// Why a thread of it does not run on by itself: a signal or a debugger has stopped it.
    pub stopped: Option<String>,
    /// The last moment of which something is known.
    pub last_ns: u64,
    /// Until when all its calls are known.
    pub known_ns: u64,
    pub collectives: &'a RunCollectives,
}

/// A communicator with those of its ranks of which runs are here.
#[derive(Debug, Default)]
pub struct JoinedCommunicator {
    pub name: String,
    pub identity: Option<String>,
    pub made_by: Option<String>,
    /// How many ranks it has.
    pub ranks: Option<u32>,
    pub members: Vec<Member>,
    /// The first number that all members are compared in, and how many calls agree from there.
    pub first: u64,
    pub agreed: u64,
    /// Ranks of which no run is here.
    pub unknown_ranks: Vec<u32>,
    /// What else is not known of members, in words.
    pub notes: Vec<String>,
}

/// The joined communicators.
#[derive(Debug)]
pub struct JobCollectives<'a> {
    pub runs: Vec<JobRun<'a>>,
    pub joined: Vec<JoinedCommunicator>,
    /// By run: the same number for signatures that agree.
    classes: Vec<Vec<u32>>,
}

impl JoinedCommunicator {
    /// `117 calls agree`.
    pub fn agreement(&self) -> String {
        let calls = match self.agreed {
            1 => "1 call agrees".to_owned(),
            agreed => format!("{agreed} calls agree"),
        };
        if self.first > 1 { format!("{calls} from call {}", self.first) } else { calls }
    }
}

impl<'a> JobCollectives<'a> {
    pub fn new(runs: Vec<JobRun<'a>>) -> JobCollectives<'a> {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut class = |signature: &Signature| {
            let next = numbers.len() as u32;
            *numbers.entry(signature.digest()).or_insert(next)
        };
        let classes = runs.iter().map(|run| run.collectives.signatures.iter().map(&mut class).collect()).collect();
        let mut job = JobCollectives { runs, joined: Vec::new(), classes };
        job.join();
        job
    }

    /// The communicator as the member's run has it.
    pub fn communicator(&self, member: &Member) -> Option<&'a RunCommunicator> {
        self.runs.get(member.run)?.collectives.communicators.get(member.communicator)
    }

    /// The member's call of this number.
    pub fn call(&self, member: &Member, number: u64) -> Option<&'a CollectiveCall> {
        let own = u64::try_from(number as i64 - member.shift).ok()?;
        self.communicator(member)?.call(own)
    }

    /// The number behind that of the member's last call.
    pub fn next_number(&self, member: &Member) -> Option<u64> {
        u64::try_from(self.communicator(member)?.next_number() as i64 + member.shift).ok()
    }

    pub fn class(&self, member: &Member, call: &CollectiveCall) -> u32 {
        self.classes.get(member.run).and_then(|classes| classes.get(call.signature as usize)).copied().unwrap_or(0)
    }

    /// What the first of these members called.
    pub fn signature(&self, of: &JoinedCommunicator, members: &[usize], number: u64) -> Option<&'a Signature> {
        let member = of.members.get(*members.first()?)?;
        self.runs.get(member.run)?.collectives.signature(self.call(member, number)?)
    }

    /// The text of a signature of a run.
    pub fn text(&self, run: Option<usize>, signature: u32) -> String {
        let signatures = run.and_then(|run| self.runs.get(run)).map(|run| &run.collectives.signatures);
        signatures.and_then(|all| all.get(signature as usize)).map_or_else(String::new, Signature::text)
    }

    /// Whether the times of both runs can be compared.
    pub fn have_one_clock(&self, one: usize, other: usize) -> bool {
        let boot_id = |run: usize| self.runs.get(run).and_then(|run| run.boot_id.as_deref());
        one == other || boot_id(one).is_some() && boot_id(one) == boot_id(other)
    }

    fn join(&mut self) {
        let mut by_identity: HashMap<String, usize> = HashMap::new();
        let mut late = Vec::new();
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|run| (self.runs[*run].rank.unwrap_or(u32::MAX), *run));
        for run in order {
            for (place, of) in self.runs[run].collectives.communicators.iter().enumerate() {
                let Some(identity) = &of.identity else {
                    late.push((run, place));
                    continue;
                };
                let next = self.joined.len();
                let joined = *by_identity.entry(identity.clone()).or_insert(next);
                if joined == next {
                    self.joined.push(JoinedCommunicator { identity: Some(identity.clone()), ..Default::default() });
                }
                self.add(joined, run, place);
            }
        }
        for (run, place) in late {
            self.add_late(run, place);
        }
        for place in 0..self.joined.len() {
            self.align(place);
            self.split_ranks(place);
            self.complete_facts(place);
        }
        self.name_all();
    }

    fn add(&mut self, joined: usize, run: usize, communicator: usize) {
        let rank = self.runs[run].collectives.communicators[communicator].rank;
        let first = self.runs[run].collectives.communicators[communicator].first;
        let (label, aligned) = (String::new(), None);
        let member = Member { run, communicator, label, rank, shift: 0, first, aligned, is_unaligned: false };
        self.joined[joined].members.push(member);
    }

    /// A communicator of which it was not seen how it was made: that one whose calls fit.
    fn add_late(&mut self, run: usize, place: usize) {
        let own = self.sequence(run, place);
        let fits = |job: &JobCollectives<'_>, joined: &JoinedCommunicator| {
            let is_full = joined.ranks.is_some_and(|ranks| joined.members.len() >= ranks as usize);
            let has_run = joined.members.iter().any(|member| member.run == run);
            let member = joined.members.first().filter(|_| !is_full && !has_run)?;
            let reference = job.sequence(member.run, member.communicator);
            shift(&reference, &own, job.have_one_clock(member.run, run)).map(|_| reference.calls.len())
        };
        let fitting = self.joined.iter().enumerate().filter_map(|(n, joined)| Some((n, fits(self, joined)?)));
        match fitting.max_by_key(|(_, calls)| *calls) {
            Some((joined, _)) => self.add(joined, run, place),
            None => {
                self.joined.push(JoinedCommunicator::default());
                self.add(self.joined.len() - 1, run, place);
            }
        }
    }

    fn sequence(&self, run: usize, communicator: usize) -> Sequence {
        let of = &self.runs[run].collectives.communicators[communicator];
        let call = |call: &CollectiveCall| TimedCall {
            class: self.classes[run].get(call.signature as usize).copied().unwrap_or(0),
            start_ns: call.start_ns,
            complete_ns: call.complete_ns,
            needs_all_ranks: self.runs[run].collectives.signature(call).is_some_and(Signature::needs_all_ranks),
        };
        Sequence { first: of.first, calls: of.calls.iter().map(call).collect() }
    }

    /// Gives members whose calls cannot be counted the numbers of a member whose calls can.
    fn align(&mut self, place: usize) {
        let members = self.joined[place].members.clone();
        let is_whole = |member: &Member| self.communicator(member).is_some_and(|of| of.is_whole);
        if members.len() < 2 || members.iter().all(is_whole) {
            return;
        }
        let calls = |member: &Member| self.communicator(member).map_or(0, |of| of.calls.len());
        let Some(reference) = members.iter().max_by_key(|member| (is_whole(member), calls(member))) else { return };
        let of_reference = self.sequence(reference.run, reference.communicator);
        let reference_run = reference.run;
        let is_reference =
            |member: &Member| (member.run, member.communicator) == (reference.run, reference.communicator);
        let aligned: Vec<Member> = members
            .iter()
            .map(|member| {
                if is_reference(member) || is_whole(member) {
                    return member.clone();
                }
                let own = self.sequence(member.run, member.communicator);
                let has_one_clock = self.have_one_clock(reference_run, member.run);
                match shift(&of_reference, &own, has_one_clock) {
                    Some((shift, by)) => {
                        let first = u64::try_from(member.first as i64 + shift).unwrap_or(1).max(1);
                        Member { shift, first, aligned: Some(by), ..member.clone() }
                    }
                    None => Member { is_unaligned: true, ..member.clone() },
                }
            })
            .collect();
        self.joined[place].members = aligned;
    }

    /// The ranks of what was split, if all ranks of its parent are here and have split it.
    fn split_ranks(&mut self, place: usize) {
        let members = &self.joined[place].members;
        let derived = |member: &Member| self.communicator(member).and_then(|of| of.parent.as_ref());
        let Some(first) = members.first().and_then(derived).filter(|of| of.key.is_some()) else { return };
        let parent = self.joined[..place].iter().find(|of| of.identity.as_ref() == Some(&first.identity));
        let Some(parent) = parent else { return };
        let has_split = |member: &Member| self.communicator(member).is_some_and(|of| of.children >= first.child);
        if parent.ranks != Some(parent.members.len() as u32) || !parent.members.iter().all(has_split) {
            return;
        }
        let pid = |member: &Member| self.communicator(member).map(|of| of.pid);
        let parent_rank = |member: &Member| {
            let same = |other: &&Member| other.run == member.run && pid(other) == pid(member);
            parent.members.iter().find(same).and_then(|other| other.rank)
        };
        let mut order: Vec<(Option<i64>, Option<u32>, usize)> = members
            .iter()
            .enumerate()
            .map(|(n, member)| (derived(member).and_then(|of| of.key), parent_rank(member), n))
            .collect();
        order.sort_unstable();
        let joined = &mut self.joined[place];
        joined.ranks = Some(joined.members.len() as u32);
        for (rank, (.., member)) in order.into_iter().enumerate() {
            joined.members[member].rank.get_or_insert(rank as u32);
        }
    }

    /// Ranks, labels and what is not known.
    fn complete_facts(&mut self, place: usize) {
        let members = &self.joined[place].members;
        let communicators: Vec<&RunCommunicator> = members.iter().filter_map(|m| self.communicator(m)).collect();
        let ranks = self.joined[place].ranks.or_else(|| communicators.iter().find_map(|of| of.ranks));
        let made_by = communicators.iter().find_map(|of| of.made_by.clone());
        let label = |member: &Member| {
            let run = &self.runs[member.run];
            let alone = members.iter().filter(|other| other.run == member.run).count() == 1;
            let world = self.communicator(member).and_then(|of| self.world_rank(member.run, of.pid));
            match run.rank.filter(|_| alone).or(world).or(member.rank) {
                Some(rank) => format!("rank {rank}"),
                None => run.file.clone(),
            }
        };
        let labels_of: Vec<String> = members.iter().map(label).collect();
        let given_ranks: Vec<u32> = members.iter().filter_map(|member| member.rank).collect();
        // Without the ranks of all members it is not known which one is missing.
        let missing = match ranks {
            Some(ranks) if given_ranks.len() == members.len() => {
                (0..ranks).filter(|rank| !given_ranks.contains(rank)).collect()
            }
            _ => Vec::new(),
        };
        let mut notes: Vec<String> = Vec::new();
        for (member, label) in members.iter().zip(&labels_of) {
            if self.communicator(member).is_some_and(|of| of.has_ranges_only) {
                let why = "NCCL is linked into the program, or its calls were left out";
                notes.push(format!("{label} is known by NCCL's ranges, without streams and results: {why}"));
            }
            if let Some(by) = member.aligned {
                notes.push(format!("the recording of {label} begins late or lacks calls: its calls were aligned {by}"));
            }
            if member.is_unaligned {
                notes.push(format!("the recording of {label} lacks calls, and its calls fit no other rank: not known"));
            }
        }
        let first = members.iter().filter(|member| !member.is_unaligned).map(|member| member.first).max();
        let joined = &mut self.joined[place];
        joined.members.iter_mut().zip(labels_of).for_each(|(member, label)| member.label = label);
        (joined.ranks, joined.made_by, joined.first) = (ranks, made_by, first.unwrap_or(1));
        (joined.unknown_ranks, joined.notes) = (missing, notes);
    }

    /// The rank of a process in the largest communicator that was made from no other one.
    fn world_rank(&self, run: usize, pid: u32) -> Option<u32> {
        let all = &self.runs.get(run)?.collectives.communicators;
        let of_process = || all.iter().filter(move |of| of.pid == pid && of.parent.is_none());
        let largest = of_process().filter(|of| of.rank.is_some()).max_by_key(|of| of.ranks)?;
        // A process with several ranks has no rank.
        let is_only = of_process().filter(|of| of.identity == largest.identity).count() == 1;
        largest.rank.filter(|_| is_only)
    }

    /// The name that the first member's run has, unless another one has it too.
    fn name_all(&mut self) {
        let names: Vec<String> = self
            .joined
            .iter()
            .map(|joined| {
                let first = joined.members.first().and_then(|member| self.communicator(member));
                first.map_or_else(String::new, |of| of.name.clone())
            })
            .collect();
        let is_unique = |name: &String| !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1;
        let all_unique = names.iter().all(is_unique);
        for (n, (joined, name)) in self.joined.iter_mut().zip(&names).enumerate() {
            joined.name = if all_unique { name.clone() } else { format!("comm#{}", n + 1) };
        }
    }
}

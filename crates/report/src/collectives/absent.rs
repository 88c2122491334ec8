//! Why a rank did not call what others called. What is not known of a rank is no reason to accuse it.

use super::job::{JobCollectives, JoinedCommunicator};
use super::member::Member;
use super::run::{CallState, CommunicatorEnd, RunCommunicator};
use crate::format::units::time;

/// Ends of programs that are closer together than this are those of one job that was killed.
pub(super) const TOGETHER_NS: u64 = 500_000_000;
/// A collector writes more often than this that a program still runs.
const SILENCE_NS: u64 = 3_000_000_000;

/// What is known of a member that has no call of this number.
pub enum Absence {
    /// It did not call it: what it did instead.
    Certain(String),
    /// Why it may have called it.
    Unknown(String),
}

impl JobCollectives<'_> {
    /// Of a member without call `number`, which `present` have.
    pub(super) fn absence(
        &self,
        of: &JoinedCommunicator,
        member: usize,
        number: u64,
        present: &[usize],
    ) -> Option<Absence> {
        let member = of.members.get(member)?;
        let (run, communicator) = (self.runs.get(member.run)?, self.communicator(member)?);
        let is_complete = |place: &usize| {
            let call = of.members.get(*place).and_then(|member| self.call(member, number));
            call.is_some_and(|call| call.state == CallState::Complete)
        };
        let needs_all = self.signature(of, present, number).is_some_and(|signature| signature.needs_all_ranks());
        if needs_all && present.iter().any(is_complete) {
            return Some(Absence::Unknown("another rank has completed it, so the recording lacks the call".to_owned()));
        }
        if member.is_unaligned {
            return Some(Absence::Unknown("its calls fit those of no other rank".to_owned()));
        }
        if let Some(lacks) = &run.lacks {
            return Some(Absence::Unknown(format!("calls are missing: {lacks}")));
        }
        // Whom it waits for is not known.
        let is_known_peer = |peer: u32| {
            let mut of_rank = of.members.iter().filter(|other| other.rank == Some(peer));
            of_rank.any(|other| self.communicator(other).is_some_and(|of| of.is_whole))
        };
        let mut unfinished =
            communicator.transfers.iter().filter(|transfer| transfer.call.state != CallState::Complete);
        if let Some(transfer) = unfinished.find(|transfer| !is_known_peer(transfer.peer)) {
            let peer = transfer.peer;
            return Some(Absence::Unknown(format!("it may wait for rank {peer}, which is not known")));
        }
        if let Some(call) = self.derives_from(of, member) {
            return Some(Absence::Certain(format!("called {call} instead")));
        }
        match communicator.communicator_end {
            Some(CommunicatorEnd::Aborted) => {
                return Some(Absence::Certain("aborted the communicator before it".to_owned()));
            }
            Some(CommunicatorEnd::Destroyed) => {
                return Some(Absence::Certain("destroyed the communicator before it".to_owned()));
            }
            None => {}
        }
        let started = present.iter().filter_map(|place| {
            let caller = of.members.get(*place)?;
            Some((caller.run, self.call(caller, number)?.start_ns))
        });
        let first = started.min_by_key(|(_, ns)| *ns);
        if first.is_some_and(|(other, ns)| !self.is_known_at(member.run, other, ns)) {
            return Some(Absence::Unknown("it is known only until the others came there".to_owned()));
        }
        let last_of_others = present.iter().filter_map(|place| {
            let caller = of.members.get(*place)?.run;
            self.have_one_clock(caller, member.run).then_some(self.runs.get(caller)?.last_ns)
        });
        let later_ns = last_of_others.max().map_or(0, |last| last.saturating_sub(run.last_ns));
        Some(Absence::Certain(match &run.program_end {
            Some(end) if later_ns > TOGETHER_NS => {
                format!("did not call it: its program {end}, {} before the others", time(later_ns))
            }
            _ => "did not arrive yet".to_owned(),
        }))
    }

    /// The call that a member is in, which makes another communicator from this one.
    fn derives_from(&self, of: &JoinedCommunicator, member: &Member) -> Option<&str> {
        let pid = self.communicator(member)?.pid;
        let mut all = self.runs.get(member.run)?.collectives.communicators.iter();
        let is_child = |child: &&RunCommunicator| {
            let parent = child.parent.as_ref().map(|parent| &parent.identity);
            child.is_starting && child.pid == pid && parent.is_some() && parent == of.identity.as_ref()
        };
        all.find(is_child)?.made_by.as_deref()
    }

    /// Whether the calls of a run are known until a moment of another run. Those of a program that has ended are.
    pub(super) fn is_known_at(&self, run: usize, other: usize, ns: u64) -> bool {
        let Some(of) = self.runs.get(run) else { return false };
        if of.program_end.is_some() {
            return true;
        }
        if self.have_one_clock(run, other) {
            return of.known_ns >= ns;
        }
        // Of another clock only this is known: it was silent for long.
        let communicators = of.collectives.communicators.iter();
        let last = communicators.filter_map(|of| of.calls.last().map(|call| call.start_ns).or(Some(of.made_ns)));
        of.known_ns.saturating_sub(last.max().unwrap_or(0)) > SILENCE_NS
    }
}

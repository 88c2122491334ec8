//! Ranks that did not call what makes a communicator, while others are in that call.

use super::finding::{Finding, FindingKind};
use super::job::{JobCollectives, JoinedCommunicator};
use super::member::Member;

impl JobCollectives<'_> {
    /// Ranks whose runs are here, and that did not call what makes the communicator.
    pub(super) fn not_joined(&self, place: usize, of: &JoinedCommunicator) -> Vec<Finding> {
        let is_starting = |member: &&Member| self.communicator(member).is_some_and(|of| of.is_starting);
        if of.unknown_ranks.is_empty() || !of.members.iter().any(|member| is_starting(&member)) {
            return Vec::new();
        }
        let is_world = self.has_job_ranks(of);
        let made_ns = of.members.iter().filter_map(|member| Some((member.run, self.communicator(member)?.made_ns)));
        let first_made = made_ns.min_by_key(|(_, ns)| *ns);
        let is_known = |run: usize| first_made.is_some_and(|(other, ns)| self.is_known_at(run, other, ns));
        let is_here = |rank: &&u32| {
            let mut runs = self.runs.iter().enumerate();
            runs.any(|(n, run)| run.rank == Some(**rank) && run.lacks.is_none() && is_known(n))
        };
        let absent: Vec<u32> = of.unknown_ranks.iter().filter(|rank| is_world && is_here(rank)).copied().collect();
        if absent.is_empty() {
            return Vec::new();
        }
        let present = (0..of.members.len()).collect();
        let kind = FindingKind::NotJoined { absent, present };
        vec![Finding { communicator: place, kind, start_ns: 0, is_over: false }]
    }

    /// Members of the communicator that is split, which did not call that. How many others have their color is not
    /// known.
    pub(super) fn not_derived(&self, place: usize, of: &JoinedCommunicator) -> Option<Finding> {
        let is_starting = |member: &&Member| self.communicator(member).is_some_and(|of| of.is_starting);
        let first = of.members.iter().find(is_starting)?;
        let child = self.communicator(first)?;
        // Only a split has keys, and all ranks take part in it.
        let derived = child.parent.as_ref().filter(|derived| derived.key.is_some())?;
        let parent = self.joined.iter().find(|parent| parent.identity.as_ref() == Some(&derived.identity))?;
        let is_absent = |member: &&Member| {
            let lacks_call = self.communicator(member).is_some_and(|of| of.is_whole && of.children < derived.child);
            lacks_call && self.is_known_at(member.run, first.run, child.made_ns)
        };
        let number = |member: &Member| member.label.strip_prefix("rank ")?.parse().ok();
        let absent: Vec<u32> = parent.members.iter().filter(is_absent).filter_map(number).collect();
        let kind = FindingKind::NotJoined { absent: absent.clone(), present: (0..of.members.len()).collect() };
        let finding = Finding { communicator: place, kind, start_ns: child.made_ns, is_over: false };
        (!absent.is_empty()).then_some(finding)
    }
}

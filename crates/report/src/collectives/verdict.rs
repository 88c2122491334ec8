//! What is wrong among the ranks of a job, and what to look at first.

use super::absent::Absence;
use super::finding::{Finding, FindingKind};
use super::job::{JobCollectives, JobRun, JoinedCommunicator};
use super::member::{Member, labels};
use super::order::{OrderedCall, OtherOrder};
use super::run::{CallState, CollectiveCall};
use super::signature::digest_of;

/// The collectives of a job with what is wrong in them.
#[derive(Debug)]
pub struct JobVerdict<'a> {
    pub job: JobCollectives<'a>,
    /// What holds up ranks comes first.
    pub findings: Vec<Finding>,
    /// Calls that ranks made in different order.
    pub orders: Vec<OtherOrder>,
}

/// What holds up the ranks.
#[derive(Debug)]
pub enum Culprit<'a> {
    Finding(&'a Finding),
    Order(&'a OtherOrder),
}

impl<'a> JobVerdict<'a> {
    pub fn new(runs: Vec<JobRun<'a>>) -> JobVerdict<'a> {
        let mut all = JobVerdict { job: JobCollectives::new(runs), findings: Vec::new(), orders: Vec::new() };
        for place in 0..all.job.joined.len() {
            all.compare_calls(place);
        }
        let doubts = all.job.doubts();
        if let Some(first) = all.job.joined.first_mut() {
            first.notes.splice(..0, doubts);
        }
        all.orders = all.job.other_orders();
        all.orders.retain(|order| !all.findings.iter().any(|finding| says_more(finding, order)));
        // What holds up ranks comes first, then what came first.
        let caused: Vec<Finding> = all.findings.iter().filter(|of| all.has_cause(of)).cloned().collect();
        all.findings.sort_by_key(|finding| {
            let certainty = match finding.kind {
                FindingKind::Mismatch { .. } | FindingKind::Before { .. } => 0,
                // A rank that waits for a transfer does not come to the next call.
                FindingKind::Transfer { before: Some(_), .. } => 1,
                _ => 2,
            };
            (finding.is_over, certainty, caused.contains(finding), finding.start_ns)
        });
        all
    }

    fn compare_calls(&mut self, place: usize) {
        let job = &self.job;
        let of = &job.joined[place];
        let mut findings = job.not_joined(place, of);
        findings.extend(job.not_derived(place, of));
        let mut compared: Vec<usize> = (0..of.members.len()).filter(|n| !of.members[*n].is_unaligned).collect();
        let (mut agreed, mut are_all_known) = (0, true);
        let mut notes = Vec::new();
        if job.digests_differ(of) {
            let kind = FindingKind::Before { number: of.first };
            findings.push(Finding { communicator: place, kind, start_ns: 0, is_over: false });
        }
        for number in of.first.. {
            let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
            let (mut absent, mut present) = (Vec::new(), Vec::new());
            for n in compared.iter().copied() {
                let member = &of.members[n];
                let Some(call) = job.call(member, number) else {
                    absent.push(n);
                    continue;
                };
                present.push(n);
                let class = job.class(member, call);
                match groups.iter_mut().find(|(other, _)| *other == class) {
                    Some((_, group)) => group.push(n),
                    None => groups.push((class, vec![n])),
                }
            }
            let Some(start_ns) = job.first_start(of, &present, number) else { break };
            let is_over = present
                .iter()
                .all(|n| job.call(&of.members[*n], number).is_some_and(|call| call.state == CallState::Complete));
            if groups.len() > 1 {
                groups.sort_by_key(|(_, group)| group.len());
                let groups = groups.into_iter().map(|(_, group)| group).collect();
                let kind = FindingKind::Mismatch { number, groups };
                findings.push(Finding { communicator: place, kind, start_ns, is_over: is_over && absent.is_empty() });
                break;
            }
            if absent.is_empty() {
                agreed += u64::from(are_all_known);
                continue;
            }
            let mut certain = Vec::new();
            for n in absent {
                match job.absence(of, n, number, &present) {
                    Some(Absence::Certain(why)) => certain.push((n, why)),
                    Some(Absence::Unknown(why)) => {
                        let label = &of.members[n].label;
                        notes.push(format!("call {number} of {label} is not known: {why}"));
                    }
                    None => {}
                }
            }
            if certain.is_empty() && present.len() > 1 {
                // What is not known of a rank hides nothing of the others.
                (compared, are_all_known) = (present, false);
                continue;
            }
            // A rank that is far behind lacks a call before those that are compared.
            let next = |n: &usize| job.next_number(&of.members[*n]);
            if let Some(number) = certain.iter().filter_map(|(n, _)| next(n)).min() {
                certain.retain(|(n, _)| next(n) == Some(number));
                let present = compared.into_iter().filter(|n| next(n) > Some(number)).collect();
                let kind = FindingKind::Absent { number, absent: certain, present };
                findings.push(Finding { communicator: place, kind, start_ns, is_over: false });
            }
            break;
        }
        findings.extend(job.unmatched_transfer(place, of));
        self.job.joined[place].agreed = agreed;
        self.job.joined[place].notes.extend(notes);
        self.findings.extend(findings);
    }

    /// Whether a rank is late here because it waits elsewhere.
    fn has_cause(&self, finding: &Finding) -> bool {
        let late = finding.late_members();
        let process = |of: &Finding, place: &usize| -> Option<(usize, u32)> {
            let member = self.job.joined.get(of.communicator)?.members.get(*place)?;
            Some((member.run, self.job.communicator(member)?.pid))
        };
        self.findings.iter().filter(|other| !other.is_over && *other != finding).any(|other| {
            let waiting = other.waiting_members();
            let is_waiting = |late: &usize| waiting.iter().any(|n| process(other, n) == process(finding, late));
            late.iter().any(is_waiting)
        })
    }

    /// What to look at first; none if nothing is wrong.
    pub fn culprit(&self) -> Option<Culprit<'_>> {
        let sure = |finding: &&Finding| {
            !finding.is_over && matches!(finding.kind, FindingKind::Mismatch { .. } | FindingKind::Before { .. })
        };
        let finding = |culprit| Culprit::Finding(culprit);
        let order = |is_wanted: &dyn Fn(&OtherOrder) -> bool| {
            self.orders.iter().find(|order| !order.is_over && is_wanted(order)).map(Culprit::Order)
        };
        let open = || self.findings.iter().find(|finding| !finding.is_over).map(finding);
        let first_sure = self.findings.iter().find(sure).map(finding);
        first_sure
            .or_else(|| order(&|order| order.is_one_stream))
            .or_else(open)
            .or_else(|| order(&|_| true))
            .or_else(|| self.findings.first().map(finding))
    }

    /// The last line: what to look at first, or that nothing is wrong.
    pub fn sentence(&self) -> Option<String> {
        match self.culprit() {
            Some(Culprit::Finding(first)) => {
                // Ranks that did not make the communicator are the finding.
                let has_ranks = !matches!(first.kind, FindingKind::NotJoined { .. });
                let of = self.job.joined.get(first.communicator).filter(|_| has_ranks);
                let unknown = of.map(|of| self.job.unknown_text(of));
                return Some(first.text(&self.job) + &unknown.unwrap_or_default());
            }
            Some(Culprit::Order(order)) => return Some(order.text(&self.job)),
            None => {}
        }
        let together: Vec<&JoinedCommunicator> = self.job.joined.iter().filter(|of| of.members.len() > 1).collect();
        let agreed: u64 = together.iter().map(|of| of.agreed).sum();
        let [first, ..] = together[..] else { return self.job.nothing_to_compare() };
        let of = match together[..] {
            [only] => only.name.clone(),
            _ => format!("{} communicators", together.len()),
        };
        let ranks = labels(first.members.iter().filter(|member| !member.is_unaligned));
        let count = match agreed {
            1 => format!("1 call of {of} agrees"),
            _ => format!("{agreed} calls of {of} agree"),
        };
        let on = if together.len() == 1 { format!(" on {ranks}") } else { String::new() };
        let (end_text, unknown) = (self.job.gone_text(&together), self.job.unknown_text(first));
        Some(format!("no mismatch: {count}{on}{end_text}{unknown}"))
    }
}

/// A transfer that is missing moves all later ones: their order to other calls says nothing else.
fn says_more(finding: &Finding, order: &OtherOrder) -> bool {
    let is_transfer_of = |of: &OrderedCall| match of {
        OrderedCall::Transfer(communicator, ..) => *communicator == finding.communicator,
        OrderedCall::Collective(..) => false,
    };
    matches!(finding.kind, FindingKind::Transfer { before: Some(_), .. }) && order.calls.iter().any(is_transfer_of)
}

impl JobCollectives<'_> {
    fn first_start(&self, of: &JoinedCommunicator, present: &[usize], number: u64) -> Option<u64> {
        present.iter().filter_map(|n| Some(self.call(&of.members[*n], number)?.start_ns)).min()
    }

    /// Calls that are no longer there differ among members.
    fn digests_differ(&self, of: &JoinedCommunicator) -> bool {
        let digest = |member: &Member| {
            let communicator = self.communicator(member)?;
            // One that is far behind has not called all that the others' numbers stand for.
            if !communicator.is_whole || member.is_unaligned || communicator.next_number() < of.first {
                return None;
            }
            let before = (communicator.first..of.first).filter_map(|number| communicator.call(number));
            let signature = |call: &CollectiveCall| self.runs[member.run].collectives.signature(call);
            let digests = before.filter_map(|call| Some(signature(call)?.digest()));
            Some(digests.fold(communicator.digest, |all, digest| digest_of(all, &digest.to_le_bytes())))
        };
        let mut digests: Vec<u64> = of.members.iter().filter_map(digest).collect();
        digests.sort_unstable();
        digests.dedup();
        digests.len() > 1
    }
}

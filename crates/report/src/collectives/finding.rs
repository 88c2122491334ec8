//! What is wrong among ranks, and its sentence.

use super::job::{JobCollectives, JoinedCommunicator};
use super::member::{labels, ranks_text};
use super::signature::Signature;
use cutap_trace::printable;

/// Something that keeps ranks from going on, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The communicator, by its place among the joined ones.
    pub communicator: usize,
    pub kind: FindingKind,
    /// When the first rank came to it.
    pub start_ns: u64,
    /// All ranks that came to it are known to have gone on.
    pub is_over: bool,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// Ranks called different things: members by what they called, the fewest first.
    Mismatch { number: u64, groups: Vec<Vec<usize>> },
    /// Members that did not call what others called.
    Absent { number: u64, absent: Vec<(usize, String)>, present: Vec<usize> },
    /// Ranks that did not call what makes the communicator, and members that did.
    NotJoined { absent: Vec<u32>, present: Vec<usize> },
    /// Calls before this one differ, and are no longer there.
    Before { number: u64 },
    /// A member sends, or receives, and the other rank did not call the other side, or called something else.
    Transfer {
        member: usize,
        peer: usize,
        is_send: bool,
        number: u64,
        /// The call of all ranks that the other rank made without it, and that this one makes behind it.
        before: Option<u64>,
        peer_signature: Option<u32>,
        signature: u32,
    },
}

impl FindingKind {
    /// The word for it in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            FindingKind::Mismatch { .. } => "mismatch",
            FindingKind::Absent { .. } => "not_arrived",
            FindingKind::NotJoined { .. } => "not_joined",
            FindingKind::Before { .. } => "earlier_mismatch",
            FindingKind::Transfer { .. } => "transfer",
        }
    }

    /// The number of the call.
    pub fn number(&self) -> Option<u64> {
        match self {
            FindingKind::Mismatch { number, .. }
            | FindingKind::Absent { number, .. }
            | FindingKind::Before { number }
            | FindingKind::Transfer { number, .. } => Some(*number),
            FindingKind::NotJoined { .. } => None,
        }
    }
}

impl Finding {
    /// Members that did not do what others wait for.
    pub(super) fn late_members(&self) -> Vec<usize> {
        match &self.kind {
            FindingKind::Absent { absent, .. } => absent.iter().map(|(member, _)| *member).collect(),
            FindingKind::Transfer { peer, before: None, peer_signature: None, .. } => vec![*peer],
            _ => Vec::new(),
        }
    }

    /// Members that wait for others.
    pub(super) fn waiting_members(&self) -> Vec<usize> {
        match &self.kind {
            FindingKind::Absent { present, .. } | FindingKind::NotJoined { present, .. } => present.clone(),
            FindingKind::Mismatch { groups, .. } => groups.iter().flatten().copied().collect(),
            FindingKind::Transfer { member, .. } => vec![*member],
            FindingKind::Before { .. } => Vec::new(),
        }
    }

    /// The sentence.
    pub fn text(&self, job: &JobCollectives<'_>) -> String {
        let Some(of) = job.joined.get(self.communicator) else { return String::new() };
        let name = &of.name;
        match &self.kind {
            FindingKind::Mismatch { number, groups } => {
                let sides = mismatch_text(job, of, *number, groups);
                format!("first mismatch: call {number} of {name}: {sides}; {}", of.agreement())
            }
            FindingKind::Absent { number, absent, present } => {
                // A call that the others made too long ago is not known here.
                let call = job.signature(of, present, *number).map_or("called it".to_owned(), Signature::text);
                let agreement = if *number < of.first { String::new() } else { format!("; {}", of.agreement()) };
                let (absent, present) = (absent_text(of, absent), present_text(of, present));
                let call = printable(&call);
                format!("not arrived: call {number} of {name}: {absent}, {present} {call}{agreement}")
            }
            FindingKind::NotJoined { absent, present } => {
                let (absent, of_present) = (ranks_text(absent.clone()), present_text(of, present));
                let makers = present.iter().filter_map(|member| job.communicator(of.members.get(*member)?));
                let call = makers.filter_map(|communicator| communicator.made_by.as_deref()).next().unwrap_or("");
                format!("not arrived: {absent} did not call {call} for {name} yet; {of_present} called it")
            }
            FindingKind::Before { number } => format!(
                "first mismatch: before call {number} of {name}, in calls that are no longer known here; \
                 cutap report --collectives on the recordings finds it"
            ),
            FindingKind::Transfer { member, peer, is_send, number, before, peer_signature, signature } => {
                let label = |place: &usize| of.members.get(*place).map_or("", |member| &member.label);
                let text = |member: &usize, signature: u32| {
                    job.text(of.members.get(*member).map(|member| member.run), signature)
                };
                let (verb, expected) = if *is_send { ("sent", "received") } else { ("received", "sent") };
                let (caller, partner, call) = (label(member), label(peer), text(member, *signature));
                match peer_signature {
                    Some(signature) => format!(
                        "first mismatch: transfer {number} between {caller} and {partner} in {name}: {caller} {call}, \
                         {partner} {}",
                        text(peer, *signature)
                    ),
                    None => {
                        let before = before.map_or_else(String::new, |number| format!(" before call {number}"));
                        format!(
                            "not arrived: {partner} has not {expected} what {caller} {verb} in {name}{before}: \
                             {call}, transfer {number} of the two"
                        )
                    }
                }
            }
        }
    }
}

fn present_text(of: &JoinedCommunicator, present: &[usize]) -> String {
    labels(present.iter().filter_map(|member| of.members.get(*member)))
}

/// `rank 0 ncclAllReduce, rank 1 ncclBroadcast`.
fn mismatch_text(job: &JobCollectives<'_>, of: &JoinedCommunicator, number: u64, groups: &[Vec<usize>]) -> String {
    let signature = |group: &Vec<usize>| job.signature(of, group, number);
    let all: Vec<Option<&Signature>> = groups.iter().map(signature).collect();
    let signatures: Vec<&Signature> = all.iter().copied().flatten().collect();
    let mut sides: Vec<(usize, String)> = Vec::new();
    for (group, signature) in groups.iter().zip(&all) {
        let ranks = present_text(of, group);
        let call = signature.map_or_else(String::new, |signature| signature.difference_text(&signatures));
        sides.push((group.first().copied().unwrap_or(0), format!("{ranks} {}", printable(&call))));
    }
    // Of two that are equally many it is not known which is right: they come in the order of ranks.
    let is_even = groups.windows(2).all(|pair| matches!(pair, [a, b] if a.len() == b.len()));
    if is_even {
        sides.sort();
    }
    sides.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// Members of one reason together.
fn absent_text(of: &JoinedCommunicator, absent: &[(usize, String)]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for (_, reason) in absent {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    let with = |reason: &&str| {
        let members = absent.iter().filter(|(_, other)| other == reason);
        let ranks = labels(members.filter_map(|(member, _)| of.members.get(*member)));
        format!("{ranks} {reason}")
    };
    reasons.iter().map(with).collect::<Vec<_>>().join(", ")
}

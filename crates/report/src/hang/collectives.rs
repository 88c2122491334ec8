//! The collectives of several answers together: names that all ranks share, and which call holds up a rank.

use super::document::{HangDocument, StreamWait};
use crate::collectives::{CallState, JobCollectives, JobRun, JoinedCommunicator, Member, Signature};
use cutap_trace::printable;
use std::io;

/// A collective that a wait waits for, as people read it.
#[derive(Debug, Default)]
pub struct NamedCollective {
    /// `ncclAllReduce(count=4), call 118 of comm#1`.
    pub text: String,
    /// How long ago it was submitted, if it is another one than the wait's.
    pub submitted_ns: Option<u64>,
    /// How many calls of its communicator before it are not known complete, and agree.
    pub before: u64,
}

/// The collectives of these answers.
pub fn job<'a>(documents: &[&'a HangDocument]) -> JobCollectives<'a> {
    let run = |document: &&'a HangDocument| JobRun {
        file: document.run.clone(),
        rank: document.rank,
        boot_id: document.boot_id.clone(),
        lacks: document.lacks.clone(),
        program_end: document.program_end.clone().filter(|_| !document.is_live),
        last_ns: document.last_ns,
        collectives: &document.collectives,
    };
    JobCollectives::new(documents.iter().map(run).collect())
}

/// The collective of a wait of this run: the one that does not fit, if that is in front of the wait too.
pub fn named(job: &JobCollectives<'_>, run: usize, wait: &StreamWait, last_ns: u64) -> Option<NamedCollective> {
    let collective = wait.collective.as_ref()?;
    let Some(place) = &collective.place else {
        return Some(NamedCollective { text: collective.text.clone(), ..NamedCollective::default() });
    };
    let is_it = |member: &&Member| {
        member.run == run && job.communicator(member).is_some_and(|of| of.name == place.communicator)
    };
    let joined = job.joined.iter().enumerate();
    let joined = joined.filter_map(|(n, of)| Some((n, of, of.members.iter().find(is_it)?))).next();
    let Some((n, of, member)) = joined else {
        let text = format!("{}, call {} of {}", collective.text, place.number, place.communicator);
        return Some(NamedCollective { text, ..NamedCollective::default() });
    };
    let number = u64::try_from(place.number as i64 + member.shift).unwrap_or(place.number);
    let wrong = job.findings.iter().find(|finding| finding.communicator == n && !finding.is_over);
    if let Some(wrong) = wrong.and_then(|finding| finding.kind.number()).filter(|wrong| *wrong > number)
        && let Some(call) = job.call(member, wrong)
        && call.state == CallState::Enqueued
        && call.stream == wait.stream
        && let Some(signature) = job.runs.get(run).and_then(|of| of.collectives.signature(call))
    {
        return Some(NamedCollective {
            text: text(signature, wrong, of),
            submitted_ns: Some(last_ns.saturating_sub(call.start_ns)),
            before: wrong - number,
        });
    }
    let text = format!("{}, call {number} of {}", collective.text, of.name);
    Some(NamedCollective { text, ..NamedCollective::default() })
}

fn text(signature: &Signature, number: u64, of: &JoinedCommunicator) -> String {
    format!("{}, call {number} of {}", signature.text(), of.name)
}

/// Writes what is known of all ranks together; nothing where no two ranks of a communicator are here.
pub fn write_job(job: &JobCollectives<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    for of in job.joined.iter().filter(|of| of.members.len() > 1) {
        for note in &of.notes {
            writeln!(out, "{}: {}", of.name, printable(note))?;
        }
    }
    let orders = job.other_orders();
    let verdict = job.verdict();
    let is_wrong = job.findings.iter().any(|finding| !finding.is_over);
    if is_wrong {
        orders.iter().try_for_each(|order| writeln!(out, "{}", order.text(job)))?;
    }
    // A verdict that nothing is wrong says nothing of the order.
    match (&orders[..], verdict) {
        ([first, ..], _) if !is_wrong => writeln!(out, "{}", first.text(job)),
        (_, Some(verdict)) => writeln!(out, "{verdict}"),
        _ => Ok(()),
    }
}

//! The collectives of several answers together: names that all ranks share, and which call holds up a rank.

use super::document::{HangDocument, StreamWait};
use crate::collectives::{CallState, Culprit, FindingKind, JobRun, JobVerdict, Member, OrderedCall};
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
pub fn verdict<'a>(documents: &[&'a HangDocument]) -> JobVerdict<'a> {
    let run = |document: &&'a HangDocument| JobRun {
        file: document.run.clone(),
        rank: document.rank,
        boot_id: document.boot_id.clone(),
        lacks: document.lacks_collectives.clone(),
        program_end: document.program_end.clone().filter(|_| !document.is_live),
        stopped: document.stopped().map(str::to_owned),
        last_ns: document.last_ns,
        known_ns: document.known_ns,
        collectives: &document.collectives,
    };
    JobVerdict::new(documents.iter().map(run).collect())
}

/// The collective of a wait of this run: the one that does not fit, if that is in front of the wait too.
pub fn named(
    verdict: &JobVerdict<'_>,
    (run, pid): (usize, u32),
    wait: &StreamWait,
    last_ns: u64,
) -> Option<NamedCollective> {
    let job = &verdict.job;
    let collective = wait.collective.as_ref()?;
    let Some(place) = &collective.place else {
        return Some(NamedCollective { text: collective.text.clone(), ..NamedCollective::default() });
    };
    let is_here = |member: &&Member| member.run == run && job.communicator(member).is_some_and(|of| of.pid == pid);
    let is_it =
        |member: &&Member| is_here(member) && job.communicator(member).is_some_and(|of| of.name == place.communicator);
    let joined = job.joined.iter().enumerate();
    let joined = joined.filter_map(|(n, of)| Some((n, of, of.members.iter().find(is_it)?))).next();
    let Some((n, of, member)) = joined else {
        let text = format!("{}, call {} of {}", collective.text, place.number, place.communicator);
        return Some(NamedCollective { text, ..NamedCollective::default() });
    };
    let number = u64::try_from(place.number as i64 + member.shift).unwrap_or(place.number);
    let start_ns = job.call(member, number).map_or(0, |call| call.start_ns);
    let wrong = wrong_calls(verdict).into_iter().filter_map(|wrong| {
        // It may be in another communicator, and then in the same stream behind this one.
        let member = job.joined.get(wrong.communicator())?.members.iter().find(is_here)?;
        let call = job.ordered_call(member, wrong)?;
        let own = job.runs.get(run)?.collectives;
        let is_there = call.state == CallState::Enqueued && own.stream(call) == wait.stream;
        let signature = own.signature(call).filter(|_| is_there && call.start_ns > start_ns)?;
        let before = match wrong {
            OrderedCall::Collective(communicator, wrong) if communicator == n => wrong - number,
            _ => 0,
        };
        Some((call.start_ns, format!("{}, {}", signature.text(), wrong.text(job)), before))
    });
    if let Some((start_ns, text, before)) = wrong.min_by_key(|(start_ns, ..)| *start_ns) {
        return Some(NamedCollective { text, submitted_ns: Some(last_ns.saturating_sub(start_ns)), before });
    }
    let text = format!("{}, call {number} of {}", collective.text, of.name);
    Some(NamedCollective { text, ..NamedCollective::default() })
}

/// The calls that do not fit.
fn wrong_calls(verdict: &JobVerdict<'_>) -> Vec<OrderedCall> {
    match verdict.culprit() {
        Some(Culprit::Order(order)) => order.calls.to_vec(),
        Some(Culprit::Finding(finding)) if finding.is_over => Vec::new(),
        Some(Culprit::Finding(finding)) => match &finding.kind {
            FindingKind::Mismatch { number, .. } | FindingKind::Absent { number, .. } => {
                vec![OrderedCall::Collective(finding.communicator, *number)]
            }
            _ => Vec::new(),
        },
        None => Vec::new(),
    }
}

/// Writes what is known of all ranks together; nothing where no two ranks of a communicator are here.
pub fn write_job(verdict: &JobVerdict<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let job = &verdict.job;
    for of in &job.joined {
        for note in &of.notes {
            writeln!(out, "{}: {}", of.name, printable(note))?;
        }
    }
    let culprit = verdict.culprit();
    for order in &verdict.orders {
        if !matches!(culprit, Some(Culprit::Order(first)) if std::ptr::eq(first, order)) {
            writeln!(out, "{}", printable(&order.text(job)))?;
        }
    }
    verdict.sentence().map_or(Ok(()), |sentence| writeln!(out, "{}", printable(&sentence)))
}

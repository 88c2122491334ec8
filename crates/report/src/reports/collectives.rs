//! `report --collectives`: the communicators of all ranks that were given, their calls, and the first one that does
//! not fit.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::collectives::{
    CallState, CommunicatorEnd, Culprit, FindingKind, JobCollectives, JobRun, JobVerdict, JoinedCommunicator,
    RunCollectives, ranks_text,
};
use crate::format::json_writer::write_json;
use crate::format::units::{bytes, time};
use crate::hang::{HangState, write_job};
use crate::notes::missing_calls::missing_collectives;
use crate::statistics::rows::Rows;
use cutap_trace::{Call, End, Event, EventVisitor, FinishedRun, State, printable};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "collectives",
    help: "Collectives of NCCL over ranks: who called what, and the first that does not fit",
    value: Takes::Nothing,
    new: |_| Box::new(Collectives::default()),
};

/// Rows of a communicator, by default.
const ROWS: usize = 10;

#[derive(Debug, Default)]
struct Collectives {
    /// By the run's place.
    states: BTreeMap<u32, HangState>,
    /// What is known of each run: also of those without a call.
    runs: Vec<RunFacts>,
    rows: Rows,
    has_calls: bool,
}

#[derive(Debug)]
struct RunFacts {
    file: String,
    end: End,
    lacks: Option<String>,
    known_ns: u64,
    collectives: RunCollectives,
}

impl SpreadRow {
    /// None if no call has times that can be compared.
    fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.timed)
    }

    /// The GPU's time for a call, and its bytes a second; none without GPU time.
    fn transfer(&self) -> Option<(u64, u64)> {
        let mean_ns = self.gpu_ns.checked_div(self.worked)?;
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(self.gpu_ns.max(1));
        Some((mean_ns, u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

impl RunFacts {
    fn of_job(&self) -> JobRun<'_> {
        JobRun {
            file: self.file.clone(),
            rank: self.end.host.rank.or_else(|| self.end.run.as_ref().and_then(|name| name.rank)),
            boot_id: self.end.host.boot_id.clone(),
            lacks: self.lacks.clone(),
            program_end: self.end.coverage.program_end.map(|end| end.to_string()),
            stopped: None,
            last_ns: self.end.last_ns,
            known_ns: self.known_ns,
            collectives: &self.collectives,
        }
    }
}

impl EventSink for Collectives {
    fn event(&mut self, event: &Event) {
        let call: Option<&Call> = match event {
            Event::Enter(call) | Event::Updated(call) => Some(call),
            // A call that never ended stays open.
            Event::Exit(exit) if exit.state != State::Unfinished => Some(&exit.call),
            _ => None,
        };
        if let Some(call) = call {
            self.has_calls = true;
            let place = call.thread.process.run.as_ref().map_or(0, |run| run.place);
            event.visit(self.states.entry(place).or_default() as &mut dyn EventVisitor);
        }
    }
}

/// Calls of one signature in a communicator, which all ranks have.
#[derive(Debug, Default)]
struct SpreadRow {
    text: String,
    calls: u64,
    timed: u64,
    total_ns: u64,
    max_ns: u64,
    /// By member: how often it came last.
    last: Vec<u64>,
    /// Calls of which the GPU's work is known on all ranks. A rank that comes early works until the last one is there,
    /// so the shortest time of a call is that of the transfer.
    worked: u64,
    gpu_ns: u64,
    bytes: u64,
}

impl Collectives {
    fn verdict(&self) -> JobVerdict<'_> {
        JobVerdict::new(self.runs.iter().map(RunFacts::of_job).collect())
    }

    /// When ranks came to each call, by signature.
    fn spread(job: &JobCollectives<'_>, of: &JoinedCommunicator) -> Vec<SpreadRow> {
        let mut rows: Vec<SpreadRow> = Vec::new();
        let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
        let has_one_clock = of.members.windows(2).all(|pair| match pair {
            [one, other] => job.have_one_clock(one.run, other.run),
            _ => true,
        });
        let all: Vec<usize> = (0..of.members.len()).collect();
        for number in of.first..of.first + of.agreed {
            let starts = of.members.iter().filter_map(|member| Some(job.call(member, number)?.start_ns));
            let starts: Vec<u64> = starts.collect();
            let text = job.signature(of, &all, number).map_or_else(String::new, |signature| signature.text());
            let place = *by_text.entry(text.clone()).or_insert(rows.len());
            if place == rows.len() {
                rows.push(SpreadRow { text, last: vec![0; of.members.len()], ..SpreadRow::default() });
            }
            let row = &mut rows[place];
            row.calls += 1;
            let calls = || of.members.iter().map(|member| job.call(member, number));
            if let Some(gpu_ns) = calls().map(|call| call.map_or(0, |call| call.gpu_ns)).min().filter(|ns| *ns > 0) {
                row.worked += 1;
                row.gpu_ns += gpu_ns;
                row.bytes += calls().flatten().map(|call| call.bytes).max().unwrap_or(0);
            }
            if starts.len() < 2 || starts.len() < of.members.len() || !has_one_clock {
                continue;
            }
            let (first, last) = (starts.iter().min(), starts.iter().max());
            let ns = last.zip(first).map_or(0, |(last, first)| last - first);
            row.timed += 1;
            row.total_ns += ns;
            row.max_ns = row.max_ns.max(ns);
            if let Some(member) = starts.iter().position(|start| Some(start) == last) {
                row.last[member] += 1;
            }
        }
        rows
    }

    fn write_communicator(
        &self,
        job: &JobCollectives<'_>,
        of: &JoinedCommunicator,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let made_by = of.made_by.as_ref().map_or_else(|| "its making was not recorded".to_owned(), Clone::clone);
        let ranks = match of.ranks {
            None => "ranks not known".to_owned(),
            Some(1) => "1 rank".to_owned(),
            Some(ranks) => format!("{ranks} ranks"),
        };
        writeln!(out, "{}: {ranks}, {made_by}, {}", of.name, of.agreement())?;
        writeln!(out, "    called enqueued complete  rank")?;
        for member in &of.members {
            let Some(communicator) = job.communicator(member) else { continue };
            let at_least =
                |state: CallState| communicator.calls.iter().filter(|call| call.state >= state).count() as u64;
            let before = communicator.first - 1;
            let (called, enqueued) = (at_least(CallState::Called) + before, at_least(CallState::Enqueued) + before);
            let complete = at_least(CallState::Complete) + before;
            let end = match communicator.communicator_end {
                Some(CommunicatorEnd::Aborted) => ", aborted",
                Some(CommunicatorEnd::Destroyed) => ", destroyed",
                None if communicator.is_starting => ", not initialised yet",
                None => "",
            };
            let of_rank = match member.rank.map(|rank| format!("rank {rank}")) {
                Some(rank) if rank != member.label => format!(" ({rank} of {})", of.name),
                _ => String::new(),
            };
            writeln!(out, "{called:>10} {enqueued:>8} {complete:>8}  {}{of_rank}{end}", printable(&member.label))?;
        }
        for (ranks, reason) in job.unknown_ranks(of) {
            for ranks in ranks.chunks(16) {
                let text = ranks_text(ranks.to_vec());
                writeln!(out, "{:>10} {:>8} {:>8}  {text}, not known: {}", "-", "-", "-", printable(&reason))?;
            }
        }
        let mut rows = Self::spread(job, of);
        rows.sort_by_key(|row| std::cmp::Reverse((row.total_ns, row.calls)));
        let more = rows.len().saturating_sub(self.rows.top.unwrap_or(ROWS));
        rows.truncate(self.rows.top.unwrap_or(ROWS));
        if !rows.is_empty() {
            let gpu = if rows.iter().any(|row| row.worked > 0) { "     gpu   bandwidth" } else { "" };
            writeln!(out, "     calls   spread      max{gpu}  came last")?;
        }
        for row in &rows {
            let mean = row.mean_ns().map_or_else(|| "-".to_owned(), time);
            let most = row.mean_ns().map_or_else(|| "-".to_owned(), |_| time(row.max_ns));
            let last = row.last.iter().enumerate().max_by_key(|(n, count)| (**count, std::cmp::Reverse(*n)));
            let last = match last.filter(|(_, count)| **count > 0) {
                Some((member, count)) => {
                    let label = &of.members[member].label;
                    format!("{} {:.0}%", printable(label), 100.0 * *count as f64 / row.timed as f64)
                }
                None => "-".to_owned(),
            };
            let gpu = match row.transfer() {
                Some((ns, rate)) if rate > 0 => format!(" {:>8} {:>11}", time(ns), format!("{}/s", bytes(rate))),
                Some((ns, _)) => format!(" {:>8} {:>11}", time(ns), "-"),
                None if rows.iter().any(|row| row.worked > 0) => format!(" {:>8} {:>11}", "-", "-"),
                None => String::new(),
            };
            writeln!(out, "{:>10} {mean:>8} {most:>8}{gpu}  {last:<14}  {}", row.calls, printable(&row.text))?;
        }
        if more > 0 {
            writeln!(out, "{:>10} more kinds of calls: --top {}", "", rows.len() + more)?;
        }
        Ok(())
    }
}

/// Whether the hosts of the ranks have one clock.
fn clocks_differ(job: &JobCollectives<'_>) -> bool {
    job.runs.iter().enumerate().any(|(n, run)| run.boot_id.is_some() && !job.have_one_clock(0, n))
}

impl Report for Collectives {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self as &mut dyn EventSink)
    }

    fn reads_all(&self) -> bool {
        true
    }

    fn rows(&mut self, rows: Rows) -> bool {
        let is_taken = rows.depth.is_none() && rows.sort.is_none();
        self.rows = rows;
        is_taken
    }

    fn has_calls(&self) -> bool {
        self.has_calls
    }

    fn run_ends(&mut self, run_ends: &[FinishedRun]) {
        let mut states = std::mem::take(&mut self.states);
        self.runs = run_ends
            .iter()
            .enumerate()
            .map(|(n, of)| {
                let mut state = states.remove(&(n as u32)).unwrap_or_default();
                let collectives = state.collectives(&of.end);
                let (file, lacks) = (of.path.display().to_string(), missing_collectives(&of.end));
                RunFacts { file, end: of.end.clone(), lacks, known_ns: state.known_until(&of.end), collectives }
            })
            .collect();
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        let has_none = self.runs.iter().all(|run| run.collectives.communicators.is_empty());
        has_none.then(|| "no collective of NCCL was called, or NCCL is linked into the program".into())
    }

    fn write_text(&self, _: &End, _: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let verdict = self.verdict();
        let job = &verdict.job;
        for of in &job.joined {
            self.write_communicator(job, of, out)?;
        }
        if clocks_differ(job) {
            writeln!(out, "hosts have different clocks: spread is known between ranks of one host only")?;
        }
        let culprit = verdict.culprit();
        for finding in &verdict.findings {
            if !matches!(culprit, Some(Culprit::Finding(first)) if std::ptr::eq(first, finding)) {
                writeln!(out, "also: {}", printable(&finding.text(job)))?;
            }
        }
        write_job(&verdict, out)
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let verdict = self.verdict();
        let job = &verdict.job;
        for of in &job.joined {
            write_line(&communicator_json(job, of), out)?;
            for row in Self::spread(job, of) {
                let mean = row.mean_ns();
                let last: BTreeMap<&str, u64> =
                    of.members.iter().map(|member| member.label.as_str()).zip(row.last.iter().copied()).collect();
                let line = json!({
                    "type": "collective", "communicator": of.name, "call": row.text, "count": row.calls,
                    "spread_ns": mean, "max_spread_ns": (row.timed > 0).then_some(row.max_ns), "last": last,
                    "gpu_ns": row.transfer().map(|(ns, _)| ns),
                    "bytes_per_second": row.transfer().map(|(_, rate)| rate),
                });
                write_line(&line, out)?;
            }
        }
        for order in &verdict.orders {
            let sides: Vec<Value> = order.labels.iter().map(|ranks| json!({"ranks": ranks, "call": null})).collect();
            let line = json!({
                "type": "collective_finding", "kind": "order", "communicator": null, "call": null, "sides": sides,
                "is_over": order.is_over, "text": order.text(job),
            });
            write_line(&line, out)?;
        }
        for finding in &verdict.findings {
            let of = &job.joined[finding.communicator];
            let label = |member: &usize| of.members.get(*member).map_or("", |member| &member.label);
            let groups: Vec<Value> = match &finding.kind {
                FindingKind::Mismatch { number, groups } => {
                    let side = |group: &Vec<usize>| {
                        let call = job.signature(of, group, *number).map(|signature| signature.text());
                        json!({"ranks": group.iter().map(label).collect::<Vec<_>>(), "call": call})
                    };
                    groups.iter().map(side).collect()
                }
                FindingKind::Absent { number, absent, present } => {
                    let call = job.signature(of, present, *number).map(|signature| signature.text());
                    let absent: Vec<&str> = absent.iter().map(|(member, _)| label(member)).collect();
                    let present: Vec<&str> = present.iter().map(label).collect();
                    vec![json!({"ranks": absent, "call": null}), json!({"ranks": present, "call": call})]
                }
                FindingKind::Transfer { member, peer, peer_signature, signature, .. } => {
                    let side = |place: &usize, signature: Option<u32>| {
                        let run = of.members.get(*place).map(|member| member.run);
                        let call = signature.map(|signature| job.text(run, signature));
                        json!({"ranks": [label(place)], "call": call})
                    };
                    vec![side(peer, *peer_signature), side(member, Some(*signature))]
                }
                FindingKind::NotJoined { .. } | FindingKind::Before { .. } => Vec::new(),
            };
            let line = json!({
                "type": "collective_finding", "kind": finding.kind.word(), "communicator": of.name,
                "call": finding.kind.number(), "sides": groups, "is_over": finding.is_over,
                "text": finding.text(job),
            });
            write_line(&line, out)?;
        }
        Ok(())
    }
}

fn communicator_json(job: &JobCollectives<'_>, of: &JoinedCommunicator) -> Value {
    let members: Vec<Value> = of
        .members
        .iter()
        .filter_map(|member| {
            let communicator = job.communicator(member)?;
            let at_least = |state: CallState| {
                communicator.first - 1 + communicator.calls.iter().filter(|call| call.state >= state).count() as u64
            };
            Some(json!({
                "rank": member.label, "rank_in_communicator": member.rank, "pid": communicator.pid,
                "run": job.runs.get(member.run).map(|run| &run.file), "called": at_least(CallState::Called),
                "enqueued": at_least(CallState::Enqueued), "complete": at_least(CallState::Complete),
                "communicator_end": communicator.communicator_end, "aligned": member.aligned,
            }))
        })
        .collect();
    json!({
        "type": "communicator", "communicator": of.name, "identity": of.identity, "made_by": of.made_by,
        "ranks": of.ranks,
        "first": of.first, "agreed": of.agreed, "members": members, "unknown_ranks": of.unknown_ranks,
        "notes": of.notes,
    })
}

fn write_line(line: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    write_json(out, line)?;
    out.write_all(b"\n")
}

//! Jobs that are made up: what is found, and that no healthy rank is named.

use super::finding::FindingKind;
use super::job::JobRun;
use super::run::{CallState, CollectiveCall, Derived, RunCollectives, RunCommunicator, Transfer};
use super::signature::Signature;
use super::verdict::JobVerdict;

const SECOND: u64 = 1_000_000_000;

/// Collectives of a rank, each by its count.
fn rank(rank: u32, ranks: u32, counts: &[u64]) -> RunCollectives {
    let mut all = RunCollectives::default();
    let calls = counts.iter().enumerate().map(|(n, count)| {
        let signature = Signature {
            function: "ncclAllReduce".to_owned(),
            parameters: vec![("count".to_owned(), count.to_string())],
        };
        let place = all.signatures.iter().position(|of| *of == signature).unwrap_or_else(|| {
            all.signatures.push(signature);
            all.signatures.len() - 1
        });
        let (state, start_ns) = (CallState::Enqueued, n as u64 * 1000 + u64::from(rank));
        CollectiveCall { signature: place as u32, state, start_ns, ..Default::default() }
    });
    let calls = calls.collect();
    all.communicators.push(RunCommunicator {
        name: "comm#1".to_owned(),
        identity: Some("0x1".to_owned()),
        made_by: Some("ncclCommInitRank".to_owned()),
        ranks: Some(ranks),
        rank: Some(rank),
        is_whole: true,
        first: 1,
        calls,
        ..Default::default()
    });
    all
}

fn run(rank: u32, collectives: &RunCollectives) -> JobRun<'_> {
    JobRun {
        file: format!("run.{rank}.cutap"),
        rank: Some(rank),
        boot_id: Some("boot".to_owned()),
        lacks: None,
        program_end: None,
        stopped: None,
        last_ns: SECOND,
        known_ns: SECOND,
        collectives,
    }
}

fn verdict(all: &[RunCollectives]) -> String {
    let runs = all.iter().enumerate().map(|(rank, of)| run(rank as u32, of)).collect();
    JobVerdict::new(runs).sentence().unwrap_or_default()
}

#[test]
fn the_few_are_named_first() {
    let all = [rank(0, 3, &[1, 2, 3]), rank(1, 3, &[1, 7, 3]), rank(2, 3, &[1, 2, 3])];
    let sides = "rank 1 ncclAllReduce(count=7), ranks 0, 2 ncclAllReduce(count=2)";
    let expected = format!("first mismatch: call 2 of comm#1: {sides}; 1 call agrees");
    assert_eq!(verdict(&all), expected);
}

/// Answers for other machines have the last calls, and a number for the others.
#[test]
fn older_calls_are_compared_too() {
    let counts: Vec<u64> = (0..2000).map(|n| n % 7).collect();
    let longer: Vec<u64> = (0..2300).map(|n| n % 7).collect();
    let mut wrong = longer.clone();
    wrong[100] = 99;
    let tails = |other: &[u64]| [rank(0, 2, &counts).tail(), rank(1, 2, other).tail()];
    let of_healthy = verdict(&tails(&longer));
    let expected = "not arrived: call 2001 of comm#1: rank 0 did not arrive yet, rank 1";
    assert!(of_healthy.starts_with(expected), "{of_healthy}");
    assert!(verdict(&tails(&wrong)).starts_with("first mismatch: before call "), "{}", verdict(&tails(&wrong)));
    let text = serde_json::to_string(&tails(&longer)[1]).unwrap();
    let again: RunCollectives = serde_json::from_str(&text).unwrap();
    assert_eq!(again, tails(&longer)[1]);
}

/// A rank that is more blocks behind than the others keep is only behind.
#[test]
fn a_rank_that_is_far_behind_did_not_arrive() {
    let counts = |calls: u64| (0..calls).map(|n| n % 7).collect::<Vec<u64>>();
    for (behind, others) in [(10, 600), (1700, 2300), (0, 600), (256, 600)] {
        let all = [rank(0, 2, &counts(others)).tail(), rank(1, 2, &counts(behind)).tail()];
        let text = verdict(&all);
        let call = if behind == 256 { "ncclAllReduce(count=4); 0 calls agree from call 257" } else { "called it" };
        let expected = format!("call {} of comm#1: rank 1 did not arrive yet, rank 0 {call}", behind + 1);
        assert_eq!(text, format!("not arrived: {expected}"));
        // The calls before it are still compared where both numbers stand for the same ones.
        let mut wrong = counts(others);
        wrong[100] = 99;
        let all = [rank(0, 3, &wrong).tail(), rank(1, 3, &counts(behind)).tail(), rank(2, 3, &counts(others)).tail()];
        let text = verdict(&all);
        assert!(text.starts_with("first mismatch: before call "), "{behind}, {others}: {text}");
    }
}

/// Of what one rank called from call 11 on nothing is known: the others are compared all the same.
#[test]
fn an_unknown_rank_hides_no_mismatch_of_others() {
    let counts: Vec<u64> = (0..60).collect();
    let mut wrong = counts.clone();
    wrong[49] = 99;
    let all = [rank(0, 3, &counts), rank(1, 3, &wrong), rank(2, 3, &counts[..10])];
    let of = |all: &[RunCollectives]| {
        let mut runs: Vec<JobRun<'_>> = all.iter().enumerate().map(|(rank, of)| run(rank as u32, of)).collect();
        runs[2].lacks = Some("7 calls".to_owned());
        let verdict = JobVerdict::new(runs);
        (verdict.sentence().unwrap_or_default(), verdict.job.joined[0].notes.clone())
    };
    let (text, notes) = of(&all);
    let sides = "rank 0 ncclAllReduce(count=49), rank 1 ncclAllReduce(count=99)";
    assert_eq!(text, format!("first mismatch: call 50 of comm#1: {sides}; 10 calls agree"));
    let of_call = "call 11 of rank 2 is not known: calls are missing: 7 calls";
    assert_eq!(notes, ["calls are missing in run.2.cutap: 7 calls", of_call]);
    // A rank that certainly did not come is named, if the other one is not known.
    let all = [rank(0, 3, &counts), rank(1, 3, &counts[..20]), rank(2, 3, &counts[..10])];
    let (text, _) = of(&all);
    let expected = "not arrived: call 21 of comm#1: rank 1 did not arrive yet, rank 0 ncclAllReduce(count=20)";
    assert_eq!(text, format!("{expected}; 10 calls agree"));
    // One rank alone is compared with nothing.
    let (text, _) = of(&[rank(0, 3, &counts), rank(1, 3, &counts[..10]), rank(2, 3, &counts[..10])]);
    assert!(text.starts_with("not arrived: call 11 of comm#1: rank 1 did not arrive yet"), "{text}");
}

/// What a recording lacks is no reason to name its rank.
#[test]
fn what_is_not_known_names_no_rank() {
    let mut all = [rank(0, 2, &[1, 2, 3]), rank(1, 2, &[1, 2])];
    assert!(verdict(&all).contains("rank 1 did not arrive yet"));
    // It is complete, so all have called it.
    all[0].communicators[0].calls[2].state = CallState::Complete;
    assert!(verdict(&all).starts_with("no mismatch: 2 calls of comm#1 agree"), "{}", verdict(&all));
    all[0].communicators[0].calls[2].state = CallState::Enqueued;
    let with = |change: &dyn Fn(&mut JobRun<'_>)| {
        let mut runs = vec![run(0, &all[0]), run(1, &all[1])];
        change(&mut runs[1]);
        JobVerdict::new(runs).sentence().unwrap_or_default()
    };
    let is_quiet = |text: &str| text.starts_with("no mismatch: 2 calls of comm#1 agree");
    assert!(is_quiet(&with(&|run| run.lacks = Some("7 calls".to_owned()))));
    assert!(is_quiet(&with(&|run| run.known_ns = 1500)));
    // Of another clock only a long silence is known.
    let move_clock = |run: &mut JobRun<'_>, known_ns| {
        run.boot_id = Some("other".to_owned());
        run.known_ns = known_ns;
    };
    assert!(is_quiet(&with(&|run| move_clock(run, SECOND))));
    assert!(with(&|run| move_clock(run, 10 * SECOND)).contains("rank 1 did not arrive yet"));
}

/// Times of runs that do not say which clock they have are not compared.
#[test]
fn ends_by_unknown_clocks_are_not_compared() {
    let all = [rank(0, 2, &[1, 2, 3]), rank(1, 2, &[1, 2])];
    let of = |boot_id: Option<&str>| {
        let mut runs = vec![run(0, &all[0]), run(1, &all[1])];
        runs.iter_mut().for_each(|run| run.boot_id = boot_id.map(str::to_owned));
        (runs[1].program_end, runs[1].last_ns) = (Some("was ended by SIGKILL".to_owned()), 0);
        JobVerdict::new(runs).sentence().unwrap_or_default()
    };
    assert!(
        of(Some("boot")).contains("its program was ended by SIGKILL, 1s before the others"),
        "{}",
        of(Some("boot"))
    );
    assert!(of(None).contains("rank 1 did not arrive yet"), "{}", of(None));
}

#[test]
fn a_rank_without_a_file() {
    let all = [rank(0, 3, &[1, 2]), rank(1, 3, &[1, 2])];
    let expected = "no mismatch: 2 calls of comm#1 agree on ranks 0, 1; rank 2 is not known: no call in these files";
    assert_eq!(verdict(&all), expected);
    // A file of the rank is there, and no communicator in it.
    let none = RunCollectives::default();
    let mut runs = vec![run(0, &all[0]), run(1, &all[1]), run(2, &none)];
    let of = |runs: &[JobRun<'_>]| JobVerdict::new(runs.to_vec()).sentence().unwrap_or_default();
    assert!(of(&runs).ends_with("; rank 2 is not known: no call of it is in run.2.cutap"), "{}", of(&runs));
    runs[2].lacks = Some("damaged".to_owned());
    assert!(of(&runs).ends_with("; rank 2 is not known: calls are missing in run.2.cutap: damaged"), "{}", of(&runs));
    let expected =
        "nothing to compare: only rank 0 of comm#1 is known; ranks 1, 2 are not known: no call in these files";
    assert_eq!(of(&runs[..1]), expected);
}

/// Files that do not belong together are said to be so.
#[test]
fn files_of_one_rank() {
    let mut all = [rank(0, 2, &[1, 2]), rank(1, 2, &[1, 2]), rank(1, 2, &[1, 2])];
    let notes = |all: &[RunCollectives]| {
        let runs = all.iter().zip([0, 1, 1]).map(|(of, rank)| run(rank, of));
        let runs = runs.enumerate().map(|(n, run)| JobRun { file: format!("{n}.cutap"), ..run });
        JobVerdict::new(runs.collect()).job.joined[0].notes.clone()
    };
    assert_eq!(notes(&all), ["rank 1 is in two files, 1.cutap and 2.cutap: give each once"]);
    all[2].communicators[0].identity = Some("0x2".to_owned());
    let why = "which share no communicator: they may be of two jobs";
    assert_eq!(notes(&all), [format!("rank 1 is in two files, 1.cutap and 2.cutap, {why}")]);
    assert!(notes(&all[..2]).is_empty());
}

#[test]
fn transfers_are_matched_by_their_numbers() {
    let transfer = |is_send, peer, number, signature| Transfer {
        is_send,
        peer,
        number,
        call: CollectiveCall { signature, state: CallState::Enqueued, start_ns: number, ..Default::default() },
    };
    let mut all = [rank(0, 2, &[4, 5]), rank(1, 2, &[4, 5])];
    all[0].communicators[0].transfers = vec![transfer(true, 1, 1, 0), transfer(true, 1, 2, 1)];
    all[1].communicators[0].transfers = vec![transfer(false, 0, 1, 0), transfer(false, 0, 2, 1)];
    assert!(verdict(&all).starts_with("no mismatch"), "{}", verdict(&all));
    all[1].communicators[0].transfers[1].call.signature = 0;
    assert!(verdict(&all).starts_with("first mismatch: transfer 2 between rank 0 and rank 1"), "{}", verdict(&all));
    all[1].communicators[0].transfers.pop();
    assert!(verdict(&all).contains("rank 1 has not received what rank 0 sent"), "{}", verdict(&all));
}

/// A rank that lacks a transfer continues; the one that waits for it is late for the next call of all.
#[test]
fn a_transfer_that_is_missing_is_the_reason() {
    let at = |is_send, peer, number, start_ns| Transfer {
        is_send,
        peer,
        number,
        call: CollectiveCall { signature: 0, state: CallState::Enqueued, start_ns, ..Default::default() },
    };
    // Calls 1, 2 and 3 are at 0, 1000 and 2000, and the transfers of each step behind them.
    let mut all = [rank(0, 3, &[4, 4, 4]), rank(1, 3, &[4, 4]), rank(2, 3, &[4, 4, 4])];
    let each = [(0, vec![500, 1500, 2500]), (1, vec![500, 1500]), (2, vec![500, 1500, 2500])];
    for (own, steps) in each {
        let (next, before) = ((own + 1) % 3, (own + 2) % 3);
        for (n, start_ns) in steps.into_iter().enumerate() {
            let transfers = &mut all[own as usize].communicators[0].transfers;
            transfers.push(at(true, next, n as u64 + 1, start_ns));
            // Rank 2 does not receive in the second step.
            match (own, n) {
                (2, 1) => {}
                (2, 2) => transfers.push(at(false, before, 2, start_ns)),
                _ => transfers.push(at(false, before, n as u64 + 1, start_ns)),
            }
        }
    }
    let expected = "not arrived: rank 2 has not received what rank 1 sent in comm#1 before call 3";
    assert!(verdict(&all).starts_with(expected), "{}", verdict(&all));
    // What all have done in one order is no mistake, also while a rank is behind.
    all[2].communicators[0].transfers.insert(3, at(false, 1, 2, 1500));
    all[2].communicators[0].transfers[5].number = 3;
    let expected = "not arrived: call 3 of comm#1: rank 1 did not arrive yet";
    assert!(verdict(&all).starts_with(expected), "{}", verdict(&all));
}

/// A rank that waits for one without a file is not named; nor is one that waits in another communicator.
#[test]
fn the_reason_is_elsewhere() {
    let mut all = [rank(0, 4, &[4]), rank(2, 4, &[4, 4]), rank(3, 4, &[4, 4])];
    let call = CollectiveCall { state: CallState::Enqueued, start_ns: 500, ..Default::default() };
    all[0].communicators[0].transfers = vec![Transfer { is_send: true, peer: 1, number: 1, call }];
    let runs = all.iter().zip([0, 2, 3]).map(|(of, rank)| run(rank, of)).collect();
    let text = JobVerdict::new(runs).sentence().unwrap_or_default();
    assert!(
        text.starts_with("no mismatch: ") && text.contains("rank 1 is not known: no call in these files"),
        "{text}"
    );
    // Rank 1 waits for rank 2 in the second one, and is late in the first one.
    let two = |of: u32, first: &[u64], second: &[u64]| {
        let (mut both, of_two) = (rank(of, 3, first), rank(of - 1, 2, second));
        both.communicators.extend(of_two.communicators);
        (both.communicators[1].identity, both.communicators[1].name) = (Some("0x2".to_owned()), "comm#2".to_owned());
        let later = both.communicators[1].calls.iter_mut();
        later.for_each(|call| (call.signature, call.start_ns) = (0, call.start_ns + 10_000));
        both
    };
    let all = [rank(0, 3, &[4, 4]), two(1, &[4], &[4]), two(2, &[4], &[])];
    assert!(verdict(&all).starts_with("not arrived: call 1 of comm#2: rank 2 did not"), "{}", verdict(&all));
}

/// Others stand in a split that one rank did not call.
#[test]
fn a_split_that_a_rank_does_not_call() {
    let child = |of: u32| RunCommunicator {
        name: "comm#2".to_owned(),
        identity: Some("0x2".to_owned()),
        parent: Some(Derived { identity: "0x1".to_owned(), child: 1, key: Some(0) }),
        made_by: Some("ncclCommSplit".to_owned()),
        made_ns: 5000 + u64::from(of),
        is_starting: true,
        is_whole: true,
        first: 1,
        ..Default::default()
    };
    let mut all = [rank(0, 3, &[4]), rank(1, 3, &[4]), rank(2, 3, &[4])];
    for of in [1, 2] {
        all[of].communicators[0].children = 1;
        all[of].communicators.push(child(of as u32));
    }
    let expected = "not arrived: rank 0 did not call ncclCommSplit for comm#2 yet; ranks 1, 2 called it";
    assert_eq!(verdict(&all), expected);
    let mut with_next = all.clone();
    let next = CollectiveCall { state: CallState::Enqueued, start_ns: 6000, ..Default::default() };
    with_next[0].communicators[0].calls.push(next);
    assert_eq!(verdict(&with_next), expected);
}

/// A program that ended within a call that all have made.
#[test]
fn a_rank_that_is_gone_is_said() {
    let all = [rank(0, 2, &[1, 2]), rank(1, 2, &[1, 2])];
    let mut runs = vec![run(0, &all[0]), run(1, &all[1])];
    let text = |runs: &[JobRun<'_>]| JobVerdict::new(runs.to_vec()).sentence().unwrap_or_default();
    runs[1].stopped = Some("is stopped by a signal".to_owned());
    assert_eq!(text(&runs), "no mismatch: 2 calls of comm#1 agree on ranks 0, 1; rank 1 is stopped by a signal");
    (runs[1].program_end, runs[1].last_ns) = (Some("was ended by SIGKILL".to_owned()), 1000);
    let end_text = "; the program of rank 1 was ended by SIGKILL, 1s before the others";
    assert_eq!(text(&runs), format!("no mismatch: 2 calls of comm#1 agree on ranks 0, 1{end_text}"));
}

/// Each rank of a chain waits for the one before it, and the first one sends nothing. The others are healthy, whichever
/// came first.
#[test]
fn the_first_rank_of_a_chain_is_named() {
    for (of_1, of_2) in [(100, 200), (200, 100)] {
        let receives = |peer, start_ns| Transfer {
            is_send: false,
            peer,
            number: 1,
            call: CollectiveCall { state: CallState::Enqueued, start_ns, ..Default::default() },
        };
        let mut all = [rank(0, 3, &[4]), rank(1, 3, &[4]), rank(2, 3, &[4])];
        all[1].communicators[0].transfers = vec![receives(0, of_1)];
        all[2].communicators[0].transfers = vec![receives(1, of_2)];
        assert!(
            verdict(&all).starts_with("not arrived: rank 0 has not sent what rank 1 received"),
            "{}",
            verdict(&all)
        );
    }
}

/// A small generator of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One rank of three or more makes a mistake; the others call some more before they wait. The call that first differs
/// is named, and of the ranks only the one that made the mistake.
#[test]
fn random_mistakes() {
    let mut numbers = Numbers(7);
    for round in 0..2000 {
        let ranks = 3 + numbers.below(6) as u32;
        let wrong = numbers.below(u64::from(ranks)) as u32;
        let kinds = 1 + numbers.below(4);
        let calls: Vec<u64> = (0..40).map(|_| numbers.below(kinds)).collect();
        let at = numbers.below(30) as usize;
        let mut of_wrong = calls.clone();
        match numbers.below(4) {
            0 => of_wrong[at] = 99,
            1 => drop(of_wrong.remove(at)),
            2 => of_wrong.insert(at, 99),
            _ => of_wrong.truncate(at),
        }
        let expected = calls.iter().zip(&of_wrong).position(|(a, b)| a != b).unwrap_or(of_wrong.len().min(calls.len()));
        let all: Vec<RunCollectives> = (0..ranks)
            .map(|n| {
                let own = if n == wrong { &of_wrong } else { &calls };
                let more = expected + 1 + numbers.below(3) as usize;
                rank(n, ranks, &own[..own.len().min(more)])
            })
            .collect();
        let runs = all.iter().enumerate().map(|(n, of)| run(n as u32, of)).collect();
        let verdict = JobVerdict::new(runs);
        let [finding, ..] = &verdict.findings[..] else { panic!("{round}: nothing was found") };
        assert_eq!(finding.kind.number(), Some(expected as u64 + 1), "{round}: {finding:?}");
        let named = match &finding.kind {
            FindingKind::Mismatch { groups, .. } => groups[0].clone(),
            FindingKind::Absent { absent, .. } => absent.iter().map(|(member, _)| *member).collect(),
            other => panic!("{round}: {other:?}"),
        };
        let label = |member: &usize| verdict.job.joined[0].members[*member].label.clone();
        assert_eq!(named.iter().map(label).collect::<Vec<_>>(), [format!("rank {wrong}")], "{round}: {finding:?}");
    }
}

//! Collectives: what each rank called in which communicator, joined over ranks. One run is followed by
//! [`CollectiveLog`], its answer is [`RunCollectives`], and [`JobVerdict`] joins the answers of several runs.

mod absent;
mod align;
mod communicator;
mod finding;
mod graphs;
mod group;
mod identity;
mod job;
mod log;
mod member;
mod not_joined;
mod order;
mod range_calls;
mod run;
mod signature;
mod transfers;
mod unknown_ranks;
mod verdict;

pub use finding::FindingKind;
pub use group::CallId;
pub use job::{JobCollectives, JobRun, JoinedCommunicator};
pub use log::{CallPlace, CollectiveLog, id_of};
pub use member::{Member, ranks_text};
pub use order::OrderedCall;
pub use run::{CallState, CommunicatorEnd, RunCollectives};
pub use signature::{Signature, is_collective};
pub use verdict::{Culprit, JobVerdict};

#[cfg(test)]
mod tests;

//! Collectives: what each rank called in which communicator, joined over ranks. One run is followed by
//! [`CollectiveLog`], its answer is [`RunCollectives`], and [`JobCollectives`] joins the answers of several runs.

mod absent;
mod align;
mod finding;
mod group;
mod identity;
mod job;
mod log;
mod member;
mod order;
mod run;
mod signature;
mod transfers;

pub use finding::FindingKind;
pub use order::OtherOrder;
pub use job::{JobCollectives, JobRun, JoinedCommunicator};
pub use log::{CallId, CollectiveLog, id_of};
pub use member::{Member, ranks_text};
pub use run::{CallState, CollectiveCall, CommunicatorEnd, RunCollectives, RunCommunicator, Transfer};
pub use signature::{Signature, is_collective};

//! The interface to NVIDIA's kernel driver as data, per driver version: ioctls, RM controls, classes with their
//! allocation parameters, UVM commands, status codes, and every field of their structs.
//!
//! It reads and writes. [`Tables::decode`] turns the bytes of an ioctl, before and after, into a tree of named fields.
//! [`Call::encode`] gives the same bytes back. [`Params`] and [`Place`] set fields by name. The crate does no I/O: the
//! caller brings the bytes, from ptrace, a recording or a program that makes requests.
//!
//! # Which driver
//!
//! ```
//! use cutap_rm::{Fit, Tables, cuda_version};
//! # fn select() -> Option<()> {
//! // /sys/module/nvidia/version has it.
//! let found = Tables::select("580.159.04")?;
//! assert_eq!(found.tables.release(), "580.142"); // the nearest of the branch
//! assert_eq!(found.fit, Fit::SameBranch);
//! assert_eq!(cuda_version("580.159.04"), Some((13, 0)));
//! # Some(()) }
//! # assert!(select().is_some());
//! ```
//!
//! # Look up
//!
//! ```
//! # let tables = cutap_rm::Tables::select("580.142").map(|s| s.tables);
//! # let Some(tables) = tables else { panic!() };
//! use cutap_rm::Privilege;
//! let control = tables.control(0x2080_014a).ok_or("unknown")?;
//! assert_eq!(control.name(), "NV2080_CTRL_CMD_GPU_GET_GID_INFO");
//! assert_eq!((control.size(), control.privilege()), (268, Privilege::Any));
//! assert_eq!(tables.class(0xc86f).map(|c| c.name()), Some("HOPPER_CHANNEL_GPFIFO_A"));
//! assert_eq!(tables.status(0x1f), Some("NV_ERR_INVALID_ARGUMENT"));
//! # Ok::<(), &str>(())
//! ```
//!
//! # Decode
//!
//! ```
//! # let tables = cutap_rm::Tables::select("580.142").map(|s| s.tables);
//! # let Some(tables) = tables else { panic!() };
//! use cutap_rm::{Device, NoMemory, Request, escape_request};
//! let before = [0x1b, 0, 0xd0, 0xc1, 0x1b, 0, 0xd0, 0xc1, 0x1b, 0, 0xd0, 0xc1, 0, 0, 0, 0];
//! let call = tables.decode(
//!     Request {
//!         device: Device::Control,
//!         request: escape_request(0x29, 16),
//!         before: &before,
//!         after: Some(&before),
//!         result: Some(0),
//!     },
//!     &mut NoMemory,
//! );
//! assert_eq!(call.name, "NV_ESC_RM_FREE");
//! assert_eq!(
//!     call.to_string(),
//!     "NV_ESC_RM_FREE {hRoot: 0xc1d0001b, hObjectParent: 0xc1d0001b, hObjectOld: 0xc1d0001b, status: 0x0} = 0, NV_OK"
//! );
//! ```
//!
//! # Write
//!
//! ```
//! # let tables = cutap_rm::Tables::select("580.142").map(|s| s.tables);
//! # let Some(tables) = tables else { panic!() };
//! // Once, at the start:
//! let class = tables.place("NVOS64_PARAMETERS", "hClass")?;
//! // For each request, in memory of one's own:
//! let mut bytes = [0; 48];
//! class.put(&mut bytes, 0xc86f)?;
//! assert_eq!(bytes.get(12..14), Some(&[0x6f, 0xc8][..]));
//! # Ok::<(), cutap_rm::Error>(())
//! ```
//!
//! # Limits
//!
//! The tables come from NVIDIA's open kernel modules, one release of each branch. Commands that only the GSP's firmware
//! or the closed module know have no name there, which a [`Remark`] reports. Parameters that FINN serialized (flag 4 of
//! `NVOS54_PARAMETERS`) are read as if they were not. Without the feature `alloc` there are tables and places only.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod blob;
#[cfg(feature = "alloc")]
mod decode;
#[cfg(feature = "alloc")]
mod encode;
mod error;
#[cfg(feature = "alloc")]
mod follow;
#[path = "generated/submission.rs"]
mod generated_submission;
#[cfg(feature = "alloc")]
mod image;
#[cfg(feature = "alloc")]
mod memory;
#[cfg(feature = "alloc")]
mod params;
mod place;
mod record;
mod request;
mod row;
#[cfg(feature = "alloc")]
mod show;
pub mod submit;
mod tables;
#[cfg(feature = "alloc")]
mod tree;
#[cfg(feature = "alloc")]
mod walk;
#[cfg(feature = "alloc")]
pub mod work;

pub use error::Error;
#[cfg(feature = "alloc")]
pub use memory::{Fragments, Memory, Moment, NoMemory};
#[cfg(feature = "alloc")]
pub use params::Params;
pub use place::Place;
pub use record::{Direction, Field, Form, Kind, Pointee, Pointer, Record};
pub use request::{Device, Request, escape_of, escape_request};
pub use row::{Class, Control, Escape, Handler, Need, Privilege, Uvm};
pub use tables::{DEFAULT_RELEASE, Fit, Selection, Tables, cuda_version};
#[cfg(feature = "alloc")]
pub use tree::{Bytes, Call, Name, Node, Remark, Status, StatusPlace, Subject, Target, Value};

//! Which code of a fat binary runs on a GPU.

use crate::base::error::{Error, Result};
use cutap_cubin::Work;
use cutap_cubin::fatbin::{Entry, Kind, entries};
use std::borrow::Cow;

pub(crate) use cutap_cubin::fatbin::is_fatbin;

/// Code for a GPU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Code<'a> {
    Cubin(Cow<'a, [u8]>),
    Ptx(Cow<'a, [u8]>),
}

/// The code of a fat binary that runs best on a GPU: machine code of its generation, the newest first; then PTX. Of two
/// for one architecture it is that for it alone (sm_90a).
pub(crate) fn choose(bytes: &[u8], gpu: u32) -> Result<Code<'_>> {
    let entries = entries(bytes)?.collect::<cutap_cubin::Result<Vec<_>>>()?;
    let fitness = |entry: &Entry| match (entry.kind, entry.architecture) {
        _ if entry.is_specific() && entry.architecture != gpu => None,
        (Kind::Cubin, own) if own / 10 == gpu / 10 && own <= gpu => Some((2, own, entry.is_specific())),
        (Kind::Ptx, own) if own <= gpu => Some((1, own, entry.is_specific())),
        _ => None,
    };
    let best = entries.iter().filter_map(|entry| Some((fitness(entry)?, entry))).max_by_key(|(fitness, _)| *fitness);
    let Some((_, entry)) = best else {
        let name = |entry: &Entry| match entry.kind {
            Kind::Cubin => Some(format!("sm_{}", entry.architecture)),
            Kind::Ptx => Some(format!("PTX of sm_{}", entry.architecture)),
            Kind::Other => None,
        };
        let has: Vec<_> = entries.iter().filter_map(name).collect();
        let has = if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
        return Err(Error::NoCode { has, gpu });
    };
    let code = entry.code(bytes, &mut Work::unpacking())?;
    Ok(if entry.kind == Kind::Ptx { Code::Ptx(code) } else { Code::Cubin(code) })
}

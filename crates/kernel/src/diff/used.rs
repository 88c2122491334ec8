//! What a run uses: its escapes, controls, classes, UVM commands, and the structs of all of them.

use crate::Action;
use crate::call::Run;
use crate::decode::{Decoder, device};
use cutap_rm::{Device, Pointee, Record, Subject, Tables};
use std::collections::BTreeSet;

/// The numbers that a run uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// Escapes, with the bytes of their argument.
    pub escapes: BTreeSet<(u32, usize)>,
    /// RM controls.
    pub controls: BTreeSet<u32>,
    /// Classes.
    pub classes: BTreeSet<u32>,
    /// UVM commands.
    pub uvm: BTreeSet<u32>,
}

impl Used {
    /// Those of a run.
    #[must_use]
    pub fn of(run: &Run, decoder: &Decoder) -> Self {
        let mut used = Self::default();
        for call in &run.calls {
            let Action::Ioctl(ioctl) = &call.action else { continue };
            let decoded = decoder.decode(ioctl, call.result);
            match device(ioctl) {
                Device::Control | Device::Gpu => {
                    let size = ioctl.before.as_ref().map_or(0, Vec::len);
                    used.escapes.insert((decoded.number, size));
                }
                Device::Uvm | Device::UvmTools => drop(used.uvm.insert(decoded.number)),
                _ => {}
            }
            match decoded.subject {
                Subject::Control(number, _) => drop(used.controls.insert(number)),
                Subject::Class(number, _) => drop(used.classes.insert(number)),
                Subject::None => {}
            }
        }
        used
    }

    /// The names of all structs that the run uses with these tables, also those inside others and after pointers.
    #[must_use]
    pub fn structs(&self, tables: Tables) -> BTreeSet<&'static str> {
        let mut names = BTreeSet::new();
        let escapes = self.escapes.iter().filter_map(|(n, size)| tables.escape(*n)?.params(*size));
        let controls = self.controls.iter().filter_map(|n| tables.control(*n)?.params());
        let classes = self.classes.iter().filter_map(|n| tables.class(*n)?.params());
        let uvm = self.uvm.iter().filter_map(|n| tables.uvm(*n)?.params());
        for record in escapes.chain(controls).chain(classes).chain(uvm) {
            add(record, &mut names);
        }
        names
    }
}

fn add(record: Record, names: &mut BTreeSet<&'static str>) {
    if !names.insert(record.name()) {
        return;
    }
    for field in record.fields() {
        if let Some(inner) = field.record() {
            add(inner, names);
        }
        if let Some(Pointee::Records(inner)) = field.pointer().map(|p| p.pointee()) {
            add(inner, names);
        }
    }
}

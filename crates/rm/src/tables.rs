//! The tables of one release of the driver, and which release a running driver's tables are taken from.

use crate::blob::{Bytes, Section};
use crate::record::Record;
use crate::request::{Device, escape_of};
use crate::row::{self, Class, Control, Escape, Uvm};

/// The driver release whose tables are used where neither a run nor the machine names one: that on which most was
/// measured.
pub const DEFAULT_RELEASE: &str = "580.159.04";

/// The tables of one release. A small value: copy it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    release: u32,
}

/// The tables for a driver, and how well they fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// The tables.
    pub tables: Tables,
    /// How well they fit.
    pub fit: Fit,
}

/// How well the tables of a release fit a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// They are of this very release.
    Exact,
    /// They are of another release of the driver's branch: a few structs may differ.
    SameBranch,
    /// There are none of the driver's branch: they are of the nearest one, and much may differ.
    OtherBranch,
}

/// The lists of a release, in the order of the file.
#[derive(Clone, Copy)]
enum List {
    Escapes,
    Controls,
    Classes,
    Uvm,
    Statuses,
    Modeset,
    Names,
}

/// Branch and further numbers of a version.
type Version = [u32; 3];

/// Older drivers have the interface of 2010: other layouts, and other numbers of statuses. No source says in which
/// release it changed; traces of 2014 have the old one.
const FIRST_OPEN: Version = [340, 0, 0];

impl Tables {
    /// The tables for the driver of this version, such as `580.159.04`: those of the release, else of the nearest of
    /// its branch, else of the nearest branch. None where the text is no version.
    #[must_use]
    pub fn select(version: &str) -> Option<Selection> {
        let wanted = parse(version)?;
        // Of two that are equally near the older one: a driver rarely has less than an older one.
        let distance = |tables: &Self| {
            let own = parse(tables.release()).unwrap_or_default();
            let differ = |at: usize| own.get(at).copied().unwrap_or(0).abs_diff(wanted.get(at).copied().unwrap_or(0));
            (differ(0), differ(1), differ(2))
        };
        let is_of_2010 = |version: Version| version < FIRST_OPEN;
        let same_age = |t: &Self| is_of_2010(parse(t.release()).unwrap_or_default()) == is_of_2010(wanted);
        let tables = Self::all().filter(same_age).min_by_key(distance)?;
        let fit = match distance(&tables) {
            (0, 0, 0) => Fit::Exact,
            (0, ..) => Fit::SameBranch,
            _ => Fit::OtherBranch,
        };
        Some(Selection { tables, fit })
    }

    /// The tables of [`DEFAULT_RELEASE`].
    #[must_use]
    pub fn of_default_release() -> Option<Self> {
        Self::select(DEFAULT_RELEASE).map(|selection| selection.tables)
    }

    /// The tables of all releases, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Section::Releases.count()).map(|release| Self { release })
    }

    /// The release that they are of.
    #[must_use]
    pub fn release(self) -> &'static str {
        Section::Releases.get(self.release).map_or("", |r| r.text(0))
    }

    /// An escape by number.
    #[must_use]
    pub fn escape(self, number: u32) -> Option<Escape> {
        self.row(List::Escapes, number).map(Escape)
    }

    /// An RM control by number.
    #[must_use]
    pub fn control(self, number: u32) -> Option<Control> {
        self.row(List::Controls, number).map(Control)
    }

    /// A class by number.
    #[must_use]
    pub fn class(self, number: u32) -> Option<Class> {
        self.row(List::Classes, number).map(Class)
    }

    /// A UVM command by number.
    #[must_use]
    pub fn uvm(self, number: u32) -> Option<Uvm> {
        self.row(List::Uvm, number).map(Uvm)
    }

    /// The name of a status.
    #[must_use]
    pub fn status(self, code: u32) -> Option<&'static str> {
        self.row(List::Statuses, code).map(|row| row.text(4))
    }

    /// The name of a modeset command.
    #[must_use]
    pub fn modeset(self, command: u32) -> Option<&'static str> {
        self.row(List::Modeset, command).map(|row| row.text(4))
    }

    /// All escapes, by number.
    pub fn escapes(self) -> impl Iterator<Item = Escape> {
        self.rows(List::Escapes).map(Escape)
    }

    /// All RM controls, by number.
    pub fn controls(self) -> impl Iterator<Item = Control> {
        self.rows(List::Controls).map(Control)
    }

    /// All classes, by number.
    pub fn classes(self) -> impl Iterator<Item = Class> {
        self.rows(List::Classes).map(Class)
    }

    /// All UVM commands, by number.
    pub fn uvm_commands(self) -> impl Iterator<Item = Uvm> {
        self.rows(List::Uvm).map(Uvm)
    }

    /// All statuses: code and name.
    pub fn statuses(self) -> impl Iterator<Item = (u32, &'static str)> {
        self.rows(List::Statuses).map(|row| (row::number(row), row.text(4)))
    }

    /// All structs and unions, with each of their names.
    pub fn records(self) -> impl Iterator<Item = (&'static str, Record)> {
        let (first, count) = self.span(List::Names);
        (first..first.saturating_add(count)).filter_map(named)
    }

    /// A struct or union by any of its names.
    #[must_use]
    pub fn record(self, name: &str) -> Option<Record> {
        let (first, count) = self.span(List::Names);
        let found = search(first, count, |at| named(at).map(|(own, _)| own.cmp(name)))?;
        named(found).map(|(_, record)| record)
    }

    /// An RM control by name.
    #[must_use]
    pub fn control_named(self, name: &str) -> Option<Control> {
        self.controls().find(|c| c.name() == name)
    }

    /// A class by name.
    #[must_use]
    pub fn class_named(self, name: &str) -> Option<Class> {
        self.classes().find(|c| c.name() == name)
    }

    /// An escape by name.
    #[must_use]
    pub fn escape_named(self, name: &str) -> Option<Escape> {
        self.escapes().find(|e| e.name() == name)
    }

    /// A UVM command by name.
    #[must_use]
    pub fn uvm_named(self, name: &str) -> Option<Uvm> {
        self.uvm_commands().find(|u| u.name() == name)
    }

    /// How many bytes the argument of a request has: what a tracer must copy. A UVM request does not say it itself.
    #[must_use]
    pub fn argument_size(self, device: Device, request: u32) -> Option<usize> {
        match device {
            Device::Control | Device::Gpu | Device::Modeset => Some(escape_of(request).1),
            Device::Uvm | Device::UvmTools => self.uvm(request).map(Uvm::size),
            Device::Other => None,
        }
    }

    fn span(self, list: List) -> (u32, u32) {
        let at = 4 + list as usize * 8;
        Section::Releases.get(self.release).map_or((0, 0), |r| (r.word(at), r.word(at + 4)))
    }

    fn rows(self, list: List) -> impl Iterator<Item = Bytes> {
        let (first, count) = self.span(list);
        (first..first.saturating_add(count)).filter_map(indexed).filter_map(row::get)
    }

    fn row(self, list: List, number: u32) -> Option<Bytes> {
        let (first, count) = self.span(list);
        let own = |at: u32| indexed(at).and_then(row::get);
        search(first, count, |at| own(at).map(|row| row::number(row).cmp(&number))).and_then(own)
    }
}

fn named(at: u32) -> Option<(&'static str, Record)> {
    let bytes = indexed(at).and_then(|at| Section::Names.get(at))?;
    Some((bytes.text(0), Record::of(bytes.word(4))?))
}

impl core::fmt::Debug for Tables {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tables({})", self.release())
    }
}

fn indexed(at: u32) -> Option<u32> {
    Section::Index.get(at).map(|b| b.word(0))
}

/// The place between `first` and `first + count` for which `compare` says that it is the wanted one.
fn search(first: u32, count: u32, compare: impl Fn(u32) -> Option<core::cmp::Ordering>) -> Option<u32> {
    let (mut low, mut high) = (first, first.checked_add(count)?);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle)? {
            core::cmp::Ordering::Equal => return Some(middle),
            core::cmp::Ordering::Less => low = middle + 1,
            core::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

fn parse(version: &str) -> Option<Version> {
    let mut numbers = Version::default();
    let mut parts = version.trim().split('.');
    for (n, number) in numbers.iter_mut().enumerate() {
        match parts.next() {
            Some(part) => *number = part.parse().ok()?,
            None if n == 0 => return None,
            None => {}
        }
    }
    Some(numbers)
}

/// The newest CUDA version, major and minor, that a driver of this version supports; none for a branch that is not
/// known. A driver supports all older ones too.
#[must_use]
pub fn cuda_version(driver: &str) -> Option<(u32, u32)> {
    let [branch, ..] = parse(driver)?;
    let row = (0..Section::Cuda.count()).filter_map(|at| Section::Cuda.get(at)).find(|row| row.word(0) == branch)?;
    Some((row.word(4), row.word(8)))
}

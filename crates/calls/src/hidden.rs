//! The tables that cuGetExportTable returns, and the names of their slots: `21318c60[51]`.

use crate::generated::export_tables::{SOURCES, TABLES};

/// The drivers whose table lengths `Table::words` has.
pub const DRIVERS: [u32; 5] = [470, 535, 550, 555, 580];

/// Who answers a request for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Driver,
    /// Each copy of the runtime, in its own cudaGetExportTable.
    Runtime,
}

/// How cutap treats a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Its words are replaced in place where the layer `hidden` is asked for.
    Wrapped,
    /// It is the way of the runtime layer.
    Runtime,
    /// It is never changed.
    Left,
}

#[derive(Debug)]
pub struct Table {
    /// Its bytes in memory.
    pub uuid: [u8; 16],
    /// The same as text.
    pub text: &'static str,
    /// Who answers a request.
    pub owner: Owner,
    /// Whether word 0 is the size in bytes.
    pub sized: bool,
    /// How many words the drivers of [`DRIVERS`] have; 0: no such table, or not known.
    pub words: [u32; 5],
    /// How cutap treats it.
    pub treatment: Treatment,
    /// The functions in it, in a sentence; empty: unknown.
    pub about: &'static str,
    /// Libraries that request it, as far as known.
    pub asked_by: &'static [&'static str],
    /// The slots of which something is known, by number.
    pub slots: &'static [Slot],
}

#[derive(Debug)]
pub struct Slot {
    /// Its place in the table, in words.
    pub number: u32,
    /// A name that cutap gives; empty: none.
    pub name: &'static str,
    /// Its parameters as C has them, as far as known; empty: unknown.
    pub parameters: &'static str,
    /// Whether its result is a CUresult.
    pub status: bool,
    /// Its effect; empty: unknown.
    pub about: &'static str,
    /// A key of [`SOURCES`].
    pub source: &'static str,
}

impl Table {
    /// The first eight digits of its UUID, by which slots are named.
    pub fn short(&self) -> &'static str {
        self.text.get(..8).unwrap_or("")
    }
    /// What is known of a slot.
    pub fn slot(&self, number: u32) -> Option<&'static Slot> {
        self.slots.iter().find(|slot| slot.number == number)
    }
}

/// What is known of a table.
pub fn table(uuid: &[u8; 16]) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.uuid == *uuid)
}

/// The table whose UUID begins with these digits, if it is one.
pub fn table_named(short: &str) -> Option<&'static Table> {
    let mut of = TABLES.iter().filter(|table| !short.is_empty() && table.text.starts_with(short));
    of.next().filter(|_| of.next().is_none())
}

/// The text of a source.
pub fn source(key: &str) -> &'static str {
    SOURCES.iter().find(|(name, _)| *name == key).map_or("", |(_, text)| text)
}

/// Table and number of a slot's name.
pub fn parse(name: &str) -> Option<(&str, u32)> {
    let (short, number) = name.strip_suffix(']')?.split_once('[')?;
    is_slot_name(name.as_bytes()).then(|| number.parse().ok().map(|number| (short, number)))?
}

/// What is known of the slot with this name.
pub fn slot_named(name: &str) -> Option<&'static Slot> {
    let (short, number) = parse(name)?;
    table_named(short)?.slot(number)
}

/// Whether a name is that of a slot: no exported function has one with a bracket in it.
pub fn is_slot_name(name: &[u8]) -> bool {
    let Some((short, rest)) = name.split_at_checked(8) else { return false };
    let hex = short.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    let number = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(&[]);
    hex && !number.is_empty() && number.len() <= 5 && number.iter().all(u8::is_ascii_digit)
}

/// Longest name of a slot.
pub const LONGEST: usize = 15;

/// The name of a slot, in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct SlotName([u8; LONGEST], usize);

impl SlotName {
    /// Of a table's slot; numbers go up to 99999.
    pub fn new(uuid: &[u8; 16], number: u32) -> SlotName {
        let mut name = SlotName([0; LONGEST], 0);
        for byte in uuid.iter().take(4) {
            name.push(digit(byte >> 4));
            name.push(digit(byte & 15));
        }
        name.push(b'[');
        let mut unit = 10_000;
        while unit > 0 {
            let number = number / unit;
            if number > 0 || unit == 1 {
                name.push(b'0' + (number % 10) as u8);
            }
            unit /= 10;
        }
        name.push(b']');
        name
    }
    /// Its text.
    pub fn bytes(&self) -> &[u8] {
        self.0.get(..self.1).unwrap_or(&[])
    }
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.0.get_mut(self.1) {
            *place = byte;
            self.1 += 1;
        }
    }
}

fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_slots() {
        let uuid = *b"\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2";
        for (number, text) in
            [(0, "21318c60[0]"), (51, "21318c60[51]"), (100, "21318c60[100]"), (65535, "21318c60[65535]")]
        {
            let name = SlotName::new(&uuid, number);
            assert_eq!(name.bytes(), text.as_bytes());
            assert!(is_slot_name(name.bytes()));
            assert_eq!(parse(text), Some(("21318c60", number)));
        }
        for other in ["21318c60", "21318c60[]", "21318c60[*]", "21318c6[51]", "21318C60[51]", "cuInit", "21318c60[51]x"]
        {
            assert!(!is_slot_name(other.as_bytes()) && parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn each_table_has_a_name_of_its_own() {
        for table in TABLES {
            // Two that differ in one bit at the end are named alike: a4465fa9.
            assert!(table_named(table.text).is_some() && is_slot_name(SlotName::new(&table.uuid, 1).bytes()));
            for slot in table.slots {
                assert!(slot.source.is_empty() || !source(slot.source).is_empty(), "{}[{}]", table.text, slot.number);
            }
        }
        assert_eq!(slot_named("21318c60[51]").map(|slot| slot.name), Some("inner_stream"));
    }
}

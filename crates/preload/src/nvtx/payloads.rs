//! Payloads of the extension of NVTX: bytes, with the id of the schema that says what they are. Of several payloads of
//! an event the first is kept. Schemas are written to the names file entry by entry, and the reader decodes.

use super::read;
use super::text::Text;
use crate::process::{copy, names, switch};
use cutap_calls::generated::nvtx::{counter, enumeration, enumerator, payload_data, schema, schema_entry};
use cutap_calls::nvtx::{EntryKind, EntryType, entry_type};
use cutap_wire::names::{Name, PAYLOAD_LAYOUT_BYTES, kind};

/// Bytes of a payload that are kept.
pub const LONGEST: usize = 256;
/// Entries of a schema or an enumeration that are kept.
const ENTRIES: usize = 256;

/// The first payload of an event.
pub struct Payload {
    pub schema: u64,
    pub address: u64,
    /// Its bytes in the program.
    pub full_length: u32,
    bytes: [u8; LONGEST],
    length: usize,
}

impl Payload {
    pub const fn none() -> Payload {
        Payload { schema: 0, address: 0, full_length: 0, bytes: [0; LONGEST], length: 0 }
    }

    /// The first of `count` payloads (nvtxPayloadData_t) at an address, as far as it can be read.
    pub fn read(at: usize, count: u32) -> Payload {
        let data = fields::<{ payload_data::BYTES as usize }>(at).filter(|_| count > 0);
        let Some(data) = data else { return Payload::none() };
        let [schema, size, address] = [payload_data::SCHEMA, payload_data::SIZE, payload_data::ADDRESS];
        Payload::of(word(&data, schema, 8), word(&data, size, 8), word(&data, address, 8))
    }

    /// So many bytes at an address, as far as they can be read.
    pub fn of(schema: u64, size: u64, address: u64) -> Payload {
        let mut payload = Payload::none();
        (payload.schema, payload.address) = (schema, address);
        let address = address as usize;
        if size == u64::MAX {
            // The program leaves the size to tools, which only know that of a text with a zero at its end.
            let is_text = |of: &EntryType| of.kind == EntryKind::Text && of.bytes == 1;
            if entry_type(schema).is_some_and(is_text) {
                payload.length = read::text(address, &mut payload.bytes);
                payload.full_length = payload.length as u32;
            }
            return payload;
        }
        payload.full_length = u32::try_from(size).unwrap_or(u32::MAX);
        let most = LONGEST.min(payload.full_length as usize);
        let room = payload.bytes.get_mut(..most).unwrap_or(&mut []);
        payload.length = match address % copy::PAGE + most <= copy::PAGE {
            true => read::bytes(address, room),
            // A size that is wrong may lead to a page that was readable and is not any more.
            // SAFETY: there is room for so many bytes.
            false => unsafe { copy::checked(address, room.as_mut_ptr(), room.len()) },
        };
        payload
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

/// A structure of the program; none if it cannot be read.
fn fields<const BYTES: usize>(at: usize) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    (read::bytes(at, &mut bytes) == BYTES).then_some(bytes)
}

/// A number of a structure.
fn word(bytes: &[u8], offset: u32, size: usize) -> u64 {
    let mut word = [0; 8];
    let from = bytes.iter().skip(offset as usize).take(size);
    word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

/// What the program says of a counter; zeros if it cannot be read.
pub struct GivenCounter {
    /// 0: the tool gives one.
    pub id: u64,
    pub schema: u64,
    /// The address of its name.
    pub name: usize,
}

pub fn counter(at: usize) -> GivenCounter {
    let places = [counter::ID, counter::SCHEMA, counter::NAME];
    let [id, schema, name] = words_at::<{ counter::BYTES as usize }, 3>(at, places);
    GivenCounter { id, schema, name: name as usize }
}

/// Words of a structure of the program; zeros if it cannot be read.
pub fn words_at<const BYTES: usize, const WORDS: usize>(at: usize, offsets: [u32; WORDS]) -> [u64; WORDS] {
    let bytes = fields::<BYTES>(at).unwrap_or([0; BYTES]);
    offsets.map(|offset| word(&bytes, offset, 8))
}

/// The id that the program gave to a schema; 0: the tool gives one.
pub fn id_of_schema(at: usize) -> u64 {
    fields::<{ schema::BYTES as usize }>(at)
        .filter(|bytes| word(bytes, schema::MASK, 8) & u64::from(schema::HAS_ID) != 0)
        .map_or(0, |bytes| word(&bytes, schema::ID, 8))
}

/// The id that the program gave to an enumeration; 0: the tool gives one.
pub fn id_of_enumeration(at: usize) -> u64 {
    fields::<{ enumeration::BYTES as usize }>(at)
        .filter(|bytes| word(bytes, enumeration::MASK, 8) & u64::from(enumeration::HAS_ID) != 0)
        .map_or(0, |bytes| word(&bytes, enumeration::ID, 8))
}

/// Addresses of the entries of an array, as far as they are kept.
fn entries(first: u64, count: u64, bytes: u32) -> impl Iterator<Item = (usize, usize)> {
    let most = usize::try_from(count).unwrap_or(ENTRIES).min(ENTRIES);
    (0..most).map(move |n| (n, (first as usize).wrapping_add(n * bytes as usize)))
}

/// Whether the entries lie where a reader takes them to be: one behind the other, with their natural alignment, or
/// where they say.
fn has_known_places(of: &[u8], first: u64, count: u64) -> bool {
    let is_union = word(of, schema::TYPE, 8) >= schema::FIRST_UNION_TYPE.into();
    let has_pack_align = word(of, schema::MASK, 8) & u64::from(schema::HAS_PACK_ALIGN) != 0;
    let is_packed = has_pack_align && word(of, schema::PACK_ALIGN, 8) != 0;
    let has_offset = |at: usize| {
        let entry = fields::<{ schema_entry::BYTES as usize }>(at);
        entry.is_some_and(|entry| word(&entry, schema_entry::OFFSET, 8) != 0)
    };
    !is_union && (!is_packed || entries(first, count, schema_entry::BYTES).skip(1).all(|(_, at)| has_offset(at)))
}

/// Writes what the entries of a schema are. `object` is the domain. Payloads of a schema that is not written show as
/// bytes.
pub fn write_schema(object: u32, id: u64, at: usize) {
    let Some(of) = fields::<{ schema::BYTES as usize }>(at).filter(|_| !switch::has_left()) else { return };
    let (first, count) = (word(&of, schema::ENTRIES, 8), word(&of, schema::ENTRY_COUNT, 8));
    if !has_known_places(&of, first, count) {
        return;
    }
    for (n, at) in entries(first, count, schema_entry::BYTES) {
        let Some(entry) = fields::<{ schema_entry::BYTES as usize }>(at) else { return };
        let name = Text::ascii(word(&entry, schema_entry::NAME, 8) as usize);
        let layout = [
            n as u32,
            word(&entry, schema_entry::OFFSET, 4) as u32,
            word(&entry, schema_entry::FLAGS, 4) as u32,
            word(&entry, schema_entry::ARRAY_LENGTH, 4) as u32,
        ];
        let mut layout_bytes = [0; PAYLOAD_LAYOUT_BYTES];
        let words = layout.iter().flat_map(|word| word.to_le_bytes());
        layout_bytes.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        let (a, b, c) = (id, word(&entry, schema_entry::TYPE, 8), object.into());
        names::write(&Name { kind: kind::PAYLOAD_ENTRY, ticks: 0, a, b, c, s: name.bytes(), t: &layout_bytes });
    }
}

/// Writes what the numbers of an enumeration are called.
pub fn write_enumeration(object: u32, id: u64, at: usize) {
    let Some(of) = fields::<{ enumeration::BYTES as usize }>(at).filter(|_| !switch::has_left()) else { return };
    let (first, count) = (word(&of, enumeration::ENTRIES, 8), word(&of, enumeration::ENTRY_COUNT, 8));
    let size = word(&of, enumeration::SIZE, 8) as u32;
    for (_, at) in entries(first, count, enumerator::BYTES) {
        let Some(entry) = fields::<{ enumerator::BYTES as usize }>(at) else { return };
        let name = Text::ascii(word(&entry, enumerator::NAME, 8) as usize);
        let (a, b, c) = (id, word(&entry, enumerator::VALUE, 8), u64::from(object) | u64::from(size) << 32);
        names::write(&Name { kind: kind::PAYLOAD_ENUM, ticks: 0, a, b, c, s: name.bytes(), t: &[] });
    }
}

//! The declaration of a parameter or a variable: its type, its size and its name.

use super::words::{is_name, starts_with_digit};

/// What PTX says of a type. Compilers write `.u32` for signed numbers too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pointer,
    Signed,
    /// Bits, or an unsigned number.
    Unsigned,
    Float,
    BFloat16,
    /// A struct, a vector.
    Other,
}

#[derive(Debug)]
pub(super) struct Declaration<'a> {
    pub name: Option<&'a str>,
    pub size: u64,
    pub align: u64,
    pub kind: Kind,
    /// Whether each of its words was understood.
    pub is_clear: bool,
}

impl<'a> Declaration<'a> {
    /// Reads `.align 4 .b8 name [ 164 ]`, `.u64 .ptr .global .align 8 name`, `.v4 .f32 name`. `None` for one that a
    /// compiler rejects.
    pub fn parse(words: &[&'a str]) -> Option<Self> {
        let mut rest = words.iter().copied().peekable();
        let (mut element, mut vector, mut count, mut align, mut name) = (None, None, None, None, None);
        let (mut is_pointer, mut is_clear) = (false, true);
        while let Some(word) = rest.next() {
            match word {
                ".align" => align = Some(rest.next()?.parse::<u64>().ok()?),
                ".ptr" => is_pointer = true,
                "[" => match rest.next_if(|word| starts_with_digit(word)).and_then(|word| word.parse::<u64>().ok()) {
                    Some(number) => {
                        count = Some(count.unwrap_or(1_u64).checked_mul(number)?);
                        is_clear &= rest.next_if_eq(&"]").is_some();
                    }
                    None => is_clear = false,
                },
                ".global" | ".const" | ".shared" | ".local" if is_pointer => {}
                _ if word.strip_prefix(".v").is_some_and(starts_with_digit) => {
                    let number = word.strip_prefix(".v")?.parse::<u64>();
                    vector = Some(number.ok().filter(|number| matches!(number, 2 | 4 | 8))?);
                }
                _ => match scalar(word) {
                    Some(scalar) if element.is_none() => element = Some(scalar),
                    None if is_name(word) && name.is_none() => name = Some(word),
                    _ => is_clear = false,
                },
            }
        }
        let (size, kind) = element?;
        let one = size * vector.unwrap_or(1);
        let kind = match (count, vector) {
            (None, None) if is_pointer && size == 8 => Kind::Pointer,
            (None, None) => kind,
            _ => Kind::Other,
        };
        // The alignment of a pointer is that of the memory it points to.
        let align = align.filter(|_| !is_pointer).unwrap_or(one);
        let size = one.checked_mul(count.unwrap_or(1))?;
        align.is_power_of_two().then_some(Self { name, size, align, kind, is_clear })
    }
}

/// Whether a word is the type of a texture, a sampler or a surface. They are handles of eight bytes.
pub(super) fn is_opaque(word: &str) -> bool {
    matches!(word, ".texref" | ".samplerref" | ".surfref")
}

/// Bytes and kind of a type.
fn scalar(word: &str) -> Option<(u64, Kind)> {
    Some(match word {
        ".f16x2" | ".bf16x2" | ".u16x2" | ".s16x2" => (4, Kind::Other),
        ".bf16" => (2, Kind::BFloat16),
        _ if is_opaque(word) => (8, Kind::Other),
        _ => {
            let kind = match word.as_bytes().get(1)? {
                b'u' | b'b' => Kind::Unsigned,
                b's' => Kind::Signed,
                b'f' => Kind::Float,
                _ => return None,
            };
            let bits = word.strip_prefix('.')?.get(1..)?.parse::<u64>().ok();
            let bits = bits.filter(|bits| matches!(bits, 8 | 16 | 32 | 64 | 128))?;
            (bits / 8, if bits == 128 { Kind::Other } else { kind })
        }
    })
}

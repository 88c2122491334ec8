//! A serializer that writes JSON into a buffer, by the parts of `json_text`. Rare values are left to `serde_json`, so
//! the text is the same.

use super::json_text;
use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::Error;

/// Appends the value.
pub(crate) fn write(to: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    value.serialize(JsonLine(to))
}

struct JsonLine<'a>(&'a mut Vec<u8>);

impl<'a> JsonLine<'a> {
    fn text(&mut self, text: &str) -> Result<(), Error> {
        json_text::text(text, self.0);
        Ok(())
    }

    fn whole(self, number: impl itoa::Integer) -> Result<(), Error> {
        json_text::whole(number, self.0);
        Ok(())
    }

    fn open(self, bracket: u8) -> Entries<'a> {
        self.0.push(bracket);
        Entries { to: self.0, is_first: true, end: bracket + 2, further: None }
    }

    /// An object with one key, whose value is what follows.
    fn variant(self, name: &str, bracket: u8) -> Result<Entries<'a>, Error> {
        self.0.push(b'{');
        JsonLine(self.0).text(name)?;
        self.0.push(b':');
        Ok(Entries { further: Some(b'}'), ..self.open(bracket) })
    }
}

/// Elements of a list, or entries of an object.
struct Entries<'a> {
    to: &'a mut Vec<u8>,
    is_first: bool,
    end: u8,
    /// The end of what is around it.
    further: Option<u8>,
}

impl Entries<'_> {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.to.push(b',');
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(JsonLine(self.to))
    }

    /// Names of fields are words.
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.separate();
        json_text::plain(name, self.to);
        self.to.push(b':');
        value.serialize(JsonLine(self.to))
    }

    fn close(self) -> Result<(), Error> {
        self.to.push(self.end);
        self.to.extend(self.further);
        Ok(())
    }
}

macro_rules! whole {
    ($($name:ident: $of:ty),*) => {
        $(fn $name(self, number: $of) -> Result<(), Error> {
            self.whole(number)
        })*
    };
}

impl<'a> Serializer for JsonLine<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Entries<'a>;
    type SerializeTuple = Entries<'a>;
    type SerializeTupleStruct = Entries<'a>;
    type SerializeTupleVariant = Entries<'a>;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Entries<'a>;
    type SerializeStructVariant = Entries<'a>;

    whole!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_bool(self, truth: bool) -> Result<(), Error> {
        json_text::truth(truth, self.0);
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        serde_json::to_writer(self.0, &number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        serde_json::to_writer(self.0, &number)
    }

    fn serialize_char(mut self, letter: char) -> Result<(), Error> {
        self.text(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(mut self, text: &str) -> Result<(), Error> {
        self.text(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(mut self, _: &'static str, _: u32, name: &'static str) -> Result<(), Error> {
        self.text(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut entries = self.open(b'{');
        entries.field(name, value)?;
        entries.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Entries<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Entries<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Entries<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Entries<'a>, Error> {
        self.variant(name, b'[')
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a>, Error> {
        Ok(self.open(b'{'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'a>, Error> {
        Ok(self.open(b'{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Entries<'a>, Error> {
        self.variant(name, b'{')
    }
}

macro_rules! lists {
    ($($interface:ident $add:ident),*) => {
        $(impl ser::$interface for Entries<'_> {
            type Ok = ();
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

lists!(
    SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! objects {
    ($($interface:ident),*) => {
        $(impl ser::$interface for Entries<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

objects!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let before = self.to.len();
        key.serialize(JsonLine(self.to))?;
        // Keys are text: a number is one too.
        if self.to.get(before) != Some(&b'"') {
            self.to.insert(before, b'"');
            self.to.push(b'"');
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.to.push(b':');
        value.serialize(JsonLine(self.to))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Kind {
        Plain,
        Of(u8),
        Both(i8, bool),
        Named { part: Option<f64> },
    }

    #[derive(Serialize)]
    struct All<'a> {
        text: Vec<String>,
        numbers: (i64, u64, f32, f64, char),
        kinds: [Kind; 4],
        by_number: BTreeMap<u16, &'a [u8]>,
        none: Option<()>,
        empty: Vec<u8>,
    }

    #[test]
    fn the_text_is_that_of_serde_json() {
        // Each byte at each place of a word, and behind the last word.
        let text = (0u8..=0x7f).flat_map(|byte| {
            (0..9).map(move |at| {
                let mut text = String::from("abcdefgh\u{e9}\u{65e5}xyz");
                text.insert(at, byte.into());
                text
            })
        });
        let all = All {
            text: text.collect(),
            numbers: (i64::MIN, u64::MAX, 0.1, 1e300, '"'),
            kinds: [Kind::Plain, Kind::Of(1), Kind::Both(-1, true), Kind::Named { part: Some(f64::NAN) }],
            by_number: BTreeMap::from([(7, &b"ab"[..]), (9, b"")]),
            none: None,
            empty: Vec::new(),
        };
        let mut line = Vec::new();
        write(&mut line, &all).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&all).unwrap());
    }
}

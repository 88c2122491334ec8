//! The encoding of protocol buffers, as far as a trace needs it: numbers and length-delimited fields. It knows no
//! message types.

/// A message that is being written.
#[derive(Debug, Default, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A number, a truth value or an enum.
    pub fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// A signed number (`int64`).
    pub fn signed(&mut self, field: u32, value: i64) -> &mut Message {
        self.number(field, value as u64)
    }

    /// Eight bytes (`fixed64`).
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// A float of eight bytes.
    pub fn double(&mut self, field: u32, value: f64) -> &mut Message {
        self.fixed(field, value.to_bits())
    }

    /// Text, bytes, or a message that is done.
    pub fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// Text.
    pub fn text(&mut self, field: u32, value: &str) -> &mut Message {
        self.bytes(field, value.as_bytes())
    }

    /// A message inside this one.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) -> &mut Message {
        self.varint(u64::from(field) << 3 | 2);
        let at = self.bytes.len();
        // Nearly all are so short that their length is one byte.
        self.bytes.push(0);
        fill(self);
        let length = self.bytes.len() - at - 1;
        if length < 0x80 {
            self.bytes[at] = length as u8;
        } else {
            let mut head = Message::default();
            head.varint(length as u64);
            self.bytes.splice(at..=at, head.bytes);
        }
        self
    }

    /// What was written.
    pub fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Empties it, to be written again.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn as_the_encoding_is_described() {
        let mut m = Message::default();
        m.number(1, 150).text(2, "testing");
        m.message(3, |m| {
            m.number(1, 150);
        });
        m.fixed(16, 1);
        let wanted = [
            &[0x08, 0x96, 0x01, 0x12, 0x07][..],
            b"testing",
            &[0x1a, 0x03, 0x08, 0x96, 0x01, 0x81, 0x01, 1, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(m.written(), wanted.concat());
        m.clear();
        m.message(1, |m| {
            m.message(2, |m| {
                m.bytes(3, &[7; 200]);
            });
        });
        let wanted = [&[0x0a, 0xce, 0x01, 0x12, 0xcb, 0x01, 0x1a, 0xc8, 0x01][..], &[7; 200]].concat();
        assert_eq!(m.written(), wanted);
        m.clear();
        m.signed(1, -1);
        assert_eq!(m.written(), [&[0x08][..], &[0xff; 9], &[0x01]].concat());
    }
}

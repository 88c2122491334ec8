//! Fields of JSON with numbers and bytes in hexadecimal digits, for `serde(with = ...)`.

/// A number as a text such as `"0x10"`. A plain number is read too.
pub(crate) mod hex_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
    pub(crate) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{number:#x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        match Either::deserialize(from)? {
            Either::Number(number) => Ok(number),
            Either::Text(text) => crate::hex::number(&text).ok_or_else(|| D::Error::custom("a number was expected")),
        }
    }
}

/// Bytes as hexadecimal digits.
pub(crate) mod hex_bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&crate::hex::text(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        crate::hex::bytes(&text).ok_or_else(|| D::Error::custom("pairs of hexadecimal digits were expected"))
    }
}

/// Bytes as hexadecimal digits, or nothing.
pub(crate) mod hex_bytes_option {
    use serde::{Deserializer, Serializer};

    #[allow(clippy::ref_option)] // serde's signature.
    pub(crate) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => super::hex_bytes::serialize(bytes, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        super::hex_bytes::deserialize(from).map(Some)
    }
}

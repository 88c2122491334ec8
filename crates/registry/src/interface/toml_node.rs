//! A TOML document walked by hand, with the place of everything in it, for files with free keys.

use crate::error::{Error, Source};
use toml::de::{DeTable, DeValue};

/// A value and where it, or the key in front of it, stands.
pub(crate) struct TomlNode<'a> {
    source: &'a Source,
    pub(crate) at: usize,
    value: &'a DeValue<'a>,
}

/// Parses the text; [`TomlNode::new`] walks what this returns.
pub(crate) fn parse(source: &Source) -> Result<DeValue<'_>, Error> {
    match DeTable::parse(&source.text) {
        Ok(table) => Ok(DeValue::Table(table.into_inner())),
        Err(e) => Err(source.error(e.span().map_or(0, |s| s.start), e.message().trim_end().to_owned())),
    }
}

impl<'a> TomlNode<'a> {
    pub(crate) fn new(source: &'a Source, value: &'a DeValue<'a>) -> Self {
        Self { source, at: 0, value }
    }

    pub(crate) fn error(&self, message: String) -> Error {
        self.source.error(self.at, message)
    }

    fn is_no(&self, expected: &str) -> Error {
        self.error(format!("{} stands here, expected {expected}", self.value.type_str()))
    }

    /// The entries of a table, in the file's order.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, TomlNode<'a>)>, Error> {
        let table = self.value.as_table().ok_or_else(|| self.is_no("a table"))?;
        let mut all: Vec<(&str, TomlNode)> = Vec::new();
        for (key, value) in table {
            let walk = TomlNode { source: self.source, at: key.span().start, value: value.get_ref() };
            all.push((key.get_ref().as_ref(), walk));
        }
        all.sort_by_key(|(_, walk)| walk.at);
        Ok(all)
    }

    /// The entries of a table that has no keys but these.
    pub(crate) fn table(&self, keys: &[&str]) -> Result<Vec<(&'a str, TomlNode<'a>)>, Error> {
        let entries = self.entries()?;
        match entries.iter().find(|(key, _)| !keys.contains(key)) {
            Some((key, walk)) => Err(walk.error(format!("unknown key {key}, expected {}", keys.join(", ")))),
            None => Ok(entries),
        }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.is_str()
    }

    pub(crate) fn text(&self) -> Result<String, Error> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.is_no("a text"))
    }

    pub(crate) fn one_of(&self, all: &[&str]) -> Result<String, Error> {
        let text = self.text()?;
        match all.contains(&text.as_str()) {
            true => Ok(text),
            false => Err(self.error(format!("\"{text}\" stands here, expected {}", all.join(", ")))),
        }
    }

    /// A text, or an array of texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, Error> {
        match self.value.as_array() {
            None => Ok(vec![self.text()?]),
            Some(array) => array
                .iter()
                .map(|one| TomlNode { source: self.source, at: one.span().start, value: one.get_ref() }.text())
                .collect(),
        }
    }

    /// A number that is not negative.
    pub(crate) fn number(&self) -> Result<u64, Error> {
        let number = self.value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        number.ok_or_else(|| self.is_no("a number"))
    }

    /// The elements of an array, or the value itself.
    pub(crate) fn all(&self) -> Result<Vec<TomlNode<'a>>, Error> {
        Ok(match self.value.as_array() {
            None => vec![TomlNode { ..*self }],
            Some(array) => {
                let one =
                    |v: &'a toml::Spanned<DeValue<'a>>| TomlNode { at: v.span().start, value: v.get_ref(), ..*self };
                array.iter().map(one).collect()
            }
        })
    }

    pub(crate) fn truth(&self) -> Result<bool, Error> {
        self.value.as_bool().ok_or_else(|| self.is_no("true or false"))
    }
}

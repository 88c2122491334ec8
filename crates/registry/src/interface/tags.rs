//! Tables of types by tag: `[tags.ENUM]` of an overlay, as types or as the numbers of a union's fields.

use super::api_files::Found;
use super::ctype;
use super::known::{Type, TypeId};
use super::tables::{Tables, TagRow};
use super::types_file::Def;
use crate::error::{Error, Location};

impl Tables<'_> {
    /// The row of `[tags.NAME]`; `fields`: its values are numbers of a union's fields, else types.
    pub(crate) fn tag_row(&mut self, family: usize, name: &str, fields: bool, from: Location) -> Result<u16, Error> {
        let api = self.api;
        let families = [family].into_iter().chain(0..api.families.len());
        let tag_text = families.clone().find_map(|n| Some((n, api.families[n].overlay.tags.get(name)?)));
        let Some((home, text)) = tag_text else {
            return Err(from.error(format!("no overlay has [tags.{name}]")));
        };
        let key = (home, name.to_owned(), fields);
        if let Some(row) = self.tag_ids.get(&key) {
            return Ok(*row);
        }
        let row = self.tags.len() as u16;
        self.tag_ids.insert(key, row);
        self.tags.push(TagRow { name: name.to_owned(), rows: Vec::new() });
        let source = &api.families[home].overlay_source;
        let of = text.of.as_deref().unwrap_or(name);
        let values = self.values(home, of, Location { source, at: text.at })?;
        let mut rows = Vec::new();
        for (value, at, said) in &text.rows {
            let location = Location { source, at: *at };
            let number = values.iter().find(|(n, _)| n == value).map(|(_, v)| *v).or_else(|| value.parse().ok());
            let Some(number) = number else {
                return Err(location.error(format!("{of} has no value {value}")));
            };
            let second = match (&text.union, fields) {
                (None, true) => {
                    let message = format!("[tags.{name}] needs union = \"...\" for its values to be fields");
                    return Err(location.error(message));
                }
                (Some(union), _) => self.union_field(home, union, said, fields, location)?,
                (None, false) => {
                    let wrong = || location.error(format!("\"{said}\" is no C type that is understood"));
                    let ty = ctype::parse(said).ok_or_else(wrong)?;
                    self.resolve(home, &ty, location)?
                }
            };
            rows.push((number, second));
        }
        rows.sort_unstable();
        self.tags[usize::from(row)].rows = rows;
        Ok(row)
    }

    /// The types of options' values: the reader finds them by the name of the keys' enum.
    pub(crate) fn tags_of_options(&mut self, family: usize, keys: TypeId, location: Location) -> Result<(), Error> {
        let Type::Pointer(to, _) = self.get(keys) else { return Err(location.error("keys are no array".to_owned())) };
        let Type::Enum(n) = self.get(to) else { return Err(location.error("keys are no array of an enum".to_owned())) };
        let name = self.enums[usize::from(n)].name.clone();
        self.tag_row(family, &name, false, location).map(drop)
    }

    /// Names and values of an enum, or of an enum made of defines.
    fn values(&mut self, family: usize, name: &str, location: Location) -> Result<Vec<(String, i64)>, Error> {
        match self.api.find(family, name) {
            Some(Found::Def(at, Def::Enum(n))) => Ok(self.api.families[at].types.enums[*n].values.clone()),
            Some(_) => {
                let ty = self.resolve(family, &ctype::CType::Name(name.to_owned(), false), location)?;
                let (Type::Enum(n) | Type::Flags(n, _)) = self.get(ty) else {
                    return Err(location.error(format!("{name} is no enum")));
                };
                Ok(self.enums[usize::from(n)].values.iter().map(|(v, n)| (n.clone(), *v)).collect())
            }
            None => Err(location.error(format!("there is no enum {name}"))),
        }
    }

    /// Number or type of a union's field.
    fn union_field(
        &mut self,
        family: usize,
        union: &str,
        field: &str,
        number: bool,
        location: Location,
    ) -> Result<u16, Error> {
        let name = ctype::CType::Name(union.to_owned(), false);
        let ty = self.resolve(family, &name, location)?;
        let Type::Union(first) = self.get(ty) else {
            return Err(location.error(format!("{union} is no union")));
        };
        // The newest layout: fields of a union are added, never taken away.
        let fields = &self.structs[self.rows_of(first).end - 1].fields;
        match fields.iter().position(|f| f.name == field) {
            Some(n) if number => Ok(n as u16),
            Some(n) => Ok(fields[n].ty),
            None => Err(location.error(format!("{union} has no field {field}"))),
        }
    }
}

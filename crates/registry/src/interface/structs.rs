//! Structs and unions: their fields with types, directions and rules; their size, alignment and where
//! the processor's calling rules put them when they are passed by value.

use super::known::{OWN, Type, TypeId};
use super::overlay_file::StructText;
use super::tables::{Extent, Member, Sibling, StructRow, Tables};
use super::types_file::Layout;
use super::version::Span;
use crate::error::{Error, Location};

impl Tables<'_> {
    /// The first row of a struct, with its other versions behind it.
    pub(crate) fn structure(&mut self, family: usize, n: usize) -> Result<u16, Error> {
        if let Some(row) = self.struct_ids.get(&(family, n)) {
            return Ok(*row);
        }
        let home = &self.api.families[family];
        let def = &home.types.structs[n];
        let first = self.structs.len();
        self.struct_ids.insert((family, n), first as u16);
        // The rows are there before their fields are, for a struct that leads to itself.
        for layout in &def.layouts {
            let extent = Extent { size: layout.size, align: 8, classes: [None; 2] };
            let (name, union, span) = (def.name.clone(), def.union, layout.span);
            self.structs.push(StructRow {
                name,
                first: first as u16,
                union,
                span,
                extent,
                fields: Vec::new(),
                tag: None,
            });
        }
        let text = home.overlay.structs.get(&def.name);
        if let Some((field, member)) = text.and_then(|t| {
            t.fields.iter().find(|(f, _)| !def.layouts.iter().any(|l| l.fields.iter().any(|d| d.name == **f)))
        }) {
            let location = Location { source: &home.overlay_source, at: member.at };
            return Err(location.error(format!("{} has no field {field}", def.name)));
        }
        for (k, layout) in def.layouts.iter().enumerate() {
            let extent = self.extent_of(family, layout, def.union)?;
            self.structs[first + k].extent = extent;
            let fields = self.fields(family, &def.name, layout, text, def.union)?;
            self.structs[first + k].fields = fields;
        }
        if def.union {
            // One numbering for all versions: fields come and go, and all of them lie at 0.
            let newest = self.structs[first + def.layouts.len() - 1].fields.clone();
            self.structs[first..].iter_mut().take(def.layouts.len()).for_each(|s| s.fields = newest.clone());
        }
        if let Some(text) = text.filter(|t| t.tags.is_some() || t.tag.is_some()) {
            self.union_tags(family, first, def.layouts.len(), text)?;
        }
        if let Some((field, at)) = text.and_then(|t| t.sized_by.as_ref()) {
            let location = Location { source: &home.overlay_source, at: *at };
            self.sized_by(first, def.layouts.len(), field, location)?;
        }
        Ok(first as u16)
    }

    fn fields(
        &mut self,
        family: usize,
        name: &str,
        layout: &Layout,
        text: Option<&StructText>,
        union: bool,
    ) -> Result<Vec<Member>, Error> {
        let home = &self.api.families[family];
        let mut siblings = Vec::new();
        for field in &layout.fields {
            let field_text = text.and_then(|t| t.fields.get(&field.name));
            let reserved = is_reserved(&field.name) && field_text.is_none();
            if field.bits || reserved || field.offset > u32::from(u16::MAX) {
                continue;
            }
            let imported = Location { source: &home.types_source, at: field.at };
            let mut ty = self.resolve(family, &field.ty, imported)?;
            if let Some((over, new)) = field_text.and_then(|o| o.ty.as_ref().map(|t| (o, t))) {
                ty = self.replaced(family, ty, new, Location { source: &home.overlay_source, at: over.at })?;
            }
            siblings.push(Sibling {
                name: field_text.and_then(|o| o.name.as_ref()).unwrap_or(&field.name).clone(),
                ty,
                dir: None,
                unit: None,
                incomplete: self.is_incomplete(&field.ty, ty),
                offset: field.offset,
                overlay: field_text.cloned(),
            });
        }
        let mut fields = Vec::new();
        for n in 0..siblings.len() {
            // Of a union's pointers only one is meant, and its siblings are elsewhere.
            let mut member = match union && siblings[n].overlay.is_none() {
                true => Member::plain(&siblings[n]),
                false => self.member(family, name, &siblings, n, true)?,
            };
            member.offset = siblings[n].offset as u16;
            fields.push(member);
        }
        self.tell_unions(name, &fields)?;
        Ok(fields)
    }

    /// Tells the unions among the fields where their tag is.
    fn tell_unions(&mut self, name: &str, fields: &[Member]) -> Result<(), Error> {
        for field in fields {
            let Type::Union(row) = self.get(field.ty) else { continue };
            let union = self.structs[usize::from(row)].name.clone();
            let union_text = self.api.families.iter().find_map(|f| Some((f, f.overlay.structs.get(&union)?)));
            let Some((home, StructText { tag: Some(tag), at, .. })) = union_text else { continue };
            // It has its tag inside.
            if self.rows_of(row).any(|n| self.structs[n].tag.is_some_and(|(at, _)| (OWN..255).contains(&at))) {
                continue;
            }
            let Some(sibling) = fields.iter().position(|f| f.name == *tag) else {
                let location = Location { source: &home.overlay_source, at: *at };
                return Err(location.error(format!("{name} has {union}, but no field {tag}")));
            };
            for one in self.rows_of(row) {
                if let Some((was, _)) = self.structs[one].tag.as_mut() {
                    *was = sibling as u8;
                }
            }
        }
        Ok(())
    }

    fn union_tags(&mut self, family: usize, first: usize, count: usize, text: &StructText) -> Result<(), Error> {
        let location = Location { source: &self.api.families[family].overlay_source, at: text.at };
        let (Some(_), Some(tags)) = (&text.tag, &text.tags) else {
            return Err(location.error("a union needs both tag (a field beside it) and tags (their table)".to_owned()));
        };
        if !self.structs[first].union {
            return Err(location.error(format!("{} is no union", self.structs[first].name)));
        }
        let row = self.tag_row(family, tags, true, location)?;
        // A tag that is a separate field is known here, else the struct around it tells where it is.
        let own = self.structs[first].fields.iter().position(|f| text.tag.as_ref() == Some(&f.name));
        let tag = own.map_or(255, |n| OWN + n as u8);
        for one in first..first + count {
            self.structs[one].tag = Some((tag, row));
        }
        Ok(())
    }

    /// Tells a struct's rows which field says how many bytes it has.
    fn sized_by(&mut self, first: usize, count: usize, field: &str, location: Location) -> Result<(), Error> {
        for row in &mut self.structs[first..first + count] {
            let at = row.fields.iter().position(|f| f.name == field).filter(|_| !row.union);
            let Some(at) = at else { return Err(location.error(format!("{} has no field {field}", row.name))) };
            row.tag = Some((at as u8, u16::MAX));
        }
        Ok(())
    }

    /// A type as it was in one version: a struct, or a pointer to one, whose layout stays what it was.
    pub(crate) fn frozen(&mut self, ty: TypeId, version: u32) -> TypeId {
        match self.get(ty) {
            Type::Pointer(to, constant) => {
                let to = self.frozen(to, version);
                self.id(Type::Pointer(to, constant))
            }
            Type::Struct(n) => {
                let first = self.structs.len() as u16;
                let span = Span { since: 0, until: u32::MAX };
                let row = self.structs[self.row_at(n, version)].clone();
                self.structs.push(StructRow { first, span, ..row });
                self.id(Type::Struct(first))
            }
            _ => ty,
        }
    }

    fn extent_of(&mut self, family: usize, layout: &Layout, union: bool) -> Result<Extent, Error> {
        let mut extent = Extent { size: layout.size, align: 1, classes: [None; 2] };
        for field in &layout.fields {
            let location = Location { source: &self.api.families[family].types_source, at: field.at };
            let ty = self.resolve(family, &field.ty, location)?;
            let inner = self.extent(ty, layout.span.until);
            let end = field.offset + if field.bits { 0 } else { inner.size };
            if end > layout.size && !union {
                let message = format!("{} ends at {end}, the struct at {}", field.name, layout.size);
                return Err(location.error(message));
            }
            // A packed struct has fields where they would not lie by themselves.
            let fits = field.offset.is_multiple_of(inner.align) && layout.size.is_multiple_of(inner.align);
            extent.align = extent.align.max(if fits { inner.align } else { 1 });
            extent.put(field.offset, inner);
        }
        Ok(extent)
    }
}

/// Fields that no one fills.
fn is_reserved(name: &str) -> bool {
    let lower = name.trim_start_matches('_').to_lowercase();
    ["reserved", "nreserved", "pad", "unused", "cudareserved", "internal_pad"].iter().any(|w| lower.starts_with(w))
}

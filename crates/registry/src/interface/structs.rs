//! Structs and unions: their fields with types, directions and rules; their size, alignment and where
//! the processor's calling rules put them when they are passed by value.

use super::known::{Dir, OWN, Rule, Type, TypeId, Unit, Writes};
use super::overlay_file::StructText;
use super::rules::{Member, Sibling};
use super::types::Tables;
use super::types_file::Layout;
use super::version::Span;
use super::world::Place;
use crate::error::Error;

/// Class of eight bytes of a value (System V ABI for x86-64, 3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Integer,
    Vector,
}

/// Bytes of a type, and how it is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// Classes of its first sixteen bytes; of no use when it is larger.
    pub(crate) classes: [Option<Class>; 2],
}

/// A row of the table of structs.
#[derive(Debug, Clone)]
pub(crate) struct StructRow {
    pub(crate) name: String,
    /// The first row of its versions.
    pub(crate) first: u16,
    pub(crate) union: bool,
    pub(crate) span: Span,
    pub(crate) extent: Extent,
    pub(crate) fields: Vec<Member>,
    /// A union: sibling and row of tags.
    pub(crate) tag: Option<(u8, u16)>,
}

impl Tables<'_> {
    /// The first row of a struct, with its other versions behind it.
    pub(crate) fn structure(&mut self, family: usize, n: usize) -> Result<u16, Error> {
        if let Some(row) = self.struct_ids.get(&(family, n)) {
            return Ok(*row);
        }
        let home = &self.world.families[family];
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
            let place = Place { source: &home.overlay_source, at: member.at };
            return Err(place.error(format!("{} has no field {field}", def.name)));
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
            let place = Place { source: &home.overlay_source, at: *at };
            self.sized_by(first, def.layouts.len(), field, place)?;
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
        let home = &self.world.families[family];
        let mut siblings = Vec::new();
        for field in &layout.fields {
            let over = text.and_then(|t| t.fields.get(&field.name));
            let reserved = is_reserved(&field.name) && over.is_none();
            if field.bits || reserved || field.offset > u32::from(u16::MAX) {
                continue;
            }
            let imported = Place { source: &home.types_source, at: field.at };
            let mut ty = self.resolve(family, &field.ty, imported)?;
            if let Some((over, new)) = over.and_then(|o| o.ty.as_ref().map(|t| (o, t))) {
                ty = self.replaced(family, ty, new, Place { source: &home.overlay_source, at: over.at })?;
            }
            siblings.push(Sibling {
                name: over.and_then(|o| o.name.as_ref()).unwrap_or(&field.name).clone(),
                ty,
                way: None,
                unit: None,
                incomplete: self.is_incomplete(&field.ty, ty),
                offset: field.offset,
                over: over.cloned(),
            });
        }
        let mut fields = Vec::new();
        for n in 0..siblings.len() {
            // Of a union's pointers only one is meant, and its siblings are elsewhere.
            let mut member = match union && siblings[n].over.is_none() {
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
            let found = self.world.families.iter().find_map(|f| Some((f, f.overlay.structs.get(&union)?)));
            let Some((home, StructText { tag: Some(tag), at, .. })) = found else { continue };
            // It has its tag inside.
            if self.rows_of(row).any(|n| self.structs[n].tag.is_some_and(|(at, _)| (OWN..255).contains(&at))) {
                continue;
            }
            let Some(sibling) = fields.iter().position(|f| f.name == *tag) else {
                let place = Place { source: &home.overlay_source, at: *at };
                return Err(place.error(format!("{name} has {union}, but no field {tag}")));
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
        let place = Place { source: &self.world.families[family].overlay_source, at: text.at };
        let (Some(_), Some(tags)) = (&text.tag, &text.tags) else {
            return Err(place.error("a union needs both tag (a field beside it) and tags (their table)".to_owned()));
        };
        if !self.structs[first].union {
            return Err(place.error(format!("{} is no union", self.structs[first].name)));
        }
        let row = self.tag_row(family, tags, true, place)?;
        // A tag that is a field of its own is known here, else the struct around it tells where it is.
        let own = self.structs[first].fields.iter().position(|f| text.tag.as_ref() == Some(&f.name));
        let tag = own.map_or(255, |n| OWN + n as u8);
        for one in first..first + count {
            self.structs[one].tag = Some((tag, row));
        }
        Ok(())
    }

    /// Tells a struct's rows which field says how many bytes it has.
    fn sized_by(&mut self, first: usize, count: usize, field: &str, place: Place) -> Result<(), Error> {
        for row in &mut self.structs[first..first + count] {
            let at = row.fields.iter().position(|f| f.name == field).filter(|_| !row.union);
            let Some(at) = at else { return Err(place.error(format!("{} has no field {field}", row.name))) };
            row.tag = Some((at as u8, u16::MAX));
        }
        Ok(())
    }

    /// All rows of a struct whose first row this is.
    pub(crate) fn rows_of(&self, first: u16) -> std::ops::Range<usize> {
        let from = usize::from(first);
        from..from + self.structs[from..].iter().take_while(|s| s.first == first).count()
    }

    /// The row of a struct that a version has; the newest when it has none.
    pub(crate) fn row_at(&self, first: u16, version: u32) -> usize {
        let rows = self.rows_of(first);
        let last = rows.end - 1;
        rows.clone().find(|n| self.structs[*n].span.contains(version)).unwrap_or(last)
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
            let place = Place { source: &self.world.families[family].types_source, at: field.at };
            let ty = self.resolve(family, &field.ty, place)?;
            let inner = self.extent(ty, layout.span.until);
            let end = field.offset + if field.bits { 0 } else { inner.size };
            if end > layout.size && !union {
                let message = format!("{} ends at {end}, the struct at {}", field.name, layout.size);
                return Err(place.error(message));
            }
            // A packed struct has fields where they would not lie by themselves.
            let fits = field.offset.is_multiple_of(inner.align) && layout.size.is_multiple_of(inner.align);
            extent.align = extent.align.max(if fits { inner.align } else { 1 });
            extent.put(field.offset, inner);
        }
        Ok(extent)
    }

    /// Size and classes of a type, of this version where they differ.
    pub(crate) fn extent(&self, id: TypeId, version: u32) -> Extent {
        let plain = |size: u32, class| Extent { size, align: size, classes: [Some(class), None] };
        match self.get(id) {
            Type::Void => Extent { size: 0, align: 1, classes: [None; 2] },
            Type::Int { bytes, .. } | Type::Bool(bytes) | Type::Flags(_, bytes) => plain(bytes.into(), Class::Integer),
            Type::Char => plain(1, Class::Integer),
            // __half and __nv_bfloat16 are structs of a short.
            Type::Float(2) | Type::BFloat16 => plain(2, Class::Integer),
            Type::Float(bytes) => plain(bytes.into(), Class::Vector),
            Type::Enum(n) | Type::Status(n) => plain(self.enums[usize::from(n)].bytes.into(), Class::Integer),
            Type::Handle(n) => plain(self.handles[usize::from(n)].bytes.into(), Class::Integer),
            Type::DevicePointer | Type::Pointer(..) | Type::Code => plain(8, Class::Integer),
            Type::Uuid => Extent { size: 16, align: 1, classes: [Some(Class::Integer); 2] },
            Type::Struct(n) | Type::Union(n) => self.structs[self.row_at(n, version)].extent,
            Type::Array(of, count) => {
                let one = self.extent(of, version);
                let size = one.size.saturating_mul(count);
                let mut extent = Extent { size, align: one.align, classes: [None; 2] };
                for k in 0..count.min(16) {
                    extent.put(k * one.size, one);
                }
                extent
            }
        }
    }
}

impl Extent {
    /// A field's classes: eight bytes that hold any integer go into an integer register.
    fn put(&mut self, offset: u32, inner: Extent) {
        for (k, class) in inner.classes.iter().enumerate() {
            let at = (offset as usize + k * 8) / 8;
            if let (Some(class), Some(slot)) = (class, self.classes.get_mut(at)) {
                *slot = Some(if *slot == Some(Class::Integer) { Class::Integer } else { *class });
            }
        }
    }
}

/// Fields that no one fills.
fn is_reserved(name: &str) -> bool {
    let lower = name.trim_start_matches('_').to_lowercase();
    ["reserved", "nreserved", "pad", "unused", "cudareserved", "internal_pad"].iter().any(|w| lower.starts_with(w))
}

impl Member {
    /// A value of which nothing more is said.
    pub(crate) fn plain(sibling: &Sibling) -> Member {
        let (name, ty) = (sibling.name.clone(), sibling.ty);
        let (word, second) = (255, 255);
        Member {
            name,
            ty,
            word,
            second,
            offset: 0,
            dir: Dir::In,
            rule: Rule::One,
            unit: Unit::None,
            written: Writes::Done,
            guessed: false,
            said: false,
        }
    }
}

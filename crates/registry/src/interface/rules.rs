//! How each parameter and field is to be read: what the overlay says, with siblings as numbers; where it
//! is silent, what `guess` makes of types and names.

use super::ctype::CType;
use super::functions_file;
use super::guess;
use super::known::{Count, NO_TAGS, Rule, Type, TypeId, Writes};
use super::rule_text::{CountText, RuleText};
use super::tables::{Member, Sibling, Tables};
use crate::error::{Error, Location};

impl Tables<'_> {
    /// Whether this is a pointer to something that has a name, and nothing else.
    pub(crate) fn is_incomplete(&self, declared: &CType, ty: TypeId) -> bool {
        let CType::Pointer(to) = declared else { return false };
        let Type::Pointer(found, _) = self.get(ty) else { return false };
        self.get(found) == Type::Void && to.name().is_some_and(|n| n != "void")
    }

    /// The type that an overlay puts in place of the imported one; a set of flags or an enum is as long as
    /// the integer that held it.
    pub(crate) fn replaced(
        &mut self,
        family: usize,
        old: TypeId,
        new: &CType,
        location: Location,
    ) -> Result<TypeId, Error> {
        let id = self.resolve(family, new, location)?;
        Ok(match (self.get(old), self.get(id)) {
            (Type::Int { bytes, .. }, Type::Flags(n, _)) => self.id(Type::Flags(n, bytes)),
            (Type::Int { bytes, .. }, Type::Enum(n)) => self.one_of(n, bytes),
            (Type::Int { bytes, .. }, Type::Handle(n)) if self.handles[usize::from(n)].bytes != bytes => {
                let of = &self.handles[usize::from(n)];
                return Err(location.error(format!("{} has {} bytes, not {bytes}", of.name, of.bytes)));
            }
            (Type::Pointer(to, constant), Type::Pointer(flags, _)) => match (self.get(to), self.get(flags)) {
                (Type::Int { bytes, .. }, Type::Flags(n, _)) => {
                    let inner = self.id(Type::Flags(n, bytes));
                    self.id(Type::Pointer(inner, constant))
                }
                (Type::Int { bytes, .. }, Type::Enum(n)) => {
                    let inner = self.one_of(n, bytes);
                    self.id(Type::Pointer(inner, constant))
                }
                _ => id,
            },
            _ => id,
        })
    }

    /// Sibling `n` with direction, rule and unit. `owner` is the function or struct, for errors.
    pub(crate) fn member(
        &mut self,
        family: usize,
        owner: &str,
        siblings: &[Sibling],
        n: usize,
        field: bool,
    ) -> Result<Member, Error> {
        let me = &siblings[n];
        let mut member = Member::plain(me);
        let guess = guess::guess(self, family, siblings, n, field);
        (member.dir, member.rule, member.guessed) = (guess.dir, guess.rule, guess.blind);
        member.unit = guess::unit(self, me, field);
        let Some(over) = &me.overlay else { return Ok(member) };
        let location = Location { source: &self.api.families[family].overlay_source, at: over.at };
        if let Some(dir) = over.dir {
            member.dir = dir;
        }
        member.written = over.written.unwrap_or(Writes::Done);
        if let Some(unit) = &over.unit {
            member.unit = functions_file::unit(unit);
            if let ("one_of", Type::Flags(n, bytes)) = (unit.as_str(), self.get(member.ty)) {
                member.ty = self.one_of(n, bytes);
            }
        }
        if let Some(rule) = &over.rule {
            let wrong = |name: &str| location.error(format!("{owner}: {} names {name}, which is not there", me.name));
            let find = |name: &String| {
                let at = siblings.iter().position(|s| s.name == *name).and_then(|at| u8::try_from(at).ok());
                at.ok_or_else(|| wrong(name))
            };
            member.rule = self.rule(family, rule, siblings, &find, location)?;
            if let (Rule::Tagged(tags, by, Count::Fixed(1)), Some(sized)) = (member.rule, size_of_value(siblings)) {
                member.rule = Rule::Tagged(tags, by, sized);
            }
            (member.guessed, member.is_specified) = (false, true);
        }
        Ok(member)
    }

    fn rule(
        &mut self,
        family: usize,
        text: &RuleText,
        siblings: &[Sibling],
        find: &dyn Fn(&String) -> Result<u8, Error>,
        location: Location,
    ) -> Result<Rule, Error> {
        let count = |text: &CountText| count(text, find);
        let maybe = |text: &Option<CountText>, none| text.as_ref().map_or(Ok(none), count);
        Ok(match text {
            RuleText::One => Rule::One,
            RuleText::Text => Rule::Text,
            RuleText::Opaque => Rule::Opaque,
            RuleText::Extra => Rule::Extra,
            RuleText::Memory(n) => Rule::Memory(maybe(n, Count::Unknown)?),
            RuleText::MemoryTyped { count, tags, by, times } => {
                let tags = self.tag_row(family, tags, false, location)?;
                let maybe = |name: &Option<String>| name.as_ref().map_or(Ok(255), find);
                Rule::Memory(Count::Typed { count: maybe(count)?, tags, by: find(by)?, times: maybe(times)? })
            }
            RuleText::MemoryPlane(tags, by) => {
                let tags = tags.as_ref().map_or(Ok(NO_TAGS), |tags| self.tag_row(family, tags, false, location))?;
                Rule::Memory(Count::Plane(tags, find(by)?))
            }
            RuleText::MemoryTensor(tags, by) => {
                Rule::Memory(Count::Tensor(self.tag_row(family, tags, false, location)?, find(by)?))
            }
            RuleText::Host(n) => Rule::Host(maybe(n, Count::Unknown)?),
            RuleText::Either(n) => Rule::Either(count(n)?),
            RuleText::From(n, kind) => Rule::From(count(n)?, find(kind)?),
            RuleText::To(n, kind) => Rule::To(count(n)?, find(kind)?),
            RuleText::Array(n) => Rule::Array(count(n)?),
            RuleText::Behind(n) => Rule::Behind(count(n)?),
            RuleText::Addresses(n, bytes) => Rule::Addresses(count(n)?, find(bytes)?),
            RuleText::TextOf(n) => Rule::TextOf(count(n)?),
            RuleText::Texts(n) => Rule::Texts(count(n)?),
            // Of two a layout may have but one.
            RuleText::KernelParams(s, or) => {
                let (first, other) = (find(s), find(or));
                let either = first.as_ref().ok().or(other.as_ref().ok()).copied();
                let Some(either) = either else { return first.map(|n| Rule::KernelParams(n, n)) };
                Rule::KernelParams(first.unwrap_or(either), other.unwrap_or(either))
            }
            RuleText::Tagged(t, s, n) => {
                let n = maybe(n, Count::Fixed(1))?;
                Rule::Tagged(self.tag_row(family, t, false, location)?, find(s)?, n)
            }
            RuleText::OptionValues(k, n) => {
                let keys = find(k)?;
                self.tags_of_options(family, siblings[usize::from(keys)].ty, location)?;
                Rule::OptionValues(keys, count(n)?)
            }
            RuleText::Scalar(t, s) => Rule::Scalar(self.tag_row(family, t, false, location)?, find(s)?),
            RuleText::Word(t, s) => Rule::Word(self.tag_row(family, t, false, location)?, find(s)?),
            RuleText::ScalarOr(t, s, or, other) => {
                let (first, second) =
                    (self.tag_row(family, t, false, location)?, self.tag_row(family, or, false, location)?);
                Rule::ScalarOr(first, find(s)?, second, find(other)?)
            }
        })
    }
}

/// In how many bytes an attribute's value is.
fn size_of_value(siblings: &[Sibling]) -> Option<Count> {
    let find = |names: [&str; 2]| {
        let position = siblings.iter().position(|s| names.contains(&s.name.as_str()))?;
        u8::try_from(position).ok()
    };
    let written = find(["sizeWritten", "sizeInBytesWritten"]).unwrap_or(255);
    find(["sizeInBytes", "dataSize"]).map(|size| Count::Sized(size, written))
}

/// A count with numbers for names. A field of what a sibling points to is asked for as `sibling.field`.
pub(crate) fn count(text: &CountText, find: &dyn Fn(&String) -> Result<u8, Error>) -> Result<Count, Error> {
    Ok(match text {
        CountText::Fixed(n) => Count::Fixed(*n),
        CountText::Of(s) => Count::Of(find(s)?),
        CountText::At(s) => Count::At(find(s)?),
        CountText::Least(a, b) => Count::Least(find(a)?, find(b)?),
        CountText::Product(a, b) => Count::Product(find(a)?, find(b)?),
        CountText::Times(s, n) => Count::Times(find(s)?, *n),
        CountText::FieldAt(s, field) => Count::FieldAt(find(s)?, find(&format!("{s}.{field}"))?),
        CountText::Rows { pitch, width, element, height } => {
            Count::Rows { pitch: find(pitch)?, width: find(width)?, element: *element, height: find(height)? }
        }
        CountText::RowsBy { pitch, width, element, height } => {
            let (pitch, width, element, height) = (find(pitch)?, find(width)?, find(element)?, find(height)?);
            Count::RowsBy { pitch, width, element, height }
        }
        CountText::Copied(side) => Count::Copied(*side),
        CountText::AtTimes(a, b) => Count::AtTimes(find(a)?, find(b)?),
        CountText::Volume(a, b) => Count::Volume(find(a)?, find(b)?),
        CountText::Less(s, n) => Count::Less(find(s)?, *n),
        CountText::OneMore(s) => Count::OneMore(find(s)?),
        CountText::Carried(a, handle) => Count::Carried(find(a)?, find(handle)?),
        CountText::ZeroEnded => Count::ZeroEnded,
    })
}

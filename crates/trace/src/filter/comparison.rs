//! Conditions on arguments: `[bytesize>1GiB, kind=*HostToDevice]` after the part that selects functions. They are
//! decided outside the target, on values; if a value is not known yet, at the end of the call.

use super::refusal::FilterError;
use crate::event::value::{Value, flags_of, name_of};
use cutap_calls::glob;
use cutap_quantity::number;

/// Functions and what their calls must fulfil.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub is_wanted: bool,
    /// As it was written.
    pub text: String,
    /// Which functions, as rules of the control page.
    pub rules: String,
    /// All of them must hold.
    pub comparisons: Vec<Comparison>,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    /// A parameter's name, then fields.
    pub path: Vec<String>,
    relation: Relation,
    operand: Operand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What is compared with: a number, and the text that was written.
#[derive(Debug, Clone, PartialEq)]
struct Operand {
    number: Option<f64>,
    text: String,
    /// `NULL` without quotes.
    null: bool,
}

/// Longest first, so that `<=` is not read as `<`.
const RELATIONS: [(&str, Relation); 7] = [
    ("!=", Relation::NotEqual),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("==", Relation::Equal),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

/// Parameters of a call that are none, but can be compared.
pub(super) const KERNEL: &str = "kernel";
/// The same: the library that calls a hidden function.
pub(super) const CALLER: &str = "caller";

impl Comparison {
    /// Whether it compares with a number, and what was written.
    pub(super) fn operand(&self) -> (bool, &str) {
        (self.operand.number.is_some(), &self.operand.text)
    }

    /// Whether the library that calls matches a pattern.
    pub(super) fn of_caller(library: &str) -> Comparison {
        let operand = Operand { number: None, text: library.to_owned(), null: false };
        Comparison { path: vec![CALLER.to_owned()], relation: Relation::Equal, operand }
    }

    /// `name.field>1GiB`.
    pub fn parse(text: &str) -> Result<Comparison, FilterError> {
        let refuse = |why: &str| {
            FilterError(format!(
                "[{text}] in the filter {why}; write it as [bytesize>1GiB], [kind=*HostToDevice] or [f!=NULL]"
            ))
        };
        let at = text.find(['=', '<', '>', '!']).ok_or_else(|| refuse("compares nothing"))?;
        let (path, rest) = text.split_at(at);
        let relation = RELATIONS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (sign, relation) = relation.ok_or_else(|| refuse("has no comparison that is known"))?;
        let path: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
        let word = |p: &String| !p.is_empty() && p.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !path.iter().all(word) {
            return Err(refuse("names no parameter"));
        }
        let operand = rest[sign.len()..].trim();
        let quoted = operand.strip_prefix('"').and_then(|o| o.strip_suffix('"'));
        if operand.is_empty() || operand.contains(['=', '<', '>', '[', ']']) && quoted.is_none() {
            return Err(refuse("compares with nothing that is known"));
        }
        if quoted.is_none() && operand.contains('#') {
            return Err(refuse("compares with the number of a handle, which only its place in the trace tells"));
        }
        let operand = Operand {
            number: if quoted.is_none() { number(operand) } else { None },
            text: quoted.unwrap_or(operand).to_owned(),
            null: operand == "NULL",
        };
        let ordered = !matches!(relation, Relation::Equal | Relation::NotEqual);
        if ordered && operand.number.is_none() {
            return Err(refuse("needs a number behind < and >"));
        }
        Ok(Comparison { path, relation: *relation, operand })
    }

    /// Whether it holds for the first part of the path; `None` when the value does not tell.
    pub fn is_fulfilled(&self, value: &Value) -> Option<bool> {
        let value = self.path.iter().skip(1).try_fold(value, |value, field| inside(value, field))?;
        if self.operand.null {
            // The pointer itself is meant, and not what it leads to.
            return is_null(value).map(|null| null == (self.relation == Relation::Equal));
        }
        let value = union_member(value.target()).map_or(value, |(_, value)| value).target();
        if matches!(value, Value::Missing) {
            return None;
        }
        if let (Some(operand), Some(number)) = (self.operand.number, value.number()) {
            return Some(match self.relation {
                Relation::Equal => number == operand,
                Relation::NotEqual => number != operand,
                Relation::Less => number < operand,
                Relation::LessOrEqual => number <= operand,
                Relation::Greater => number > operand,
                Relation::GreaterOrEqual => number >= operand,
            });
        }
        self.text(&texts(value))
    }

    /// The same for text.
    pub fn text(&self, texts: &[&str]) -> Option<bool> {
        let same = texts.iter().any(|t| glob(self.operand.text.as_bytes(), t.as_bytes()));
        match self.relation {
            Relation::Equal => Some(same),
            Relation::NotEqual => Some(!same),
            _ => Some(false),
        }
    }
}

/// Whether it is a null pointer, or a handle that is none; `None` when it was not recorded. Handles that are numbers
/// begin with 0.
fn is_null(value: &Value) -> Option<bool> {
    match union_member(value).map_or(value, |(_, value)| value) {
        Value::Missing => None,
        Value::Handle { value, kind, .. } => Some(*value == 0 && !kind.number),
        value => Some(matches!(value, Value::Null)),
    }
}

/// A field, or an element by its number.
fn inside<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value.target() {
        Value::Struct(fields) => {
            let named = fields.named().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value);
            // The name of a union's field may be left out.
            named.or_else(|| inside(&union_member(value.target())?.1, name))
        }
        Value::Array(items) => items.values.get(name.parse::<usize>().ok()?),
        Value::List(list) => {
            let named = (0..list.values.len()).find(|n| list.name(*n) == Some(name));
            list.values.get(named.or_else(|| name.parse().ok())?)
        }
        _ => None,
    }
}

/// What a union holds.
fn union_member(value: &Value) -> Option<&(u8, Value)> {
    let Value::Struct(fields) = value else { return None };
    match fields.values.as_slice() {
        [held] if fields.of.fields.len() > 1 && fields.of.tag != 255 => Some(held),
        _ => None,
    }
}

/// What a value may be called.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Enum(n, of) => name_of(of, *n).into_iter().collect(),
        Value::Flags(n, of) => flags_of(of, *n).0,
        Value::Text(text) => vec![&text.text],
        Value::Bool(true) => vec!["true"],
        Value::Bool(false) => vec!["false"],
        Value::Handle { value, kind, .. } => match kind.special.iter().find(|(v, _)| v == value) {
            Some((_, name)) => vec![*name],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals() {
        for (text, why) in [
            ("bytesize", "compares nothing"),
            ("=5", "names no parameter"),
            ("a b=5", "names no parameter"),
            ("a=", "compares with nothing"),
            ("a=b=c", "compares with nothing"),
            ("a>NULL", "needs a number"),
            ("a!5", "no comparison"),
            ("s=stream#1", "number of a handle"),
        ] {
            let refused = Comparison::parse(text).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains(&format!("[{text}] in the filter")), "{text}: {refused}");
        }
    }
}

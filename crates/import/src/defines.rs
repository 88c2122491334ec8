//! Values of macros: numbers, texts, casts of numbers, other macros and enumerators, with `+ - * | & << >>`.
//! What is more than that is left out: a wrong value would be worse than none.

use std::collections::BTreeMap;

/// A macro's value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(i64),
    Text(String),
}

/// Names that are known to have a number: enumerators.
pub(crate) type Numbers = BTreeMap<String, i64>;

/// The value of a macro's text.
pub(crate) fn value(text: &str, macros: &BTreeMap<&str, &str>, numbers: &Numbers) -> Option<Value> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        let plain = !inner.contains(['"', '\\']);
        return plain.then(|| Value::Text(inner.to_owned()));
    }
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, macros, numbers, depth: 0 };
    let value = reader.or()?;
    (reader.at == tokens.len() && !tokens.is_empty()).then_some(Value::Number(value))
}

fn tokens(text: &str) -> Option<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = if c.is_whitespace() {
            rest = rest.trim_start();
            continue;
        } else if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("<<") || rest.starts_with(">>") {
            2
        } else if "()+-*|&~".contains(c) {
            1
        } else {
            return None;
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token.to_owned());
        rest = after;
    }
    Some(tokens)
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    macros: &'a BTreeMap<&'a str, &'a str>,
    numbers: &'a Numbers,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.peek() == token;
        self.at += usize::from(is_next);
        is_next
    }

    fn or(&mut self) -> Option<i64> {
        let mut value = self.and()?;
        while self.take("|") {
            value |= self.and()?;
        }
        Some(value)
    }

    fn and(&mut self) -> Option<i64> {
        let mut value = self.shift()?;
        while self.take("&") {
            value &= self.shift()?;
        }
        Some(value)
    }

    fn shift(&mut self) -> Option<i64> {
        let mut value = self.sum()?;
        loop {
            if self.take("<<") {
                value = value.checked_shl(u32::try_from(self.sum()?).ok()?)?;
            } else if self.take(">>") {
                value = value.checked_shr(u32::try_from(self.sum()?).ok()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.take("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while self.take("*") {
            value = value.checked_mul(self.atom()?)?;
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        if self.take("-") {
            return self.atom()?.checked_neg();
        }
        if self.take("~") {
            return Some(!self.atom()?);
        }
        if self.take("(") {
            if let Some(end) = self.cast() {
                self.at = end;
                return self.atom();
            }
            let value = self.or()?;
            return self.take(")").then_some(value);
        }
        let token = self.peek().to_owned();
        self.at += 1;
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&token);
        }
        if let Some(value) = self.numbers.get(&token) {
            return Some(*value);
        }
        let text = self.macros.get(token.as_str()).filter(|_| self.depth < 8)?;
        let inner = tokens(text)?;
        let mut reader = Reader { tokens: &inner, at: 0, depth: self.depth + 1, ..*self };
        let value = reader.or()?;
        (reader.at == inner.len() && !inner.is_empty()).then_some(value)
    }

    /// After a `(`: the place behind `type)` where that is a cast.
    fn cast(&self) -> Option<usize> {
        let words: Vec<&str> = self.tokens.iter().skip(self.at).map(String::as_str).take_while(|t| *t != ")").collect();
        let name = |w: &str| w == "*" || (w.starts_with(|c: char| c.is_alphabetic() || c == '_') && !self.valued(w));
        let first = words.first()?;
        if *first == "*" || !words.iter().all(|w| name(w)) {
            return None;
        }
        let next = self.tokens.get(self.at + words.len() + 1)?;
        (next == "(" || next == "-" || next == "~" || next.starts_with(char::is_alphanumeric))
            .then_some(self.at + words.len() + 1)
    }

    fn valued(&self, name: &str) -> bool {
        self.numbers.contains_key(name) || self.macros.contains_key(name)
    }
}

fn number(token: &str) -> Option<i64> {
    let digits = token.trim_end_matches(['u', 'U', 'l', 'L']);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let octal = digits.strip_prefix('0').filter(|d| !d.is_empty());
    let value = match (hex, octal) {
        (Some(hex), _) => u64::from_str_radix(hex, 16),
        (None, Some(octal)) => u64::from_str_radix(octal, 8),
        (None, None) => digits.parse(),
    };
    value.ok().map(u64::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let macros = BTreeMap::from([("A", "0x10"), ("LOOP", "LOOP"), ("EMPTY", "")]);
        let numbers = Numbers::from([("E".to_owned(), 3)]);
        let said = |text: &str| value(text, &macros, &numbers);
        let n = |v| Some(Value::Number(v));
        assert_eq!(said("((CUstream)0x2)"), n(2));
        assert_eq!(said("(void *)-1"), n(-1));
        assert_eq!(said("(A | E)"), n(0x13));
        assert_eq!(said("1u << 4"), n(16));
        assert_eq!(said("((size_t)1 << 20) - 1"), n((1 << 20) - 1));
        assert_eq!(said("010"), n(8));
        assert_eq!(said("\"x\""), Some(Value::Text("x".to_owned())));
        assert_eq!(said("0xFFFFFFFFFFFFFFFFull"), n(-1));
        for none in ["", "x", "LOOP", "EMPTY", "f(1)", "1.5f", "(1", "a ? 1 : 2"] {
            assert_eq!(said(none), None, "{none}");
        }
    }
}

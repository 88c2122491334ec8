//! Functions of a file by their addresses, from its symbol tables.

use object::{Object, ObjectSymbol, SymbolKind};

/// Functions in the order of their addresses.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Address, bytes (0: not told), name as it stands in the file.
    all: Vec<(u64, u64, Box<str>)>,
}

impl Symbols {
    /// Those of these files: the program, and what debug information lies beside it.
    pub fn read<'data, O: Object<'data>>(files: &[&O]) -> Symbols {
        let mut all = Vec::new();
        for file in files {
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                let code = symbol.kind() == SymbolKind::Text || symbol.kind() == SymbolKind::Unknown;
                if code
                    && symbol.is_definition()
                    && symbol.address() != 0
                    && let Ok(name) = symbol.name()
                    && !name.is_empty()
                {
                    all.push((symbol.address(), symbol.size(), name.into()));
                }
            }
        }
        // Of several names for one place the one that says how long it is, then the shortest.
        all.sort_by(|a: &(u64, u64, Box<str>), b| {
            (a.0, a.1 == 0, a.2.len(), &a.2).cmp(&(b.0, b.1 == 0, b.2.len(), &b.2))
        });
        all.dedup_by_key(|s| s.0);
        Symbols { all }
    }

    /// The function that an address lies in, and where it begins.
    pub fn at(&self, address: u64) -> Option<(&str, u64)> {
        let n = self.all.partition_point(|s| s.0 <= address).checked_sub(1)?;
        // A symbol without a length, as hand-written code has, may stand in the middle of one with.
        let contains = |s: &&(u64, u64, Box<str>)| address - s.0 < s.1;
        let near = self.all.get(n.saturating_sub(8)..=n)?;
        let symbol = near.iter().rev().find(contains).or_else(|| near.last().filter(|s| s.1 == 0))?;
        Some((&symbol.2, symbol.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_that_holds_an_address() {
        let symbols = Symbols { all: vec![(10, 20, "a".into()), (12, 0, "inner".into()), (40, 0, "asm".into())] };
        assert_eq!(symbols.at(9), None);
        assert_eq!(symbols.at(11), Some(("a", 10)));
        assert_eq!(symbols.at(29), Some(("a", 10)));
        assert_eq!(symbols.at(50), Some(("asm", 40)));
    }
}

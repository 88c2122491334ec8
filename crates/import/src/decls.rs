//! What one header file set declares: functions, records, enums, typedefs, in the words of the header.
//! Must not decide what is kept or how it is called in `api/`.

use crate::node::Node;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) returns: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) file: String,
}

/// A field of a record.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// As written; `@KEY` for a record without a name.
    pub(crate) ty: String,
    pub(crate) bits: Option<u32>,
    pub(crate) align: u64,
}

/// A struct or union.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) union: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) packed: bool,
    pub(crate) align: u64,
    pub(crate) file: String,
    /// A record without a name inside another: that one's key and the field.
    pub(crate) outer: Option<(String, String)>,
    /// Which further pass showed it, counted from 1; 0: the first of all.
    pub(crate) pass: usize,
    /// It has base classes: its layout is not known here.
    pub(crate) class: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Enum {
    pub(crate) values: Vec<(String, i64)>,
    pub(crate) underlying: String,
    pub(crate) file: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Typedef {
    /// As written; `@KEY` for a record or enum without a name.
    pub(crate) ty: String,
    pub(crate) file: String,
}

/// All of it. Records and enums by tag, or by `@ID` where they have none.
#[derive(Debug, Default)]
pub(crate) struct Decls {
    pub(crate) functions: BTreeMap<String, Function>,
    pub(crate) records: BTreeMap<String, Record>,
    pub(crate) opaque: BTreeMap<String, String>,
    pub(crate) enums: BTreeMap<String, Enum>,
    pub(crate) typedefs: BTreeMap<String, Typedef>,
    /// Typedef names in the order of the header.
    pub(crate) order: Vec<String>,
}

impl Decls {
    /// From the root node.
    pub(crate) fn of(root: &Node) -> Self {
        let mut decls = Self::default();
        let mut file = String::new();
        root.follow_head(&mut file);
        decls.all(&root.inner, &mut file);
        decls
    }

    /// The types of a further reading that this one did not show. Those without a name stay behind: their
    /// keys mean something in their own reading only.
    pub(crate) fn add(&mut self, more: &Self, pass: usize) {
        let whole = |r: &Record| r.fields.iter().all(|f| !f.ty.starts_with('@'));
        for (name, record) in more.records.iter().filter(|(n, r)| !n.starts_with('@') && whole(r)) {
            self.records.entry(name.clone()).or_insert_with(|| Record { pass, ..record.clone() });
        }
        for name in &more.order {
            let Some(typedef) = more.typedefs.get(name).filter(|t| !t.ty.starts_with('@')) else { continue };
            if !self.typedefs.contains_key(name) {
                self.typedefs.insert(name.clone(), typedef.clone());
                self.order.push(name.clone());
            }
        }
    }

    fn all(&mut self, nodes: &[Node], file: &mut String) {
        for node in nodes {
            match node.kind.as_str() {
                "LinkageSpecDecl" => {
                    node.follow_head(file);
                    self.all(&node.inner, file);
                }
                _ => {
                    let at = node.follow_head(file);
                    self.one(node, &at);
                    node.array_filler.iter().chain(&node.inner).for_each(|n| n.follow(file));
                }
            }
        }
    }

    fn one(&mut self, node: &Node, file: &str) {
        if node.implicit {
            return;
        }
        match node.kind.as_str() {
            "FunctionDecl" => self.function(node, file),
            "RecordDecl" | "CXXRecordDecl" => self.record(node, file),
            "EnumDecl" => self.enumeration(node, file),
            "TypedefDecl" | "TypeAliasDecl" => self.typedef(node, file),
            _ => {}
        }
    }

    /// Only what has C linkage and can be exported.
    fn function(&mut self, node: &Node, file: &str) {
        let body = node.inner.iter().any(|n| n.kind == "CompoundStmt");
        if node.mangled != node.name || node.storage == "static" || node.inline || body {
            return;
        }
        let text = node.type_text();
        let params = node.inner.iter().filter(|n| n.kind == "ParmVarDecl");
        let function = Function {
            returns: returns(text).to_owned(),
            params: params.map(|p| (p.name.clone(), p.type_text().to_owned())).collect(),
            file: file.to_owned(),
        };
        // A second declaration without names does not take the names of the first away.
        let old = self.functions.get(&node.name);
        if old.is_none_or(|old| old.params.iter().all(|(name, _)| name.is_empty())) {
            self.functions.insert(node.name.clone(), function);
        }
    }

    fn typedef(&mut self, node: &Node, file: &str) {
        let ty = match owned(node) {
            Some(id) => format!("@{id}"),
            None => node.type_text().to_owned(),
        };
        if self.typedefs.insert(node.name.clone(), Typedef { ty, file: file.to_owned() }).is_none() {
            self.order.push(node.name.clone());
        }
    }

    fn enumeration(&mut self, node: &Node, file: &str) {
        let mut next = 0;
        let mut values = Vec::new();
        for constant in node.inner.iter().filter(|n| n.kind == "EnumConstantDecl") {
            let value = constant.constant().unwrap_or(next);
            next = value.wrapping_add(1);
            values.push((constant.name.clone(), value));
        }
        if !values.is_empty() {
            let underlying = node.underlying.as_ref().map_or(String::new(), |t| t.text.clone());
            self.enums.insert(key(node), Enum { values, underlying, file: file.to_owned() });
        }
    }

    fn record(&mut self, node: &Node, file: &str) {
        if !node.complete {
            self.opaque.entry(node.name.clone()).or_insert_with(|| file.to_owned());
            return;
        }
        let key = key(node);
        let class = !node.bases.is_empty();
        let mut record = Record { union: node.tag == "union", file: file.to_owned(), class, ..Record::default() };
        let mut unnamed: Option<String> = None;
        for inner in &node.inner {
            match inner.kind.as_str() {
                "RecordDecl" | "CXXRecordDecl" if !inner.implicit => {
                    self.record(inner, file);
                    unnamed = inner.name.is_empty().then(|| format!("@{}", inner.id));
                }
                "EnumDecl" => self.enumeration(inner, file),
                "FieldDecl" => {
                    let mut field = field(inner);
                    if field.name.is_empty() {
                        let n = record.fields.iter().filter(|f| f.name.starts_with('_')).count() + 1;
                        field.name = format!("_{n}");
                    }
                    if let (Some((_, after)), Some(name)) = (split_unnamed(&field.ty), &unnamed) {
                        field.ty = format!("{name}{after}");
                        if let Some(inner) = self.records.get_mut(name) {
                            inner.outer.get_or_insert_with(|| (key.clone(), field.name.clone()));
                        }
                    }
                    record.fields.push(field);
                }
                "PackedAttr" => record.packed = true,
                "AlignedAttr" => record.align = alignment(inner).max(record.align),
                _ => {}
            }
        }
        self.records.insert(key, record);
    }
}

fn key(node: &Node) -> String {
    if node.name.is_empty() { format!("@{}", node.id) } else { node.name.clone() }
}

/// The record or enum without a name that a typedef gives one.
fn owned(node: &Node) -> Option<String> {
    let first = node.inner.first()?;
    let owned = first.owned.as_ref()?;
    (owned.name.is_empty() && first.kind == "ElaboratedType").then(|| owned.id.clone())
}

fn field(node: &Node) -> Field {
    let bits = node.bitfield.then(|| node.constant().and_then(|n| u32::try_from(n).ok()).unwrap_or(0));
    let align = node.inner.iter().filter(|n| n.kind == "AlignedAttr").map(alignment).max().unwrap_or(0);
    Field { name: node.name.clone(), ty: node.type_text().to_owned(), bits, align }
}

fn alignment(node: &Node) -> u64 {
    node.constant().and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

/// `union X::(unnamed at f.h:1:2)[3]`: what is before and after the words for no name.
fn split_unnamed(text: &str) -> Option<(&str, &str)> {
    let at = text.find("(unnamed").or_else(|| text.find("(anonymous"))?;
    let end = text.get(at..)?.find(')')? + at + 1;
    Some((text.get(..at)?, text.get(end..)?))
}

/// `CUresult (int, void *)`: the part before the parameters.
fn returns(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 && c == '(' {
            return text.get(..at).unwrap_or("").trim_end();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Decls, returns, split_unnamed};

    #[test]
    fn type_texts() {
        assert_eq!(returns("CUresult (int, void (*)(void *))"), "CUresult");
        assert_eq!(returns("const char *(int)"), "const char *");
        assert_eq!(split_unnamed("union X::(unnamed at f.h:1:2)[3]"), Some(("union X::", "[3]")));
        assert_eq!(split_unnamed("int"), None);
    }

    /// A tree as clang prints it, made up: a file is named once, and holds until the next is named.
    #[test]
    fn a_tree() {
        let json = r#"{ "id": "0x1", "kind": "TranslationUnitDecl", "loc": {}, "range": { "begin": {}, "end": {} }, "inner": [
          { "id": "0x2", "kind": "RecordDecl", "loc": { "file": "pot.h", "line": 1 }, "range": { "begin": {}, "end": {} },
            "tagUsed": "struct", "completeDefinition": true, "inner": [
              { "kind": "FieldDecl", "loc": { "line": 2 }, "name": "a", "type": { "qualType": "int" } },
              { "kind": "FieldDecl", "name": "b", "type": { "qualType": "unsigned int" }, "isBitfield": true, "inner": [
                { "kind": "ConstantExpr", "value": "3", "inner": [{ "kind": "IntegerLiteral", "value": "3" }] }] }] },
          { "id": "0x3", "kind": "TypedefDecl", "loc": { "line": 4 }, "name": "pot_s", "type": { "qualType": "struct pot_s" },
            "inner": [{ "kind": "ElaboratedType", "ownedTagDecl": { "id": "0x2", "name": "" } }] },
          { "id": "0x4", "kind": "EnumDecl", "loc": { "line": 5 }, "name": "kind_e", "inner": [
              { "kind": "EnumConstantDecl", "name": "CLAY", "inner": [{ "kind": "ConstantExpr", "value": "-1" }] },
              { "kind": "EnumConstantDecl", "name": "IRON" }] },
          { "id": "0x5", "kind": "LinkageSpecDecl", "loc": { "spellingLoc": { "file": "api.h" }, "expansionLoc": { "file": "x.h" } },
            "inner": [
              { "id": "0x6", "kind": "FunctionDecl", "loc": { "line": 9 }, "name": "potMake", "mangledName": "potMake",
                "type": { "qualType": "int (pot_s *)" }, "inner": [
                  { "kind": "ParmVarDecl", "name": "pot", "type": { "qualType": "pot_s *" } }] },
              { "id": "0x7", "kind": "FunctionDecl", "name": "potBody", "mangledName": "potBody", "type": { "qualType": "int ()" },
                "inner": [{ "kind": "CompoundStmt" }] }] },
          { "id": "0x8", "kind": "FunctionDecl", "name": "potOther", "mangledName": "_Z8potOther", "type": { "qualType": "int ()" } }
        ] }"#;
        let decls = Decls::of(&serde_json::from_str(json).unwrap());
        assert_eq!(decls.functions.keys().collect::<Vec<_>>(), ["potMake"]);
        let make = &decls.functions["potMake"];
        assert_eq!((make.file.as_str(), make.returns.as_str()), ("x.h", "int"));
        assert_eq!(make.params, [("pot".to_owned(), "pot_s *".to_owned())]);
        assert_eq!(decls.typedefs["pot_s"].ty, "@0x2");
        let record = &decls.records["@0x2"];
        assert_eq!((record.file.as_str(), record.fields[1].bits), ("pot.h", Some(3)));
        assert_eq!(decls.enums["kind_e"].values, [("CLAY".to_owned(), -1), ("IRON".to_owned(), 0)]);
    }
}

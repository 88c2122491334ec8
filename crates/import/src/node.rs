//! The nodes of `clang -ast-dump=json`, as far as they are used, and in which file each stands: clang
//! names a file only where it differs from the one named before, so locations have to be walked in order.
//! Must not know what the headers are about.

use serde::Deserialize;

/// Anything in clang's tree.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) loc: Option<Location>,
    pub(crate) range: Option<Range>,
    pub(crate) name: String,
    #[serde(rename = "mangledName")]
    pub(crate) mangled: String,
    #[serde(rename = "type")]
    pub(crate) ty: Option<Type>,
    #[serde(rename = "storageClass")]
    pub(crate) storage: String,
    pub(crate) inline: bool,
    #[serde(rename = "tagUsed")]
    pub(crate) tag: String,
    #[serde(rename = "completeDefinition")]
    pub(crate) complete: bool,
    #[serde(rename = "isBitfield")]
    pub(crate) bitfield: bool,
    #[serde(rename = "isImplicit")]
    pub(crate) implicit: bool,
    pub(crate) value: Option<serde_json::Value>,
    #[serde(rename = "ownedTagDecl")]
    pub(crate) owned: Option<Box<Reference>>,
    #[serde(rename = "fixedUnderlyingType")]
    pub(crate) underlying: Option<Type>,
    pub(crate) bases: Vec<serde_json::Value>,
    pub(crate) array_filler: Vec<Node>,
    pub(crate) inner: Vec<Node>,
}

/// The declaration that a type names.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Reference {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A type as text.
#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Type {
    #[serde(rename = "qualType")]
    pub(crate) text: String,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Location {
    file: String,
    #[serde(rename = "spellingLoc")]
    spelling: Option<Box<Location>>,
    #[serde(rename = "expansionLoc")]
    expansion: Option<Box<Location>>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Range {
    begin: Location,
    end: Location,
}

impl Location {
    /// What `file` is after clang printed this.
    fn follow(&self, file: &mut String) {
        if !self.file.is_empty() {
            file.clone_from(&self.file);
        }
        for inner in [&self.spelling, &self.expansion].into_iter().flatten() {
            inner.follow(file);
        }
    }
}

impl Node {
    /// The type's text, empty where there is none.
    pub(crate) fn type_text(&self) -> &str {
        self.ty.as_ref().map_or("", |t| t.text.as_str())
    }

    /// The node is left behind: what `file` is when the next one is printed.
    pub(crate) fn follow(&self, file: &mut String) {
        self.follow_head(file);
        self.array_filler.iter().chain(&self.inner).for_each(|n| n.follow(file));
    }

    /// Only this node's own places; gives the file in which it stands.
    pub(crate) fn follow_head(&self, file: &mut String) -> String {
        if let Some(loc) = &self.loc {
            loc.follow(file);
        }
        let at = file.clone();
        if let Some(range) = &self.range {
            range.begin.follow(file);
            range.end.follow(file);
        }
        at
    }

    /// The value of the first constant expression below.
    pub(crate) fn constant(&self) -> Option<i64> {
        self.inner.iter().find_map(|n| match (&n.value, n.kind.as_str()) {
            (Some(serde_json::Value::String(text)), "ConstantExpr") => number(text),
            _ => n.constant(),
        })
    }
}

/// A decimal of clang's; one above `i64::MAX` wraps to the same bits.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
}

//! What an overlay says that a function does to allocations and handles, beside its parameters; parameters are
//! names here, `functions` turns them into numbers.

use super::rule_text::{self, CountText};
use super::toml_node::TomlNode;
use crate::error::Error;

/// Keys of a function that are no parameters.
pub(crate) const KEYS: [&str; 10] =
    ["allocates", "belongs", "unmaps", "frees", "destroys", "creates", "remembers", "keeps_logs", "tells_logs", "pool"];

/// What a call does to allocations and handles; parameters by name.
#[derive(Clone)]
pub(crate) struct EffectText {
    pub(crate) at: usize,
    pub(crate) kind: EffectKind,
    pub(crate) parameter: String,
}

#[derive(Clone)]
pub(crate) enum EffectKind {
    Allocates {
        bytes: Option<CountText>,
        memory: String,
    },
    /// An address and its length in the struct that the parameter points to.
    AllocatesInside(String),
    /// The handle that memory belongs to.
    Belongs(String),
    Frees,
    Unmaps(CountText),
    Destroys,
    Creates,
    /// The parameters that are a new linker's options and their values.
    KeepsLogs(String, String),
    TellsLogs,
    /// Whose pool it is. The parameter is the address of a block, if there is one. The numbers are parameters: bytes of
    /// the block, of all live blocks, of the pool, and its device.
    Pool {
        of: String,
        has_block: bool,
        numbers: [String; 4],
    },
    /// The parameter whose value the handle carries; when which parameter is which value of its enum; whether it
    /// says where scalars are.
    Remembers {
        value: String,
        when: Option<(String, String)>,
        mode: bool,
    },
}

/// The effects that a key tells.
pub(crate) fn read(key: &str, value: &TomlNode) -> Result<Vec<EffectText>, Error> {
    let one = match key {
        "allocates" => allocates(value)?,
        "belongs" => belongs(value)?,
        "unmaps" => unmaps(value)?,
        "keeps_logs" => keeps_logs(value)?,
        "pool" => pool(value)?,
        "remembers" => return value.all()?.iter().map(remembers).collect(),
        _ => {
            let kind = match key {
                "frees" => EffectKind::Frees,
                "destroys" => EffectKind::Destroys,
                "tells_logs" => EffectKind::TellsLogs,
                _ => EffectKind::Creates,
            };
            let each = |parameter| EffectText { at: value.at, kind: kind.clone(), parameter };
            return Ok(value.texts()?.into_iter().map(each).collect());
        }
    };
    Ok(vec![one])
}

fn allocates(value: &TomlNode) -> Result<EffectText, Error> {
    let (mut parameter, mut bytes, mut memory, mut inside) = (String::new(), None, String::new(), false);
    for (key, value) in value.table(&["at", "inside", "bytes", "memory"])? {
        match key {
            "at" => parameter = value.text()?,
            "inside" => (parameter, inside) = (value.text()?, true),
            "bytes" => bytes = Some(bytes_of(&value)?),
            _ => {
                memory = value.one_of(&["device", "host", "managed", "reserved", "mapped", "graph", "external"])?;
            }
        }
    }
    if parameter.is_empty() || memory.is_empty() {
        return Err(value.error("expected { at = \"parameter\", bytes = \"parameter\", memory = \"device\" }".into()));
    }
    let kind = if inside { EffectKind::AllocatesInside(memory) } else { EffectKind::Allocates { bytes, memory } };
    Ok(EffectText { at: value.at, kind, parameter })
}

fn bytes_of(value: &TomlNode) -> Result<CountText, Error> {
    let text = value.text()?;
    let wrong = || value.error(format!("\"{text}\" is no count; expected a number or a parameter"));
    rule_text::count(&text).ok_or_else(wrong)
}

fn belongs(value: &TomlNode) -> Result<EffectText, Error> {
    let (mut at, mut to) = (String::new(), String::new());
    for (key, value) in value.table(&["at", "to"])? {
        match key {
            "at" => at = value.text()?,
            _ => to = value.text()?,
        }
    }
    if at.is_empty() || to.is_empty() {
        return Err(value.error("expected { at = \"parameter\", to = \"handle\" }".into()));
    }
    Ok(EffectText { at: value.at, kind: EffectKind::Belongs(to), parameter: at })
}

fn keeps_logs(value: &TomlNode) -> Result<EffectText, Error> {
    let [mut of, mut keys, mut values] = [const { String::new() }; 3];
    for (key, value) in value.table(&["of", "keys", "values"])? {
        match key {
            "of" => of = value.text()?,
            "keys" => keys = value.text()?,
            _ => values = value.text()?,
        }
    }
    if [&of, &keys, &values].iter().any(|name| name.is_empty()) {
        return Err(value.error("expected { of = \"handle\", keys = \"parameter\", values = \"parameter\" }".into()));
    }
    Ok(EffectText { at: value.at, kind: EffectKind::KeepsLogs(keys, values), parameter: of })
}

fn pool(value: &TomlNode) -> Result<EffectText, Error> {
    const KEYS: [&str; 4] = ["bytes", "live", "reserved", "device"];
    let (mut of, mut at, mut numbers) = (String::new(), String::new(), [const { String::new() }; 4]);
    for (key, value) in value.table(&["of", "at", "bytes", "live", "reserved", "device"])? {
        match key {
            "of" => of = value.text()?,
            "at" => at = value.text()?,
            _ => {
                let names = KEYS.iter().zip(&mut numbers).filter(|(name, _)| **name == key);
                let text = value.text()?;
                names.for_each(|(_, number)| number.clone_from(&text));
            }
        }
    }
    if numbers.iter().chain([&of]).any(String::is_empty) {
        let message = "expected { of = \"NAME\", and parameters: bytes, live, reserved, device, and at for a block }";
        return Err(value.error(message.into()));
    }
    let has_block = !at.is_empty();
    let parameter = if has_block { at } else { numbers[0].clone() };
    Ok(EffectText { at: value.at, kind: EffectKind::Pool { of, has_block, numbers }, parameter })
}

fn unmaps(value: &TomlNode) -> Result<EffectText, Error> {
    let (mut at, mut bytes) = (String::new(), None);
    for (key, value) in value.table(&["at", "bytes"])? {
        match key {
            "at" => at = value.text()?,
            _ => bytes = Some(bytes_of(&value)?),
        }
    }
    match bytes {
        Some(bytes) if !at.is_empty() => {
            Ok(EffectText { at: value.at, kind: EffectKind::Unmaps(bytes), parameter: at })
        }
        _ => Err(value.error("expected { at = \"parameter\", bytes = \"parameter\" }".into())),
    }
}

fn remembers(value: &TomlNode) -> Result<EffectText, Error> {
    let (mut of, mut what, mut when, mut is, mut mode) =
        (String::new(), String::new(), String::new(), String::new(), false);
    for (key, value) in value.table(&["of", "value", "when", "is", "mode"])? {
        match key {
            "of" => of = value.text()?,
            "when" => when = value.text()?,
            "is" => is = value.text()?,
            "mode" => mode = value.truth()?,
            _ => what = value.text()?,
        }
    }
    if of.is_empty() || what.is_empty() {
        return Err(value.error("expected { of = \"handle\", value = \"parameter\" }".into()));
    }
    if when.is_empty() != is.is_empty() {
        return Err(value.error("expected when = \"parameter\" and is = \"NAME\" together".into()));
    }
    let when = (!when.is_empty()).then_some((when, is));
    Ok(EffectText { at: value.at, kind: EffectKind::Remembers { value: what, when, mode }, parameter: of })
}

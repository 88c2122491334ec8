//! Which calls are wanted: by command, class, object and status.

use crate::call::{Action, KernelCall};
use crate::decode::Decoder;
use cutap_calls::glob;
use cutap_rm::{Call, Form, Kind, Moment, Node, Status, StatusPlace, Subject, Tables, Target, Value};
use serde::{Deserialize, Serialize};

/// What is wanted; a list that is empty wants all. Names may have `*`, and need not have their prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {
    /// Names or numbers of escapes, RM controls or UVM commands.
    pub commands: Vec<String>,
    /// Names or numbers of classes.
    pub classes: Vec<String>,
    /// Handles.
    pub objects: Vec<u32>,
    /// Names or numbers of statuses; `failed` is every other one than success.
    pub statuses: Vec<String>,
}

impl Select {
    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a call is wanted. With any condition only ioctls are.
    #[must_use]
    pub fn matches(&self, call: &KernelCall, decoder: &Decoder) -> bool {
        if self.is_empty() {
            return true;
        }
        let Action::Ioctl(ioctl) = &call.action else { return false };
        let decoded = decoder.decode(ioctl, call.result);
        let any = |list: &[String], of: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(of);
        any(&self.commands, &|word| is_command(word, &decoded))
            && any(&self.classes, &|word| is_class(word, &decoded))
            && (self.objects.is_empty() || has_object(&decoded.argument, &self.objects))
            && any(&self.statuses, &|word| decoded.statuses.iter().any(|status| is_status(word, status)))
    }
}

/// Whether a word is this name (`*` allowed), its end behind an underscore, or its number.
#[must_use]
pub fn is(word: &str, name: &str, number: u32) -> bool {
    if let Some(asked) = crate::hex::number(word) {
        return asked == u64::from(number);
    }
    let (word, name) = (word.to_ascii_lowercase(), name.to_ascii_lowercase());
    !word.is_empty()
        && (glob(word.as_bytes(), name.as_bytes()) || !name.is_empty() && name.ends_with(&format!("_{word}")))
}

/// The first name of a condition that no release of the driver knows: the flag, the name, and what it should be.
#[must_use]
pub fn unknown(select: &Select) -> Option<(&'static str, &str, &'static str)> {
    type Row<'a> = (&'static str, &'a [String], fn(Tables, &str) -> bool, &'static str);
    let rows: [Row<'_>; 3] = [
        ("--command", &select.commands, has_command, "escape, RM control or UVM command"),
        ("--class", &select.classes, has_class, "class"),
        ("--status", &select.statuses, has_status, "status"),
    ];
    rows.into_iter().find_map(|(flag, words, has, what)| {
        let is_known = |word: &str| crate::hex::number(word).is_some() || Tables::all().any(|tables| has(tables, word));
        Some((flag, words.iter().find(|word| !is_known(word))?.as_str(), what))
    })
}

fn has_command(tables: Tables, word: &str) -> bool {
    tables.escapes().any(|e| is(word, e.name(), e.number()))
        || tables.controls().any(|c| is(word, c.name(), c.number()))
        || tables.uvm_commands().any(|u| is(word, u.name(), u.number()))
}

fn has_class(tables: Tables, word: &str) -> bool {
    tables.classes().any(|c| is(word, c.name(), c.number()))
}

fn has_status(tables: Tables, word: &str) -> bool {
    word == "failed" || tables.statuses().any(|(code, name)| is(word, name, code))
}

fn is_command(word: &str, call: &Call) -> bool {
    let control = match call.subject {
        Subject::Control(number, control) => is(word, control.map_or("", |c| c.name()), number),
        _ => false,
    };
    control || is(word, call.name, call.number)
}

fn is_class(word: &str, call: &Call) -> bool {
    matches!(call.subject, Subject::Class(number, class) if is(word, class.map_or("", |c| c.name()), number))
}

fn is_status(word: &str, status: &Status) -> bool {
    match word {
        "failed" => status.code != 0,
        _ if status.place == StatusPlace::Ioctl => false,
        _ => is(word, status.name.unwrap_or(""), u32::try_from(status.code).unwrap_or(u32::MAX)),
    }
}

fn has_object(node: &Node, objects: &[u32]) -> bool {
    let own = matches!(node.kind, Kind::Object | Kind::Client)
        && [Moment::Before, Moment::After].iter().any(|moment| match &node.value {
            Value::Numbers { bytes, form: Form::U32 } => {
                bytes.at(*moment).as_chunks::<4>().0.iter().any(|word| objects.contains(&u32::from_le_bytes(*word)))
            }
            _ => node.number(*moment).is_some_and(|n| objects.iter().any(|o| u64::from(*o) == n)),
        });
    own || node.children().iter().any(|child| has_object(child, objects))
        || matches!(&node.value, Value::Pointer { target: Target::Read(inner), .. } if has_object(inner, objects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Ioctl, Run};

    #[test]
    fn words() {
        assert!(is("alloc", "NV_ESC_RM_ALLOC", 0x2b) && is("0x2b", "NV_ESC_RM_ALLOC", 0x2b));
        assert!(is("NV_ESC_RM_*", "NV_ESC_RM_FREE", 0x29) && !is("loc", "NV_ESC_RM_ALLOC", 0x2b));
        assert!(is("*gid*", "NV2080_CTRL_CMD_GPU_GET_GID_INFO", 1) && !is("", "", 1));
    }

    #[test]
    fn words_that_no_release_knows() {
        let of = |commands: &str, classes: &str, statuses: &str| {
            let list = |word: &str| if word.is_empty() { Vec::new() } else { vec![word.to_owned()] };
            let select = Select {
                commands: list(commands),
                classes: list(classes),
                statuses: list(statuses),
                ..Select::default()
            };
            unknown(&select).map(|(flag, word, _)| (flag, word.to_owned()))
        };
        assert_eq!(of("UVM_*", "DEVICE_0", "failed"), None);
        assert_eq!(of("0x12345678", "0xffff", "invalid_argument"), None);
        assert_eq!(of("nope", "", ""), Some(("--command", "nope".to_owned())));
        assert_eq!(of("free", "NV_ESC_RM_FREE", ""), Some(("--class", "NV_ESC_RM_FREE".to_owned())));
        assert_eq!(of("", "", "nope"), Some(("--status", "nope".to_owned())));
    }

    #[test]
    fn calls() {
        let decoder = Decoder::new(Some("580.142"), &Run::default()).unwrap();
        let mut before = vec![0; 48];
        before[0] = 7;
        before[12] = 0x80;
        before[40] = 0x56;
        let ioctl =
            Ioctl { path: "/dev/nvidiactl".into(), request: 0xc030_462b, before: Some(before), ..Ioctl::default() };
        let mut call = KernelCall::new(Action::Ioctl(ioctl));
        call.result = Some(0);
        let of = |select: Select| select.matches(&call, &decoder);
        let list = |word: &str| vec![word.to_owned()];
        assert!(of(Select { classes: list("0x80"), ..Select::default() }));
        assert!(of(Select { classes: list("DEVICE_0"), commands: list("rm_alloc"), ..Select::default() }));
        assert!(!of(Select { commands: list("free"), ..Select::default() }));
        assert!(
            of(Select { objects: vec![7], ..Select::default() })
                && !of(Select { objects: vec![8], ..Select::default() })
        );
        assert!(of(Select { statuses: list("not_supported"), ..Select::default() }));
        assert!(of(Select { statuses: list("failed"), ..Select::default() }));
        assert!(!of(Select { statuses: list("NV_OK"), ..Select::default() }));
    }
}

//! Which calls are wanted: by command, class, object and status.

use crate::call::{Action, KernelCall};
use crate::decode::Decoder;
use cutap_calls::glob;
use cutap_rm::{Call, Kind, Moment, Node, Status, StatusPlace, Subject, Target, Value};
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

/// Whether a word is this name, or its number.
pub(crate) fn is(word: &str, name: &str, number: u32) -> bool {
    if let Some(asked) = crate::hex::number(word) {
        return asked == u64::from(number);
    }
    let (word, name) = (word.to_ascii_lowercase(), name.to_ascii_lowercase());
    !word.is_empty()
        && (glob(word.as_bytes(), name.as_bytes()) || !name.is_empty() && name.ends_with(&format!("_{word}")))
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
        && [Moment::Before, Moment::After]
            .iter()
            .filter_map(|moment| node.number(*moment))
            .any(|n| objects.iter().any(|o| u64::from(*o) == n));
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

//! `--deny` and `--fail`: which ioctls are answered and never reach the kernel, as the target reads it.

use cutap_collect::{Error, Result};
use cutap_kernel::decode::running_driver;
use cutap_kernel::select::is;
use cutap_rm::{DEFAULT_RELEASE, Tables};
use cutap_wire::control::kernel_answer::{CLASS, CONTROL, DENY, ESCAPE, FAIL, MOST, UVM};

/// Answers.
#[derive(Debug, clap::Args)]
pub struct AnswerArgs {
    /// Fail this escape, RM control, class or UVM command with EINVAL; the kernel does not see it. Name or number
    #[arg(long, value_name = "COMMAND")]
    deny: Vec<String>,
    /// Answer it with this status (name or number); the kernel does not see it
    #[arg(long, value_name = "COMMAND=STATUS")]
    fail: Vec<String>,
}

impl AnswerArgs {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.fail.is_empty()
    }

    /// The bytes of the file that the target reads; none without these flags.
    pub fn rows(&self, driver: Option<&str>) -> Result<Vec<u8>> {
        let running = running_driver();
        let version = driver.or(running.as_deref()).unwrap_or(DEFAULT_RELEASE);
        let tables = Tables::select(version)
            .ok_or_else(|| Error::own(format!("{version} is no driver version; give one such as {DEFAULT_RELEASE}")))?
            .tables;
        let mut rows: Vec<[u32; 4]> = Vec::new();
        for word in &self.deny {
            let [owner, number] = command(tables, word, "--deny")?;
            rows.push([owner, number, DENY, 0x1f]);
        }
        for word in &self.fail {
            let (name, status) = word.split_once('=').ok_or_else(|| {
                Error::own(format!(
                    "--fail {word} has no status; write it as --fail GPU_GET_GID_INFO=NV_ERR_NOT_SUPPORTED"
                ))
            })?;
            let [owner, number] = command(tables, name, "--fail")?;
            rows.push([owner, number, FAIL, self::status(tables, status)?]);
        }
        if rows.len() > MOST {
            return Err(Error::own(format!("{MOST} commands can be answered; leave some --deny and --fail out")));
        }
        Ok(rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect())
    }
}

fn number(word: &str) -> Option<u32> {
    let hex = word.strip_prefix("0x");
    hex.map_or_else(|| word.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
}

fn status(tables: Tables, word: &str) -> Result<u32> {
    let named = || tables.statuses().find(|(code, name)| is(word, name, *code)).map(|(code, _)| code);
    number(word).or_else(named).ok_or_else(|| {
        Error::own(format!("{word} is no status of the driver; give one such as NV_ERR_NOT_SUPPORTED, or its number"))
    })
}

/// Whose number, and the number.
fn command(tables: Tables, word: &str, flag: &str) -> Result<[u32; 2]> {
    if let Some(number) = number(word) {
        let owner = match number {
            _ if tables.uvm(number).is_some() && number >= 0x3000_0000 => UVM,
            0..=0xff => ESCAPE,
            0x100..=0xffff if tables.class(number).is_some() && tables.control(number).is_none() => CLASS,
            _ => CONTROL,
        };
        return Ok([owner, number]);
    }
    let mut commands: Vec<([u32; 2], &str)> = Vec::new();
    commands
        .extend(tables.escapes().filter(|e| is(word, e.name(), e.number())).map(|e| ([ESCAPE, e.number()], e.name())));
    commands.extend(
        tables.controls().filter(|c| is(word, c.name(), c.number())).map(|c| ([CONTROL, c.number()], c.name())),
    );
    commands
        .extend(tables.classes().filter(|c| is(word, c.name(), c.number())).map(|c| ([CLASS, c.number()], c.name())));
    commands.extend(
        tables.uvm_commands().filter(|u| is(word, u.name(), u.number())).map(|u| ([UVM, u.number()], u.name())),
    );
    let exact = commands.iter().find(|(_, name)| name.eq_ignore_ascii_case(word)).map(|(row, _)| *row);
    match (exact, commands.as_slice()) {
        (Some(row), _) => Ok(row),
        (None, [(row, _)]) => Ok(*row),
        (None, []) => Err(Error::own(format!(
            "{flag} {word}: the driver has no such escape, control, class or UVM command; cutap syscall census RUN lists \
             those that a program uses"
        ))),
        (None, several) => {
            let names: Vec<&str> = several.iter().take(5).map(|(_, name)| *name).collect();
            Err(Error::own(format!("{flag} {word} may be {}; give the whole name", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(deny: &[&str], fail: &[&str]) -> Result<Vec<u8>> {
        let own = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect();
        AnswerArgs { deny: own(deny), fail: own(fail) }.rows(Some("580.142"))
    }

    #[test]
    fn words() {
        let bytes = rows(&["NV_ESC_RM_FREE", "0x20808159"], &["get_gid_info=NV_ERR_NOT_SUPPORTED"]).unwrap();
        let words: Vec<u32> = bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(
            words,
            [ESCAPE, 0x29, DENY, 0x1f, CONTROL, 0x2080_8159, DENY, 0x1f, CONTROL, 0x2080_014a, FAIL, 0x56]
        );
        assert!(rows(&[], &["UVM_REGISTER_GPU=0x40"]).unwrap().starts_with(&UVM.to_le_bytes()));
        assert!(rows(&[], &[]).unwrap().is_empty());
        for (deny, fail, said) in [
            ("nothing_here", "", "no such escape"),
            ("", "FREE", "has no status"),
            ("", "NV_ESC_RM_FREE=nope", "no status of the driver"),
            ("GET_INFO", "", "may be"),
        ] {
            let of = |word: &str| if word.is_empty() { vec![] } else { vec![word.to_owned()] };
            let args = AnswerArgs { deny: of(deny), fail: of(fail) };
            let error = args.rows(Some("580.142")).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

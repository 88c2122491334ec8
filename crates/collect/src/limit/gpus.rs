//! `--gpus 0,2`: the devices that a program is shown, by the variable that the driver reads.

use crate::base::error::{Error, Result};
use std::ffi::OsString;

const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
const ORDER: &str = "CUDA_DEVICE_ORDER";

/// Numbers of devices, in the order in which the program counts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpus(Vec<usize>);

impl Gpus {
    /// Parses a list of numbers, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Gpus> {
        let mut numbers = Vec::new();
        for part in text.split(',').map(str::trim) {
            let number = part.parse::<usize>().map_err(|_| {
                Error::own(format!("--gpus {text}: '{part}' is no number of a GPU; write it as --gpus 0,2"))
            })?;
            if numbers.contains(&number) {
                return Err(Error::own(format!("--gpus {text}: {number} is there twice; leave one out")));
            }
            numbers.push(number);
        }
        Ok(Gpus(numbers))
    }

    /// Variables of the program. `visible`: what the variable is now. Then the numbers count in its list, so that a
    /// program gets no device that cutap itself was not given.
    pub fn environment(&self, visible: Option<&str>) -> Result<Vec<(OsString, Option<OsString>)>> {
        let Some(list) = visible else {
            let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
            return Ok(vec![
                (VISIBLE.into(), Some(numbers.join(",").into())),
                // The numbers of nvidia-smi.
                (ORDER.into(), Some("PCI_BUS_ID".into())),
            ]);
        };
        let entries: Vec<&str> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        let chosen = self.0.iter().map(|number| {
            entries.get(*number).copied().ok_or_else(|| {
                let count = entries.len();
                Error::own(format!(
                    "--gpus {number}: {VISIBLE}={list} has {count} devices, counted from 0; give other numbers"
                ))
            })
        });
        let chosen = chosen.collect::<Result<Vec<&str>>>()?;
        Ok(vec![(VISIBLE.into(), Some(chosen.join(",").into()))])
    }

    /// The same with what this process's variable is.
    pub fn variables(&self) -> Result<Vec<(OsString, Option<OsString>)>> {
        self.environment(std::env::var(VISIBLE).ok().as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let gpus = Gpus::parse("2, 0").expect("a list");
        let value = |visible| {
            let all = gpus.environment(visible).ok()?;
            all.into_iter().find(|(name, _)| name == VISIBLE)?.1
        };
        assert_eq!(value(None), Some("2,0".into()));
        assert_eq!(value(Some("GPU-a,GPU-b,GPU-c")), Some("GPU-c,GPU-a".into()));
        assert_eq!(value(Some("5")), None);
        for text in ["", "a", "1,1", "-1"] {
            assert!(Gpus::parse(text).is_err(), "{text}");
        }
    }
}

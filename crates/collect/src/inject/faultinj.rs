//! The JSON of faultinj (NVIDIA/spark-rapids-jni): functions of runtime and driver, by name or `*`, with a share, a
//! number of calls and one of three kinds of failure. Its results are changed after the call.

use super::rule_text::{CERTAIN, InjectRule};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[allow(dead_code, reason = "what faultinj logs and when it reads its file again is no rule")]
struct File {
    log_level: Option<i64>,
    dynamic: Option<bool>,
    seed: Option<u64>,
    #[serde(default)]
    cuda_runtime_faults: BTreeMap<String, Fault>,
    #[serde(default)]
    cuda_driver_faults: BTreeMap<String, Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Fault {
    percent: Option<f64>,
    injection_type: u8,
    substitute_return_code: Option<u32>,
    interception_count: Option<u64>,
}

/// An instruction that traps, and a failed assertion, as the driver reports them.
const KINDS: [u64; 2] = [719, 710];

/// Its rules.
pub fn rules(file: &str, text: &str) -> Result<Vec<InjectRule>, String> {
    let parsed: File = serde_json::from_str(text).map_err(|e| format!("it is no file of faultinj: {e}"))?;
    let mut rules = Vec::new();
    for (layer, all, faults) in
        [("runtime", "cuda*", parsed.cuda_runtime_faults), ("driver", "cu*", parsed.cuda_driver_faults)]
    {
        for (name, fault) in faults {
            rules.push(rule(file, layer, &name, all, &fault).map_err(|why| format!("{name}: {why}"))?);
        }
    }
    if rules.is_empty() {
        return Err("it has no faults; give cudaRuntimeFaults or cudaDriverFaults".to_owned());
    }
    Ok(rules)
}

fn rule(file: &str, layer: &str, name: &str, all: &str, fault: &Fault) -> Result<InjectRule, String> {
    if name.parse::<u32>().is_ok() {
        return Err("numbers of callbacks are not known; give the name of the function".to_owned());
    }
    let is_all = name == "*";
    let name = if is_all { all } else { without_version(name) };
    let percent = fault.percent.unwrap_or(100.0);
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("percent is {percent}, expected 0 to 100"));
    }
    let text = format!("{layer}:{name} injectionType={} percent={percent}", fault.injection_type);
    let mut rule = InjectRule::of_calls(file, &text, &format!("{layer}:{name}"))?;
    rule.is_of_statuses = true;
    rule.is_after = true;
    rule.chance = (percent / 100.0 * CERTAIN as f64) as u64;
    rule.when = (1, fault.interception_count.unwrap_or(u64::MAX).max(1), 1);
    match (KINDS.get(usize::from(fault.injection_type)), fault.substitute_return_code) {
        (Some(code), _) => (rule.result, rule.is_fault) = (Some(*code), true),
        (None, Some(code)) if fault.injection_type == 2 => rule.result = Some(code.into()),
        (None, None) if fault.injection_type == 2 => return Err("substituteReturnCode is missing".to_owned()),
        _ => return Err(format!("injectionType is {}, expected 0, 1 or 2", fault.injection_type)),
    }
    Ok(rule)
}

/// CUPTI's names of callbacks have the version of the runtime behind them: `cudaLaunchKernel_v7000`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, digits)) if digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file() {
        let text = r#"{"logLevel": 1, "dynamic": true,
            "cudaRuntimeFaults": {"cudaLaunchKernel_v7000":
                {"percent": 50, "injectionType": 0, "interceptionCount": 9}},
            "cudaDriverFaults": {"cuMemFreeAsync_ptsz": {"injectionType": 2, "substituteReturnCode": 999}}}"#;
        let rules = rules("f.json", text).expect("rules");
        assert_eq!((rules[0].result, rules[0].is_fault, rules[0].when), (Some(719), true, (1, 9, 1)));
        assert_eq!((rules[0].chance, rules[0].functions[0].pattern.as_str()), (CERTAIN / 2, "cudaLaunchKernel"));
        assert_eq!((rules[1].result, rules[1].is_fault, rules[1].is_after), (Some(999), false, true));
    }

    #[test]
    fn mistakes() {
        for (text, part) in [
            ("{\"cudaRuntimeFaults\": {\"214\": {\"injectionType\": 0}}}", "numbers of callbacks"),
            ("{\"cudaDriverFaults\": {\"cuInit\": {\"injectionType\": 7}}}", "expected 0, 1 or 2"),
            ("{\"cudaDriverFaults\": {\"cuInit\": {\"injectionType\": 2}}}", "substituteReturnCode is missing"),
            ("{\"cudaFaults\": {}}", "unknown field"),
            ("{}", "has no faults"),
        ] {
            let why = rules("f.json", text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}

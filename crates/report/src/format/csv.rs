//! A report as comma-separated values: the fields of its JSON lines, with a header. Lists are joined by ` > `.

use serde_json::Value;
use std::io;

/// Writes lines of JSON as CSV. Lines of another kind than the first one are left out.
pub fn write_csv(json: &[u8], out: &mut dyn io::Write) -> io::Result<()> {
    let text = String::from_utf8_lossy(json);
    let mut rows = text.lines().filter_map(|line| match serde_json::from_str(line) {
        Ok(Value::Object(row)) => Some(row),
        _ => None,
    });
    let Some(first) = rows.next() else { return Ok(()) };
    let kind = first.get("type").cloned();
    let keys: Vec<String> = first.keys().filter(|key| *key != "type").cloned().collect();
    writeln!(out, "{}", keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(","))?;
    for row in std::iter::once(first).chain(rows).filter(|row| row.get("type") == kind.as_ref()) {
        let cells = keys.iter().map(|key| row.get(key).map_or_else(String::new, cell));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            quoted(&items.iter().map(text).collect::<Vec<_>>().join(" > "))
        }
        Value::Object(_) => quoted(&value.to_string()),
        other => other.to_string(),
    }
}

/// In quotes where a comma, a quote or the end of a line would begin something else.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_first_kind() {
        let json = b"{\"type\":\"report\",\"name\":\"f(a, b)\",\"calls\":2,\"path\":[\"a\",\"b\"],\"runtime\":null}\n\
            {\"type\":\"report\",\"name\":\"say \\\"x\\\"\",\"calls\":1,\"path\":[],\"runtime\":\"12.9\"}\n\
            {\"type\":\"end\"}\n";
        let mut out = Vec::new();
        write_csv(json, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "name,calls,path,runtime\n\"f(a, b)\",2,a > b,\n\"say \"\"x\"\"\",1,,12.9\n");
    }
}

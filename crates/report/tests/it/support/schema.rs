//! Lines of JSON against the schema of docs/reference.

use serde_json::Value;

/// Each field of a line is in the schema of its type, and none that the schema requires is absent.
#[track_caller]
pub fn check(line: &Value) {
    let schema: Value = serde_json::from_str(&cutap_report::json_schema()).unwrap();
    let mut types = schema["oneOf"].as_array().unwrap().iter();
    let of = types.find(|of| of["properties"]["type"]["const"] == line["type"]).expect("the type is in the schema");
    for field in line.as_object().unwrap().keys() {
        assert!(of["properties"][field].is_object(), "{field} of {line}");
    }
    for field in of["required"].as_array().unwrap() {
        assert!(line.get(field.as_str().unwrap()).is_some(), "{field} of {line}");
    }
}

//! The text of the tables for a small library: what is inferred, what is kept, and with which numbers.

use super::Api;
use crate::interface::generate;

const FUNCTIONS: &str = r#"
[[function]]
name = "demoCreate"
returns = "demoStatus_t"
params = [{ name = "handle", type = "demoHandle_t *", dir = "out" }]
[[function]]
name = "demoGetNodes"
returns = "demoStatus_t"
params = [
  { name = "handle", type = "demoHandle_t" }, { name = "nodes", type = "demoNode_t *", dir = "out" },
  { name = "numNodes", type = "size_t *", dir = "inout" },
]
[[function]]
name = "demoRun"
last = "1"
returns = "demoStatus_t"
params = [{ name = "config", type = "const demoConfig *", dir = "in" }]
[[function]]
name = "demoRun"
first = "2"
returns = "demoStatus_t"
params = [{ name = "config", type = "const demoConfig *", dir = "in" }, { name = "scale", type = "double" }]
[[function]]
name = "demoSay"
returns = "const char *"
params = [{ name = "status", type = "demoStatus_t" }]
"#;

const TYPES: &str = r#"
[[enum]]
name = "demoStatus_t"
values = [["DEMO_SUCCESS", 0], ["DEMO_BAD", 1]]
[[handle]]
name = "demoHandle_t"
[[handle]]
name = "demoNode_t"
[[struct]]
name = "demoConfig"
size = 24
fields = [
  { name = "name", type = "const char *", offset = 0 }, { name = "dims", type = "const int *", offset = 8 },
  { name = "numDims", type = "unsigned int", offset = 16 }, { name = "reserved", type = "int", offset = 20 },
]
"#;

const OVERLAY: &str = r#"
[function.demoCreate]
about = "Makes a handle."
"#;

fn file(name: &str) -> String {
    let api = Api::new(FUNCTIONS, TYPES, OVERLAY);
    let files = generate(&api.0).unwrap();
    let found = files.into_iter().find(|(path, _)| path.ends_with(name));
    found.unwrap_or_else(|| panic!("{name} is not among the files")).1
}

#[test]
fn functions() {
    let text = file("demo.rs");
    let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("    f(")).map(str::trim).collect();
    assert_eq!(
        lines,
        [
            r#"f("demoCreate", 0, NOW, t_demoStatus_t_status, &[p("handle", t_P_demoHandle_t, 0, 0, One).out()], "Makes a handle.", (1, 0, 0), &[]),"#,
            r#"f("demoGetNodes", 0, NOW, t_demoStatus_t_status, &[p("handle", t_demoHandle_t, 0, 0, One), p("nodes", t_P_demoNode_t, 1, 8, Array(At(2))).out(), p("numNodes", t_P_u64, 2, 16, One).both()], "", (3, 0, 0), &[]),"#,
            r#"f("demoRun", 0, 1, t_demoStatus_t_status, &[p("config", t_PC_demoConfig, 0, 0, One)], "", (1, 0, 0), &[]),"#,
            r#"f("demoRun", 2, NOW, t_demoStatus_t_status, &[p("config", t_PC_demoConfig, 0, 0, One), p("scale", t_f64, 1, 8, One)], "", (1, 1, 0), &[]),"#,
            r#"f("demoSay", 0, NOW, t_PC_char, &[p("status", t_demoStatus_t, 0, 0, One)], "", (1, 0, 0), &[]),"#,
        ]
    );
}

#[test]
fn types() {
    let text = file("types.rs");
    let row = text.lines().find(|l| l.contains("\"demoConfig\"")).unwrap().trim();
    let fields = r#"d("name", t_PC_char, 0, Text), d("dims", t_PC_i32, 8, Many(Of(2))), d("numDims", t_u32, 16, One)"#;
    let expected = format!(
        "StructRow {{ name: \"demoConfig\", since: 0, until: NOW, size: 24, fields: &[{fields}], tag: 255, tags: 65535 }},"
    );
    assert_eq!(row, expected);
    let sized = Api::new(FUNCTIONS, TYPES, "[struct.demoConfig]\nsized_by = \"numDims\"\n");
    let files = generate(&sized.0).unwrap();
    let (_, sized) = files.iter().find(|(path, _)| path.ends_with("types.rs")).unwrap();
    assert!(sized.contains(&expected.replace("tag: 255", "tag: 2")), "{sized}");
    assert!(text.contains("HandleRow { name: \"demoNode_t\", short: \"demoNode\""), "{text}");
}

/// The numbers of a name's row: first step, steps, words.
fn row(text: &str, name: &str) -> Vec<usize> {
    let line = text.lines().find(|l| l.ends_with(&format!("// {name}")) && l.starts_with("    n(")).unwrap();
    let number = line.split([',', ')']).nth(1).unwrap().trim();
    let row = text.lines().find(|l| l.ends_with(&format!("// {number}")) && l.starts_with("    r(")).unwrap();
    row.split(['(', ')', ',']).filter_map(|n| n.trim().parse().ok()).collect()
}

/// The steps of a row, as text without their names.
fn steps(text: &str, name: &str) -> Vec<String> {
    let numbers = row(text, name);
    let all: Vec<&str> = text.lines().filter(|l| l.starts_with("    s(")).collect();
    let (first, count) = (numbers[0], numbers[1]);
    all[first..first + count].iter().map(|l| l.split(" //").next().unwrap().trim().to_owned()).collect()
}

#[test]
fn what_is_kept() {
    let text = file("capture.rs");
    // One handle, after the call.
    assert_eq!(steps(&text, "demoCreate"), ["s(0, 1, 255, 0, 253, 1, 8, 8),"]);
    // The number before the call; after it the number, then as many nodes.
    let nodes =
        ["s(0, 0, 255, 16, 253, 1, 8, 8),", "s(0, 1, 255, 16, 253, 1, 8, 8),", "s(0, 5, 255, 8, 1, 0, 8, 1024),"];
    assert_eq!(steps(&text, "demoGetNodes"), nodes);
    // The struct, then the text and the array that it leads to, counted by its own field.
    let config =
        ["s(0, 0, 255, 0, 253, 1, 24, 24),", "s(1, 0, 0, 0, 253, 1, 1, 256),", "s(0, 0, 0, 8, 0, 16, 4, 1024),"];
    assert_eq!(steps(&text, "demoRun"), config);
    // The text that is returned.
    assert_eq!(steps(&text, "demoSay"), ["s(1, 2, 254, 0, 253, 0, 1, 256),"]);
    // The older form has another shape, and a separate row.
    let shape = |name: &str| row(&text, name)[2..].to_vec();
    assert_eq!((shape("demoRun"), shape("demoRun#1")), (vec![1, 1, 0], vec![1, 0, 0]), "{text}");
}

/// Functions that share a prototype share all but the name, unless more is said of one of them.
#[test]
fn shared_prototypes() {
    let functions = r#"
[[prototype]]
returns = "demoStatus_t"
params = ["const int *from", "out bytes size_t *size", "int n"]
functions = ["demoB", "demoA", "demoC"]
[[prototype]]
last = "1"
returns = "demoStatus_t"
params = []
functions = ["demoD"]
"#;
    let api = Api::new(functions, TYPES, "[function.demoC]\nfrom = { rule = \"array(n)\" }\n");
    let exports = api.0.join("api/libraries/demo/exports.toml");
    std::fs::write(&exports, "undeclared = [\"demoZ\", \"demoY\"]\n").unwrap();
    let files = generate(&api.0).unwrap();
    let of = |name: &str| &files.iter().find(|(path, _)| path.ends_with(name)).unwrap().1;
    let lines =
        |start: &str| -> Vec<&str> { of("demo.rs").lines().filter(|l| l.starts_with(start)).map(str::trim).collect() };
    let more = r#"p("size", t_P_u64, 1, 8, One).out().bytes(), p("n", t_i32, 2, 16, One)], "", (3, 0, 0), &[]), //"#;
    assert_eq!(
        lines("    f("),
        [
            format!(r#"f("", 0, NOW, t_demoStatus_t_status, &[p("from", t_PC_i32, 0, 0, One), {more} 0"#),
            format!(r#"f("", 0, NOW, t_demoStatus_t_status, &[p("from", t_PC_i32, 0, 0, Array(Of(2))), {more} 1"#),
            r#"f("", 0, 1, t_demoStatus_t_status, &[], "", (0, 0, 0), &[]), // 2"#.to_owned(),
        ]
    );
    let names = [("demoA", 0), ("demoB", 0), ("demoC", 1), ("demoD", 2)];
    assert_eq!(lines("    n("), names.map(|(name, form)| format!("n({name:?}, &FORMS[{form}]),")));
    assert_eq!(row(of("capture.rs"), "demoA"), row(of("capture.rs"), "demoB"));
    assert_ne!(row(of("capture.rs"), "demoA"), row(of("capture.rs"), "demoC"));
    assert!(of("demo.rs").ends_with("UNDECLARED: &[&str] = &[\n\"demoY\",\n\"demoZ\",\n];\n"));
    std::fs::write(&exports, "undeclared = [\n\"demoZ\",\n\"demoB\"]\n").unwrap();
    let said = api.rows(|_, _| ()).expect_err("an error").to_string();
    assert!(said.ends_with("exports.toml:3: functions.toml declares demoB"), "{said}");
}

/// What a description says of a type is kept for the calls that use it; a rule for many that a function
/// cannot follow leaves what was said before.
#[test]
fn remembered() {
    let functions = r#"
[[function]]
name = "demoDescribe"
returns = "demoStatus_t"
params = [{ name = "desc", type = "demoHandle_t *", dir = "out" }, { name = "type", type = "demoStatus_t" }]
[[function]]
name = "demoScale"
returns = "demoStatus_t"
params = [
  { name = "desc", type = "demoHandle_t" }, { name = "alpha", type = "const void *", dir = "in" },
  { name = "beta", type = "const void *", dir = "in" }, { name = "type", type = "demoStatus_t" },
  { name = "data", type = "const void *", dir = "in" }, { name = "size", type = "size_t" },
]
"#;
    let overlay = r#"
[tags.demoScalar]
of = "demoStatus_t"
DEMO_SUCCESS = "float"
DEMO_BAD = "double"
[function.demoDescribe]
remembers = { of = "desc", value = "type" }
[function."demo*"]
alpha = { rule = "scalar(demoScalar, desc)" }
beta = { rule = "scalar(demoScalar, type, demoScalar, desc)" }
data = { rule = "host(size)" }
[function."demoS*"]
alpha = { rule = "scalar(demoScalar, nobody)" }
"#;
    let api = Api::new(functions, TYPES, overlay);
    let files = generate(&api.0).unwrap();
    let of = |name: &str| &files.iter().find(|(path, _)| path.ends_with(name)).unwrap().1;
    let lines: Vec<&str> = of("demo.rs").lines().filter(|l| l.starts_with("    f(")).map(str::trim).collect();
    assert!(lines[0].ends_with("&[Remembers { of: 0, value: 1 }]),"), "{}", lines[0]);
    assert!(lines[1].contains(r#"p("alpha", t_PC_void, 1, 8, Scalar(0, 0))"#), "{}", lines[1]);
    assert!(lines[1].contains(r#"p("beta", t_PC_void, 2, 16, ScalarOr(0, 3, 0, 0))"#), "{}", lines[1]);
    assert!(lines[1].contains(r#"p("data", t_PC_void, 4, 32, Host(Of(5)))"#), "{}", lines[1]);
    // As long as the longer of the two; nothing of memory that is not read.
    assert_eq!(
        steps(of("capture.rs"), "demoScale"),
        ["s(0, 0, 255, 8, 253, 1, 8, 8),", "s(0, 0, 255, 16, 253, 1, 8, 8),"]
    );
}

/// Two libraries have functions of one name: each has its row, and its own types of one name.
#[test]
fn the_same_name_in_two_libraries() {
    let function = |ty: &str| {
        format!(
            "versions = [\"3\"]\nsource = \"x\"\n[[function]]\nname = \"demoSame\"\nreturns = \"int\"\nparams = [{ty}]\n"
        )
    };
    let api = Api::new("", "", "");
    let folder = |name: &str| api.0.join("api/libraries").join(name);
    std::fs::create_dir_all(folder("demo3")).unwrap();
    let write = |name: &str, file: &str, text: &str| std::fs::write(folder(name).join(file), text).unwrap();
    write("demo", "functions.toml", &function("{ name = \"a\", type = \"Thing\" }"));
    write("demo", "types.toml", "[[typedef]]\nname = \"Thing\"\ntype = \"int\"\n");
    write("demo3", "functions.toml", &function("{ name = \"a\", type = \"Thing\" }, { name = \"b\", type = \"int\" }"));
    write("demo3", "types.toml", "[[typedef]]\nname = \"Thing\"\ntype = \"float\"\n");
    write("demo3", "overlay.toml", "[type.Thing]\ntype = \"double\"\n");
    let files = generate(&api.0).unwrap();
    let of = |name: &str| &files.iter().find(|(path, _)| path.ends_with(name)).unwrap().1;
    assert!(of("demo.rs").contains(r#"p("a", t_i32, 0, 0, One)"#), "{}", of("demo.rs"));
    assert!(of("demo3.rs").contains(r#"p("a", t_f64, 1, 0, One)"#), "{}", of("demo3.rs"));
    let rows = ["demoSame", "demoSame#3"].map(|name| row(of("capture.rs"), name)[2..].to_vec());
    assert_eq!(rows, [vec![1, 0, 0], vec![1, 1, 0]]);
}

/// A function that has the structs of another version in some versions.
#[test]
fn structs_of_another_version() {
    let functions = r#"
[[prototype]]
returns = "int"
params = ["out Box *box"]
functions = ["demoGet", "demoLook"]
"#;
    let types = r#"
[[struct]]
name = "Box"
last = "1"
size = 4
fields = [{ name = "a", type = "int", offset = 0 }]
[[struct]]
name = "Box"
first = "2"
size = 8
fields = [{ name = "a", type = "int", offset = 0 }, { name = "b", type = "int", offset = 4 }]
"#;
    let text = "layouts = { first = \"2\", last = \"2\", of = \"1\" }";
    let api = Api::new(functions, types, &format!("[function.demoGet]\n{text}\n"));
    api.rows(|tables, rows| {
        let sizes: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.span.since, r.span.until)).collect();
        assert_eq!(sizes, [("demoGet", 0, 1), ("demoGet", 2, 2), ("demoLook", 0, u32::MAX)]);
        let size = |n: usize, version| match tables.get(rows[n].params[0].ty) {
            super::super::known::Type::Pointer(to, _) => tables.extent(to, version).size,
            other => panic!("{other:?}"),
        };
        assert_eq!([size(0, 1), size(1, 2), size(2, 1), size(2, 2)], [4, 4, 4, 8]);
    })
    .unwrap();
    let said = |text: &str| {
        let api = Api::new(functions, types, &format!("[function.demoGet]\n{text}\n"));
        api.rows(|_, _| ()).expect_err("an error").to_string()
    };
    assert!(
        said("layouts = { first = \"2\" }")
            .ends_with("overlay.toml:2: expected { first = \"12.0\", last = \"12.9\", of = \"11.8\" }")
    );
    assert!(said(&text.replace("of = \"1\"", "of = \"3\"")).ends_with(":2: expected versions of functions.toml: 1, 2"));
}

//! Wrong files: each error names the file, the line, what stands there and what was expected.

use super::Api;

const FUNCTION: &str = "[[function]]\nname = \"demoCopy\"\nreturns = \"int\"\n\
    params = [{ name = \"to\", type = \"void *\" }, { name = \"size\", type = \"size_t\" }]\n";

/// The error of these files, without the folder.
#[track_caller]
fn said(functions: &str, types: &str, overlay: &str) -> String {
    let api = Api::new(functions, types, overlay);
    let error = api.rows(|_, _| ()).expect_err("an error").to_string();
    error.replace(&format!("{}/api/libraries/demo/", api.0.display()), "")
}

#[test]
fn good_files() {
    let overlay = "[function.\"demo*\"]\nto = { rule = \"memory(size)\" }\n";
    Api::new(FUNCTION, "", overlay).rows(|_, rows| assert_eq!(rows.len(), 1)).unwrap();
}

#[test]
fn prototypes() {
    let wrong = |from: &str, to: &str| said(&FUNCTION.replace(from, to), "", "");
    assert_eq!(
        wrong("returns", "return"),
        "functions.toml:5: unknown field `return`, expected one of `name`, `base`, \
        `first`, `last`, `returns`, `params`, `callback`, `callback_ptsz`, `callback_ptds`, `forms`"
    );
    assert_eq!(wrong("void *", "* void"), "functions.toml:6: \"* void\" is no C type that is understood");
    let unknown = "functions.toml:6: unknown type Thing; declare it in types.toml, or in overlay.toml [type]";
    assert_eq!(wrong("void *", "Thing *"), unknown);
    let dir = wrong("\"void *\"", "\"void *\", dir = \"up\"");
    assert_eq!(dir, "functions.toml:6: dir is \"up\", expected in, out or inout");
    let written = said(FUNCTION, "", "[function.demoCopy]\nto = { written = \"never\" }\n");
    assert_eq!(written, "overlay.toml:2: written is \"never\", expected always or failed");
    let twice = format!("{FUNCTION}{FUNCTION}");
    assert_eq!(said(&twice, "", ""), "functions.toml:8: demoCopy stands here a second time with these versions");
    let returned = "functions.toml:5: unknown type Thing; declare it in types.toml, or in overlay.toml [type]";
    assert_eq!(wrong("returns = \"int\"", "returns = \"Thing\""), returned);
    let version = wrong("returns", "first = \"two\"\nreturns");
    assert_eq!(version, "functions.toml:5: version \"two\", expected one like \"12.9\", or \"12\" for a library");
}

#[test]
fn files_that_are_missing_or_no_text() {
    for file in ["functions.toml", "types.toml", "overlay.toml"] {
        let api = Api::new(FUNCTION, "", "");
        let path = api.0.join("api/libraries/demo").join(file);
        std::fs::remove_file(&path).unwrap();
        let error = api.rows(|_, _| ()).expect_err("an error").to_string();
        assert!(error.starts_with(&format!("{}: No such file", path.display())), "{error}");
        std::fs::write(&path, b"# one\n# \xff two\n").unwrap();
        let error = api.rows(|_, _| ()).expect_err("an error").to_string();
        assert!(error.contains(&format!("{file}:2: this line is no UTF-8")), "{error}");
    }
    let api = Api::new(FUNCTION, "", "");
    std::fs::remove_file(api.0.join("api/runtime/overlay.toml")).unwrap();
    assert!(api.rows(|_, _| ()).expect_err("an error").to_string().contains("runtime/overlay.toml: No such file"));
}

#[test]
fn shared_prototypes() {
    let good =
        "[[prototype]]\nreturns = \"int\"\nparams = [\n\"in bytes size_t *size\",\n\"int n\"]\nfunctions = [\"a\"]\n";
    Api::new(good, "", "").rows(|_, rows| assert_eq!(rows.len(), 1)).unwrap();
    let wrong = |from: &str, to: &str| said(&good.replace(from, to), "", "");
    let expected = "expected one like \"out size_t *size\"";
    for text in ["int", "up unsigned *n", "int *", "", "* n"] {
        let said = wrong("int n", text);
        assert_eq!(said, format!("functions.toml:7: \"{text}\" is no parameter, {expected}"));
    }
    assert_eq!(wrong("int n", "int size"), "functions.toml:7: a second parameter size");
    let none = "functions.toml:4: no function has this prototype, expected at least one name in functions";
    assert_eq!(wrong("\"a\"", ""), none);
    assert_eq!(
        wrong("[\"a\"]", "[\"a\",\n\"a\"]"),
        "functions.toml:9: a stands here a second time with these versions"
    );
    let unknown = "functions.toml:7: unknown type Thing; declare it in types.toml, or in overlay.toml [type]";
    assert_eq!(wrong("int n", "Thing n"), unknown);
}

#[test]
fn types() {
    let wrong = |types: &str| said(&FUNCTION.replace("void *", "Box *"), types, "");
    let behind = "[[struct]]\nname = \"Box\"\nsize = 8\nfields = [{ name = \"a\", type = \"int\", offset = 8 }]\n";
    assert_eq!(wrong(behind), "types.toml:4: a lies at 8, behind the end at 8");
    let long = behind.replace("offset = 8", "offset = 6");
    assert_eq!(wrong(&long), "types.toml:4: a ends at 10, the struct at 8");
    let circle = "[[typedef]]\nname = \"Box\"\ntype = \"Chest\"\n[[typedef]]\nname = \"Chest\"\ntype = \"Box\"\n";
    assert!(wrong(circle).ends_with("leads to itself"), "{}", wrong(circle));
    let value = "[[enum]]\nname = \"Box\"\nvalues = [[\"A\", \"B\"]]\n";
    assert!(wrong(value).starts_with("types.toml:3: expected [\"NAME\", number]"), "{}", wrong(value));
}

#[test]
fn overlays() {
    let wrong = |overlay: &str| said(FUNCTION, "", overlay);
    assert_eq!(wrong("\n[function.demoMove]\n"), "overlay.toml:2: functions.toml has no demoMove");
    assert_eq!(wrong("[function.\"move*\"]\n"), "overlay.toml:1: functions.toml has no move*");
    let parameter = "[function.demoCopy]\nfrom = { rule = \"one\" }\n";
    assert_eq!(wrong(parameter), "overlay.toml:2: no parameter from, expected one of size, to");
    let sibling = "[function.demoCopy]\nto = { rule = \"memory(count)\" }\n";
    assert_eq!(wrong(sibling), "overlay.toml:2: demoCopy: to names count, which is not there");
    let rule = "[function.demoCopy]\nto = { rule = \"some(count)\" }\n";
    assert!(wrong(rule).starts_with("overlay.toml:2: rule is \"some(count)\", expected one, text, array(N)"));
    let key = "[function.demoCopy]\nto = { rules = \"one\" }\n";
    assert_eq!(wrong(key), "overlay.toml:2: unknown key rules, expected rule, dir, unit, written, type, name");
    assert!(wrong("[functions]\n").starts_with("overlay.toml:1: unknown key functions, expected family, handles"));
    let tags = "[function.demoCopy]\nto = { rule = \"tagged(Kind, size)\" }\n";
    assert_eq!(wrong(tags), "overlay.toml:2: no overlay has [tags.Kind]");
    let freed = "[function.demoCopy]\nfrees = \"from\"\n";
    assert_eq!(wrong(freed), "overlay.toml:2: no parameter from, expected one of size, to");
    let types = "[[struct]]\nname = \"Box\"\nsize = 4\nfields = [{ name = \"a\", type = \"int\", offset = 0 }]\n";
    let sized = said(&FUNCTION.replace("void *", "Box *"), types, "[struct.Box]\nsized_by = \"size\"\n");
    assert_eq!(sized, "overlay.toml:2: Box has no field size");
    let half = "[function.demoCopy]\nremembers = { of = \"to\" }\n";
    assert_eq!(wrong(half), "overlay.toml:2: expected { of = \"handle\", value = \"parameter\" }");
    let carried = "[function.demoCopy]\nremembers = { of = \"to\", value = \"type\" }\n";
    assert_eq!(wrong(carried), "overlay.toml:2: there is no parameter type");
    let when = "[function.demoCopy]\nremembers = { of = \"to\", value = \"size\", when = \"size\" }\n";
    assert_eq!(wrong(when), "overlay.toml:2: expected when = \"parameter\" and is = \"NAME\" together");
    let no_enum = when.replace("when = \"size\"", "when = \"size\", is = \"ONE\"");
    assert_eq!(wrong(&no_enum), "overlay.toml:2: there is no value ONE");
    let none = "types.toml has no enum Box, nor is it a set of [flags]";
    assert_eq!(wrong("[numbers]\nBox = 3\n"), format!("overlay.toml:2: {none}"));
    assert_eq!(wrong("[numbers]\nBox = \"3\"\n"), "overlay.toml:2: string stands here, expected a number");
    assert_eq!(wrong("[struct.Box]\n"), "overlay.toml:1: types.toml has no struct or union Box");
    assert_eq!(wrong("[handles]\nBox = { short = \"box\" }\n"), "overlay.toml:2: types.toml has no handle Box");
    assert!(wrong("[function\n").starts_with("overlay.toml:1: "));
    assert_eq!(wrong("[preferred]\nBox = [\"A\"]\n"), "overlay.toml:2: types.toml has no enum Box");
    let types = "[[enum]]\nname = \"Box\"\nvalues = [[\"A\", 1], [\"B\", 2], [\"C\", 2]]\n";
    let prefer =
        |name: &str| said(&FUNCTION.replace("void *", "Box *"), types, &format!("[preferred]\nBox = [\"{name}\"]\n"));
    assert_eq!(prefer("A"), "overlay.toml:2: Box has no second name for the value of A");
    assert_eq!(prefer("D"), "overlay.toml:2: Box has no second name for the value of D");
}

#[test]
fn sentences_and_names_of_headers() {
    let api = Api::new(FUNCTION, "", "");
    let error = |file: &str, text: &str| {
        std::fs::write(api.0.join("api").join(file), text).unwrap();
        let error = api.rows(|_, _| ()).unwrap_err().to_string();
        error.rsplit_once("api/").unwrap().1.to_owned()
    };
    let about = error("about.toml", "[both]\nNothing = \"Does nothing.\"\n");
    assert_eq!(about, "about.toml:2: no functions.toml has Nothing");
    std::fs::write(api.0.join("api/about.toml"), "").unwrap();
    let written = error("libraries/demo/written.toml", "demoMove = [{ export = \"demoMove_v2\" }]\n");
    assert_eq!(written, "libraries/demo/written.toml:1: functions.toml has no demoMove_v2");
    let version = error("libraries/demo/written.toml", "demoMove = [{ export = \"demoCopy\", first = \"new\" }]\n");
    assert_eq!(version, "libraries/demo/written.toml:1: demoMove: first and last are versions like \"12.9\"");
}

//! The whole way, with two versions of a library that was made up for it: headers in, TOML out, and the
//! checks that must find what is wrong. Needs clang, and says so where there is none; the steps' own tests
//! need nothing.

use crate::{Read, Repository, clang, gcc, sources::Family};
use std::path::{Path, PathBuf};

const OLD: &str = "
#define potMake potMake_v2
#define POT_LID 0x2
#define POT_BIG (POT_LID << 4)
typedef enum potKind_enum { POT_CLAY = 1, POT_IRON } potKind;
typedef struct pot_st *pot_t;
struct inner { char a; long b; };
typedef struct potSize_st { char x; struct { short y; double z; } in[2]; union { int u; struct inner v; }; unsigned f : 3; } potSize;
/** \\param pot - Returned pot\n * \\param weight - Size in bytes */
int potMake(pot_t *pot, const potSize *size, unsigned long weight, void (*done)(void *));
int potBoil(pot_t pot);
#ifdef POT_INTERNAL
#undef potMake
int potMake(pot_t *pot);
int potBoil_ptsz(pot_t pot);
#endif
static int potInline(void) { return 1; }
int panMake(void);
";

/// A value, a field and a parameter more; one function less.
fn new() -> String {
    let text = OLD.replace("POT_IRON }", "POT_IRON, POT_STEEL }").replace("char x; struct {", "char x, w[9]; struct {");
    text.replace("int potBoil(pot_t pot);", "int potBoil(pot_t pot, int degrees);")
        .replace("int potBoil_ptsz(pot_t pot);", "")
}

struct Kitchen {
    place: Repository,
}

impl Kitchen {
    fn of(name: &str, old: &str, new: &str) -> Option<Self> {
        if let Err(error) = clang::find() {
            println!("skipped: {error}");
            return None;
        }
        let root = std::env::temp_dir().join(format!("cutap-import-{name}-{}", std::process::id()));
        let place = Repository { cache: root.join("cache"), root };
        for (version, text) in [("1", old), ("2", new)] {
            let include = place.cache.join(format!("pots-{version}/include"));
            std::fs::create_dir_all(&include).unwrap();
            std::fs::write(include.join("pots.h"), text).unwrap();
        }
        Some(Self { place })
    }

    fn family(&self) -> Family {
        let path = self.place.root.join("sources.toml");
        let text = "[[family]]\nname = \"pots\"\nheaders = [\"pots.h\", \"pans.h\"]\nprefixes = [\"pot\"]\n\
            more = [{ defines = [\"POT_INTERNAL\"] }]\nversions = [\n { version = \"1\", wheels = [\"pots==1\"] },\n \
            { version = \"2\", wheels = [\"pots==2\"] },\n]\n";
        std::fs::write(&path, text).unwrap();
        crate::sources::read(&path).unwrap().remove(0)
    }
}

impl Drop for Kitchen {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place.root);
    }
}

fn text<'a>(files: &'a [(PathBuf, String)], name: &str) -> &'a str {
    &files.iter().find(|(path, _)| path == Path::new(name)).unwrap().1
}

#[test]
fn two_versions_of_pots() {
    let Some(kitchen) = Kitchen::of("two", OLD, &new()) else { return };
    let family = kitchen.family();
    let read = Read::of(&kitchen.place, &family).unwrap();
    assert_eq!(read.snapshots[0].missing, ["pans.h"]);
    let files = read.files(&family);
    let functions = text(&files, "api/libraries/pots/functions.toml");
    let expected = "versions = [\"1\", \"2\"]
source = \"pots.h, pans.h; wheels: api/sources.toml\"

[[function]]
name = \"potBoil\"
last = \"1\"
forms = [\"_ptsz\"]
returns = \"int\"
params = [{ name = \"pot\", type = \"pot_t\" }]

[[function]]
name = \"potBoil\"
first = \"2\"
returns = \"int\"
params = [{ name = \"pot\", type = \"pot_t\" }, { name = \"degrees\", type = \"int\" }]

[[function]]
name = \"potMake\"
returns = \"int\"
params = [{ name = \"pot\", type = \"pot_t *\", dir = \"out\" }]

[[function]]
name = \"potMake_v2\"
base = \"potMake\"
returns = \"int\"
params = [
  { name = \"pot\", type = \"pot_t *\", dir = \"out\" }, { name = \"size\", type = \"const potSize *\", dir = \"in\" },
  { name = \"weight\", type = \"unsigned long\", unit = \"bytes\" }, { name = \"done\", type = \"code\" },
]
";
    assert_eq!(functions.split_once("\n\n").unwrap().1, expected);
    let types = text(&files, "api/libraries/pots/types.toml");
    for part in [
        "name = \"potKind\"\nalso = [\"potKind_enum\"]\nvalues = [[\"POT_CLAY\", 1], [\"POT_IRON\", 2], [\"POT_STEEL\", 3, \"2\"]]\n",
        "[[handle]]\nname = \"pot_t\"\ntag = \"pot_st\"\n",
        "[[struct]]\nname = \"potSize\"\nalso = [\"potSize_st\"]\nlast = \"1\"\nsize = 64\n",
        "[[struct]]\nname = \"potSize\"\nalso = [\"potSize_st\"]\nfirst = \"2\"\nsize = 72\n",
        "{ name = \"in\", type = \"potSize.in[2]\", offset = 16 }",
        "{ name = \"_1\", type = \"potSize._1\", offset = 40 }",
        "{ name = \"f\", type = \"unsigned int\", offset = 56, bit = 0, bits = 3 }",
        "[[union]]\nname = \"potSize._1\"\n",
        "[[define]]\nname = \"POT_BIG\"\nvalue = 32\n",
    ] {
        assert!(types.contains(part), "{part}\nis missing in\n{types}");
    }
}

#[test]
fn functions_that_share_a_prototype() {
    let pans = "int potFill(const double (*in)[3], unsigned char *out);\nint potDrain(const double (*in)[3], unsigned char *out);\n\
                /** \\param weight - Size in bytes */ int potWeigh(unsigned long weight);\nint potTurn_block(void);\n";
    let Some(kitchen) = Kitchen::of("shared", pans, &format!("{pans}int potRinse(void);\n")) else { return };
    let mut family = kitchen.family();
    family.shared = true;
    family.leave_out = vec!["*_block".to_owned()];
    let files = Read::of(&kitchen.place, &family).unwrap().files(&family);
    let expected = "[[prototype]]
returns = \"int\"
params = [\"const double *in\", \"out unsigned char *out\"]
functions = [\"potDrain\", \"potFill\"]

[[prototype]]
first = \"2\"
returns = \"int\"
params = []
functions = [\"potRinse\"]

[[prototype]]
returns = \"int\"
params = [\"bytes unsigned long weight\"]
functions = [\"potWeigh\"]
";
    let functions = text(&files, "api/libraries/pots/functions.toml");
    assert_eq!(functions.split_once("sources.toml\"\n\n").unwrap().1, expected);
}

#[test]
fn names_that_nothing_declares() {
    let header =
        "typedef struct lid lid_t;\nstruct pan { lid_t *lid; void *handle; };\nint potCover(struct pan *pan);\n";
    let Some(kitchen) = Kitchen::of("names", header, header) else { return };
    let mut read = Read::of(&kitchen.place, &kitchen.family()).unwrap();
    let unknown = |read: &Read| {
        let mut used_names = crate::UsedNames::default();
        crate::check::names(read, &mut used_names);
        used_names.unknown()
    };
    assert_eq!(unknown(&read), [""; 0], "the content of a lid is its library's own business");
    read.functions[0].params[0].ty = "saucepan *".to_owned();
    assert_eq!(unknown(&read), ["type saucepan of potCover(pan) is declared nowhere"]);
}

#[test]
fn gcc_agrees_and_would_not_if_it_were_wrong() {
    let Some(kitchen) = Kitchen::of("gcc", OLD, OLD) else { return };
    let family = kitchen.family();
    let mut read = Read::of(&kitchen.place, &family).unwrap();
    let snapshot = &mut read.snapshots[0];
    let right = gcc::check(&family, snapshot).unwrap();
    assert_eq!((right.checked, right.wrong), (10, Vec::<String>::new()));
    let record = snapshot.decls.records.get_mut("inner").unwrap();
    record.fields[0].ty = "double[2]".to_owned();
    let wrong = gcc::check(&family, snapshot).unwrap().wrong;
    assert!(wrong.contains(&"sizeof(struct inner) is not 24".to_owned()), "{wrong:?}");
    assert!(wrong.contains(&"offsetof(struct inner, b) is not 16".to_owned()), "{wrong:?}");
}

#[test]
fn an_unknown_version_is_one_sentence() {
    let Some(kitchen) = Kitchen::of("unknown", OLD, OLD) else { return };
    let mut family = kitchen.family();
    family.version_macro = Some("POT_VERSION".to_owned());
    let error = format!("{:#}", Read::of(&kitchen.place, &family).err().unwrap());
    assert!(error.starts_with("pots 1: the headers of pots==1 say nothing by POT_VERSION; "), "{error}");
    let with_version = OLD.replace("#define POT_LID", "#define POT_VERSION 13060\n#define POT_LID");
    std::fs::write(kitchen.place.cache.join("pots-1/include/pots.h"), with_version).unwrap();
    let error = format!("{:#}", Read::of(&kitchen.place, &family).err().unwrap());
    assert!(error.starts_with("pots 1: the headers of pots==1 say 13.6; put "), "{error}");
}

#[test]
fn a_damaged_header_is_one_sentence() {
    let Some(kitchen) = Kitchen::of("damaged", OLD, &OLD.replace("enum potKind_enum {", "enum {{")) else { return };
    let error = Read::of(&kitchen.place, &kitchen.family()).err().unwrap();
    let message = format!("{error:#}");
    assert!(message.starts_with("pots 2: pots.h could not be read: ") && !message.contains('\n'), "{message}");
}

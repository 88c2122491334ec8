//! What was written is read back by the crate's own reader.

use crate::{RunName, TablesError, TablesFolder, TablesSource, TablesWriter, manifests};
use cutap_report::{ArgumentCell, Cell, FieldType, TableSink, table_schemas};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use std::fs::File;
use std::path::Path;

fn name() -> RunName {
    RunName { run: "a/b c".to_owned(), rank: 3 }
}

/// A row of calls whose numbers are all `number`.
fn push(to: &mut TablesWriter, number: i64, arguments: &[ArgumentCell<'_>]) {
    let text = format!("text {}", number % 5);
    let schema = &table_schemas()[0];
    let cells = schema.fields.iter().map(|field| match field.field_type {
        FieldType::Boolean => Cell::Boolean(number % 2 == 1),
        FieldType::Text if number % 3 == 0 => Cell::None,
        FieldType::Text => Cell::Text(&text),
        FieldType::Arguments if number % 4 == 0 => Cell::None,
        FieldType::Arguments => Cell::Arguments(arguments),
        _ => Cell::Integer(number),
    });
    to.row(0, cells, ((number % 2) as u32, number)).unwrap();
}

fn write(folder: &Path, rows: i64) {
    let tables = TablesFolder::open(folder).unwrap();
    let mut writer = TablesWriter::begin(&tables, &name()).unwrap();
    let argument = ArgumentCell { name: "n", type_name: "int", int: Some(i64::MIN), float: None, text: None };
    let float = ArgumentCell { int: None, float: Some(0.5), text: Some("half"), ..argument };
    let both = [argument, float];
    (0..rows).for_each(|n| push(&mut writer, n, if n % 2 == 1 { &both } else { &[] }));
    let missing = ["it is cut off".to_owned()];
    writer.finish(&name(), TablesSource { path: "source", missing: &missing }).unwrap();
}

fn calls(folder: &Path) -> SerializedFileReader<File> {
    let path = folder.join("calls/run=a%2Fb%20c/rank=3/calls.parquet");
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

#[test]
fn rows_come_back_by_thread_and_time() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 20_000);
    let reader = calls(folder.path());
    let numbers: Vec<i64> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_long(0).unwrap()).collect();
    let expected: Vec<i64> = (0..20_000).step_by(2).chain((1..20_000).step_by(2)).collect();
    assert_eq!(numbers, expected);
    for row in reader.get_row_iter(None).unwrap().step_by(997) {
        let row = row.unwrap();
        let number = row.get_long(0).unwrap();
        for (name, field) in row.get_column_iter() {
            match field {
                Field::Bool(value) => assert_eq!(*value, number % 2 == 1, "{name}"),
                Field::Str(value) => assert_eq!((value, number % 3 != 0), (&format!("text {}", number % 5), true)),
                Field::ListInternal(list) => {
                    let texts: Vec<String> = list.elements().iter().map(ToString::to_string).collect();
                    let both = [
                        format!("{{name: \"n\", type: \"int\", int: {}, float: null, text: null}}", i64::MIN),
                        "{name: \"n\", type: \"int\", int: null, float: 0.5, text: \"half\"}".to_owned(),
                    ];
                    assert!(texts == if number % 2 == 1 { both.to_vec() } else { Vec::new() }, "{texts:?}");
                }
                Field::Long(value) => assert_eq!(*value, number, "{name}"),
                Field::TimestampMicros(value) => assert_eq!(*value, number, "{name}"),
                Field::Null if name == "arguments" => assert_eq!(number % 4, 0),
                Field::Null => assert_eq!(number % 3, 0, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn row_groups_have_half_a_million_rows() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 500_001);
    let reader = calls(folder.path());
    let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [500_000, 1]);
}

#[test]
fn no_column_is_unsigned_and_names_differ() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1);
    let reader = calls(folder.path());
    let schema = format!("{:?}", reader.metadata().file_metadata().schema());
    assert!(!schema.contains("is_signed: false") && !schema.contains("NANOS"), "{schema}");
    for table in table_schemas() {
        let mut names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.fields.len(), "{}", table.name);
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let tables = TablesFolder::open(folder.path()).unwrap();
    let mut writer = TablesWriter::begin(&tables, &name()).unwrap();
    assert!(matches!(TablesWriter::begin(&tables, &name()), Err(TablesError::Locked)));
    push(&mut writer, 1, &[]);
    drop(writer);
    assert!(!folder.path().join("calls").exists());
    write(folder.path(), 1);
    assert!(matches!(TablesWriter::begin(&tables, &name()), Err(TablesError::Present)));
}

#[test]
fn a_manifest_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1);
    let read = manifests(folder.path()).unwrap();
    assert_eq!(read[0].missing, ["it is cut off"]);
    // Those of earlier versions say nothing of it.
    let path = folder.path().join("_runs/run=a%2Fb%20c/rank=3/manifest.json");
    let earlier = std::fs::read_to_string(&path).unwrap().replace("\"missing\"", "\"other\"");
    std::fs::write(&path, earlier).unwrap();
    assert!(manifests(folder.path()).unwrap()[0].missing.is_empty());
}

#[test]
fn long_names_stay_different() {
    let path = |run: String| RunName { run, rank: 0 }.path();
    let (a, b) = (path("\u{e4}".repeat(120) + "a"), path("\u{e4}".repeat(120) + "b"));
    assert!(a != b && a.len() < 255, "{a}");
    assert_eq!(path("../x".to_owned()), "run=..%2Fx/rank=0");
}

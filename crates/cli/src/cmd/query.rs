//! `cutap query`: SQL on the tables of recordings. The engine is `cutap-query`, a program apart, since it is five times
//! as large as cutap and takes half an hour to build. It gets a request on standard input.

use super::export_tables::{self, TablesOptions, refused};
use crate::inputs::of_pid;
use crate::temporary_folder::TemporaryFolder;
use cutap_collect::{Error, Result, find_on_path, print_notice};
use cutap_report::{FieldType, SCHEMA_VERSION, table_schemas};
use cutap_tables::{QUESTIONS, RunManifest, VIEWS, is_tables_folder, manifests};
use cutap_trace::{Filter, printable};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program with the engine.
const ENGINE: &str = "cutap-query";
/// What is read without a RUN.
const DEFAULT_RUN: &str = "run.cutap";

#[derive(Debug, clap::Args)]
pub struct Query {
    /// Recordings, run directories or PIDs, or a folder of export --parquet; then the query. Without one, run.cutap
    #[arg(value_name = "[RUN|DIR]... SQL", required_unless_present = "list")]
    words: Vec<OsString>,
    #[command(flatten)]
    format: Format,
    /// Print tables, views, columns and worked questions
    #[arg(long, conflicts_with = "words")]
    list: bool,
}

/// How the answer is written; else a table for people.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Format {
    /// Comma-separated values
    #[arg(long)]
    csv: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Write the answer as a Parquet file
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
}

impl Query {
    pub fn run(self) -> Result<()> {
        if self.list {
            return print_list();
        }
        match self.answer()? {
            0 => Ok(()),
            // The engine has said what is wrong.
            code => std::process::exit(code),
        }
    }

    /// The exit status of the engine.
    fn answer(mut self) -> Result<i32> {
        let sql = self.words.pop().unwrap_or_default();
        let sql = sql.into_string().map_err(|_| Error::own("the query is not UTF-8; give it as text"))?;
        if Path::new(&sql).exists() {
            return Err(Error::own(format!(
                "{sql} is a file, and the last word is the query: cutap query {sql} 'select * from functions'; cutap \
                 query --list has worked ones"
            )));
        }
        let engine = engine()?;
        let runs: Vec<PathBuf> = match self.words.len() {
            0 => vec![DEFAULT_RUN.into()],
            _ => self.words.iter().map(PathBuf::from).collect(),
        };
        if let [folder] = &*runs
            && is_tables_folder(folder)
        {
            return self.query_tables(&engine, folder, None, &sql);
        }
        if let Some(folder) = runs.iter().find(|run| is_tables_folder(run)) {
            return Err(Error::own(format!(
                "{} is a folder of tables; give it alone, or export the recordings into it",
                folder.display()
            )));
        }
        let paths = runs.iter().map(|run| of_pid(run)).collect::<Result<Vec<_>>>()?;
        paths.iter().try_for_each(|run| crate::input::readable(run))?;
        let folder = TemporaryFolder::create(ENGINE)?;
        let options = TablesOptions { with_arguments: reads_arguments(&sql), is_quiet: true };
        // The tables have what could be read, and the user reads what is missing.
        if let Err(cut) = export_tables::export(folder.path(), &paths, &Filter::default(), options) {
            if !is_tables_folder(folder.path()) {
                return Err(cut);
            }
            print_notice(&cut.to_string());
        }
        self.query_tables(&engine, folder.path(), Some(&folder), &sql)
    }

    /// Hands the request to the engine. `made`: the folder is there for this query.
    fn query_tables(&self, engine: &Path, folder: &Path, made: Option<&TemporaryFolder>, sql: &str) -> Result<i32> {
        let runs = manifests(folder).map_err(|e| refused(folder, None, e))?;
        if let Some(run) = runs.iter().find(|run| run.schema != SCHEMA_VERSION) {
            return Err(Error::own(format!(
                "run {} in {} has tables of version {}, and this cutap reads version {SCHEMA_VERSION}; export the \
                 recording again",
                run.run,
                folder.display(),
                run.schema
            )));
        }
        if runs.is_empty() {
            let folder = folder.display();
            return Err(Error::own(format!(
                "{folder} has no run that is whole; cutap export --parquet {folder} RUN writes one"
            )));
        }
        // Of a folder that was made for this query the user has read it.
        if made.is_none() {
            missing_line(folder, &runs).iter().for_each(|line| print_notice(line));
        }
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let request = self.request(&folder, &runs, sql).to_string();
        let cannot_run = |e: io::Error| Error::own(format!("cannot run {}: {e}", engine.display()));
        let mut child = Command::new(engine).stdin(Stdio::piped()).spawn().map_err(cannot_run)?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ends early says why itself.
            let _ = stdin.write_all(request.as_bytes());
        }
        let status = match made {
            Some(made) => made.wait_for(child),
            None => child.wait(),
        };
        let status = status.map_err(cannot_run)?;
        let by_signal = || Error::own(format!("{ENGINE} ended by a {status}; ask for fewer rows or columns"));
        status.code().ok_or_else(by_signal)
    }

    fn request(&self, folder: &Path, runs: &[RunManifest], sql: &str) -> Value {
        let files = |table: &str| -> Vec<Value> {
            let of_run = |run: &RunManifest| {
                let files = run.files.iter().filter(|file| file.table == table && file.rows > 0);
                let file = |file: &cutap_tables::RunFile| {
                    json!({
                        "path": folder.join(&file.path), "run": run.run, "rank": run.rank, "rows": file.rows,
                        "bytes": file.bytes,
                    })
                };
                files.map(file).collect::<Vec<_>>()
            };
            runs.iter().flat_map(of_run).collect()
        };
        let tables: Vec<Value> = table_schemas()
            .iter()
            .map(|table| {
                let column = |field: &cutap_report::Field| json!({"name": field.name, "type": word(field.field_type)});
                let columns: Vec<Value> = table.fields.iter().map(column).collect();
                json!({"name": table.name, "columns": columns, "files": files(table.name)})
            })
            .collect();
        let views: Vec<Value> = VIEWS.iter().map(|view| json!({"name": view.name, "sql": view.sql})).collect();
        let format = match &self.format {
            Format { csv: true, .. } => "csv",
            Format { json: true, .. } => "json",
            Format { parquet: Some(_), .. } => "parquet",
            _ => "text",
        };
        json!({"tables": tables, "views": views, "sql": sql, "format": format, "file": self.format.parquet})
    }
}

/// One line about what the tables of a folder lack.
fn missing_line(folder: &Path, runs: &[RunManifest]) -> Option<String> {
    let lacks = |run: &RunManifest| Some((run.run.clone(), run.rank, run.missing.first()?.clone()));
    let mut lacking = runs.iter().filter_map(lacks);
    let (run, rank, sentence) = lacking.next()?;
    let first = printable(&format!("when run {run}, rank {rank}, was exported, {sentence}")).into_owned();
    let notes = format!("cutap query {} 'select run, rank, note from notes'", printable(&folder.to_string_lossy()));
    match (lacking.count(), runs.len()) {
        (0, _) => Some(first),
        (more, all) => Some(format!("{first}; {} of {all} runs lack something: {notes}", more + 1)),
    }
}

/// The engine's word for a type.
fn word(of: FieldType) -> &'static str {
    match of {
        FieldType::Number | FieldType::Measure => "integer",
        FieldType::Timestamp => "timestamp",
        FieldType::Boolean => "boolean",
        FieldType::Text => "text",
        FieldType::Arguments => "arguments",
    }
}

/// Whether a query may read arguments: without them the tables are written faster.
fn reads_arguments(sql: &str) -> bool {
    sql.to_ascii_lowercase().contains("arguments") || sql.replace("(*)", "").contains('*')
}

/// The engine beside this program, or in PATH.
fn engine() -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().map(|exe| exe.with_file_name(ENGINE)).filter(|path| path.is_file());
    beside.or_else(|| find_on_path(OsStr::new(ENGINE)).ok()).ok_or_else(|| {
        Error::own(
            "the program cutap-query is neither beside cutap nor in PATH; in cutap's sources, cargo install --path \
             crates/query builds it, and cutap export --parquet DIR writes the same tables for DuckDB",
        )
    })
}

/// Tables, views, columns, questions.
fn print_list() -> Result<()> {
    let mut text = String::from("Tables. Each has the columns run (text) and rank (integer) too.\n");
    for table in table_schemas() {
        let _ = writeln!(text, "\n{}: {}", table.name, table.meaning.replace('`', ""));
        for field in &table.fields {
            let meaning = field.meaning.replace('`', "");
            let _ = writeln!(text, "  {:<15} {:<10} {meaning}", field.name, word(field.field_type));
        }
    }
    text.push_str("\nViews\n");
    for view in VIEWS {
        let _ = writeln!(text, "\n-- {}\ncreate view {} as\n{}", view.meaning.replace('`', ""), view.name, view.sql);
    }
    text.push_str("\nQuestions\n");
    for question in QUESTIONS {
        let _ = writeln!(text, "\n-- {}\n{}", question.text, question.sql);
    }
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(cutap_collect::cannot("write to", Path::new("/dev/stdout"), &e, "give another place"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tables_lack_is_one_line() {
        let run = |rank, missing: &[&str]| RunManifest {
            schema: SCHEMA_VERSION,
            run: "job".to_owned(),
            rank,
            files: Vec::new(),
            missing: missing.iter().map(|sentence| (*sentence).to_owned()).collect(),
        };
        let of = |runs: &[RunManifest]| missing_line(Path::new("tables"), runs);
        assert_eq!(of(&[run(0, &[]), run(1, &[])]), None);
        let first = "when run job, rank 1, was exported, job.1.cutap is cut off";
        assert_eq!(of(&[run(0, &[]), run(1, &["job.1.cutap is cut off"])]).as_deref(), Some(first));
        let two = of(&[run(1, &["job.1.cutap is cut off"]), run(2, &["other\n"])]).unwrap();
        let rest = "2 of 2 runs lack something: cutap query tables 'select run, rank, note from notes'";
        assert_eq!(two, format!("{first}; {rest}"));
    }

    #[test]
    fn arguments_are_read_where_a_query_names_them_or_all() {
        assert!(reads_arguments("select ARGUMENTS from calls") && reads_arguments("select * from calls"));
        assert!(!reads_arguments("select function, count(*) from calls group by 1"));
    }
}

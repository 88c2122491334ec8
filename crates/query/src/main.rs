//! `cutap-query`: runs one SQL query on tables of Parquet files. `cutap query` starts it, and hands it a request on
//! standard input: which tables, views and files there are, the query, and how the answer is written.

mod answer;
mod failure;
mod file_table;
mod request;
mod sql_error;
mod text_table;

use failure::Failure;
use request::Request;
use std::io::Read;
use std::process::ExitCode;

/// The exit status of `cutap` for its own failures.
const FAILED: u8 = 125;
/// Planning recurses with the depth of the query.
const STACK: usize = 64 << 20;

fn main() -> ExitCode {
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(run);
    let result = worker.map_err(|e| e.to_string()).map(std::thread::JoinHandle::join);
    let message = match result {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(message))) | Err(message) => message,
        Ok(Err(_)) => "the query engine failed; please report this query".to_owned(),
    };
    eprintln!("cutap: {message}");
    ExitCode::from(FAILED)
}

fn run() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| format!("cannot read the request: {e}"))?;
    let request: Request = serde_json::from_str(&text)
        .map_err(|e| format!("cutap-query is started by cutap query, of the same version; the request has {e}"))?;
    let threads = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .build()
        .map_err(|e| format!("cannot start threads: {e}"))?;
    match threads.block_on(answer::answer(&request)) {
        // A pipe whose reader leaves is a clean end.
        Err(Failure::Output(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(Failure::Output(e)) => Err(format!("cannot write the answer: {e}")),
        Err(Failure::Query(e)) => Err(sql_error::message(&request.sql, &e)),
        Ok(()) => Ok(()),
    }
}

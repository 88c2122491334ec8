//! Why there is no answer.

use datafusion::error::DataFusionError;
use std::io;

/// The query or the file of the answer is at fault.
#[derive(Debug)]
pub enum Failure {
    Query(DataFusionError),
    Output(io::Error),
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Failure {
        Failure::Query(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

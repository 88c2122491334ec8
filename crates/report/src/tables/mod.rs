//! Tables of a run for engines that read columns: `calls`, `gpu`, `functions`, ... as rows of typed cells. The files
//! are made elsewhere.

mod allocated;
mod arguments;
mod calls;
mod collective;
mod column;
mod events;
mod function_sums;
mod groups;
mod open_calls;
mod page;
mod rows;

pub use column::{ArgumentCell, Cell, Field, FieldType, SCHEMA_VERSION, TableSchema, TableSink};
pub use page::tables_page;
pub use rows::{TableRows, table_schemas};

//! Typed columns of tables for engines that read columns. A new column is one entry in the list of its table: files,
//! their schema and the page of the reference follow from the lists.

use crate::call::columns::CallView;

/// The version of the schema. It changes when a column changes its meaning, its type or its name.
pub const SCHEMA_VERSION: u32 = 1;

/// The type of a column in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A signed number of 64 bits whose values are few.
    Number,
    /// A signed number of 64 bits whose values are many: times, ids, addresses.
    Measure,
    /// Microseconds since 1970, UTC.
    Timestamp,
    /// Yes or no.
    Boolean,
    /// Text.
    Text,
    /// A list of arguments: name, type, int, float, text.
    Arguments,
}

/// A column without the way to its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub field_type: FieldType,
    /// What it is, for the reference.
    pub meaning: &'static str,
}

/// A table without its rows.
#[derive(Debug, Clone)]
pub struct TableSchema {
    /// Its name, which is a noun of the command line.
    pub name: &'static str,
    /// What a row is.
    pub meaning: &'static str,
    /// Whether there is no table where there is no row.
    pub is_optional: bool,
    /// Its columns.
    pub fields: Vec<Field>,
}

/// A value.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// There is none.
    None,
    /// A number.
    Integer(i64),
    /// Yes or no.
    Boolean(bool),
    /// Text.
    Text(&'a str),
    /// Arguments.
    Arguments(&'a [ArgumentCell<'a>]),
}

/// An argument in a cell.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentCell<'a> {
    /// Name of the parameter.
    pub name: &'a str,
    /// Its type in C.
    pub type_name: &'a str,
    /// Its value, if it is a whole number, an address or a handle.
    pub int: Option<i64>,
    /// Its value, if it is no whole number.
    pub float: Option<f64>,
    /// Its value as text, if a number does not say all.
    pub text: Option<&'a str>,
}

/// A table: what its rows are, and its columns.
pub(crate) trait Table: 'static {
    type Row<'a>;
    const NAME: &'static str;
    const MEANING: &'static str;
    /// Whether there is no table where there is no row.
    const OPTIONAL: bool = false;
    const COLUMNS: &'static [TableColumn<Self>];
}

/// A column of a table.
pub(crate) struct TableColumn<T: Table + ?Sized> {
    pub field: Field,
    pub value: for<'a, 'r> fn(&'r T::Row<'a>) -> Cell<'r>,
}

impl<T: Table + ?Sized> TableColumn<T> {
    pub const fn new(
        name: &'static str,
        field_type: FieldType,
        meaning: &'static str,
        value: for<'a, 'r> fn(&'r T::Row<'a>) -> Cell<'r>,
    ) -> TableColumn<T> {
        TableColumn { field: Field { name, field_type, meaning }, value }
    }
}

/// The last column of each table: engines join ranks of many hosts by it.
const HOST: Field =
    Field { name: "host", field_type: FieldType::Text, meaning: "name of the host that it was recorded on" };

/// The schema of a table.
pub(crate) fn schema<T: Table>() -> TableSchema {
    let fields = T::COLUMNS.iter().map(|column| column.field).chain([HOST]).collect();
    TableSchema { name: T::NAME, meaning: T::MEANING, is_optional: T::OPTIONAL, fields }
}

impl<'a> Cell<'a> {
    /// A number. What is larger than a signed one wraps: addresses and words keep their bits.
    pub(crate) fn word(number: u64) -> Cell<'a> {
        Cell::Integer(number as i64)
    }
    pub(crate) fn number(number: Option<u64>) -> Cell<'a> {
        number.map_or(Cell::None, Cell::word)
    }
    pub(crate) fn text(text: Option<&'a str>) -> Cell<'a> {
        text.map_or(Cell::None, Cell::Text)
    }
}

/// Takes the rows of all tables.
pub trait TableSink {
    /// A row of the table with this number in `table_schemas`: its cells in the order of the columns. Rows are sorted
    /// by `order`: the thread and the time.
    ///
    /// # Errors
    /// It cannot be written.
    fn row<'c>(
        &mut self,
        table: usize,
        cells: impl Iterator<Item = Cell<'c>>,
        order: (u32, i64),
    ) -> std::io::Result<()>;
}

/// The id of the call in a view.
pub(crate) fn call_id(of: CallView<'_>) -> u64 {
    crate::nesting::nest::id(of.call)
}

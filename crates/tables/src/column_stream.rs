//! One table of runs as columns in memory order, for the Python module. Each batch is a line of JSON with the number of
//! rows and the lengths of its buffers. The buffers follow, each filled up to a multiple of 8 bytes. They are those of
//! Arrow's columnar format: validity bits, offsets of 32 bits, values in little endian.

use cutap_report::{ArgumentCell, Cell, FieldType, TableSchema, TableSink, table_schemas};
use serde_json::json;
use std::io::{self, Write};

/// Rows of a batch, and bytes of text in it: offsets have 32 bits.
const ROWS: usize = 1 << 16;
const BYTES: usize = 1 << 28;

/// Writes the rows of one table.
pub struct ColumnStream<W> {
    out: W,
    /// The number of the table in `table_schemas`.
    table: usize,
    columns: Vec<Column>,
    rows: usize,
}

/// Bits, one for each row.
#[derive(Debug, Default)]
struct Bits(Vec<u8>, usize);

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.1.is_multiple_of(8) {
            self.0.push(0);
        }
        if let (Some(last), true) = (self.0.last_mut(), bit) {
            *last |= 1 << (self.1 % 8);
        }
        self.1 += 1;
    }
}

/// Texts, one behind the other, and where each ends.
#[derive(Debug)]
struct Texts {
    valid: Bits,
    offsets: Vec<u8>,
    bytes: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { valid: Bits::default(), offsets: vec![0; 4], bytes: Vec::new() }
    }
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        self.valid.push(text.is_some());
        self.bytes.extend_from_slice(text.unwrap_or("").as_bytes());
        self.offsets.extend_from_slice(&(self.bytes.len() as u32).to_le_bytes());
    }

    fn buffers(&self) -> [&[u8]; 3] {
        [&self.valid.0, &self.offsets, &self.bytes]
    }
}

/// Values of 64 bits.
#[derive(Debug, Default)]
struct Words {
    valid: Bits,
    values: Vec<u8>,
}

impl Words {
    fn push(&mut self, word: Option<[u8; 8]>) {
        self.valid.push(word.is_some());
        self.values.extend_from_slice(&word.unwrap_or_default());
    }
}

/// Lists of arguments.
#[derive(Debug)]
struct Arguments {
    valid: Bits,
    offsets: Vec<u8>,
    count: u32,
    names: Texts,
    types: Texts,
    ints: Words,
    floats: Words,
    texts: Texts,
}

impl Arguments {
    fn push(&mut self, arguments: Option<&[ArgumentCell<'_>]>) {
        self.valid.push(arguments.is_some());
        for argument in arguments.unwrap_or(&[]) {
            self.names.push(Some(argument.name));
            self.types.push(Some(argument.type_name));
            self.ints.push(argument.int.map(i64::to_le_bytes));
            self.floats.push(argument.float.map(f64::to_le_bytes));
            self.texts.push(argument.text);
            self.count += 1;
        }
        self.offsets.extend_from_slice(&self.count.to_le_bytes());
    }
}

enum Column {
    Words(Words),
    Bools(Bits, Bits),
    Texts(Texts),
    Arguments(Box<Arguments>),
}

impl Column {
    fn new(of: FieldType) -> Column {
        match of {
            FieldType::Number | FieldType::Measure | FieldType::Timestamp => Column::Words(Words::default()),
            FieldType::Boolean => Column::Bools(Bits::default(), Bits::default()),
            FieldType::Text => Column::Texts(Texts::default()),
            FieldType::Arguments => Column::Arguments(Box::new(Arguments {
                valid: Bits::default(),
                offsets: vec![0; 4],
                count: 0,
                names: Texts::default(),
                types: Texts::default(),
                ints: Words::default(),
                floats: Words::default(),
                texts: Texts::default(),
            })),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match self {
            Column::Words(words) => {
                words.push(if let Cell::Integer(n) = cell { Some(n.to_le_bytes()) } else { None });
            }
            Column::Bools(valid, bits) => {
                valid.push(matches!(cell, Cell::Boolean(_)));
                bits.push(matches!(cell, Cell::Boolean(true)));
            }
            Column::Texts(texts) => texts.push(if let Cell::Text(text) = cell { Some(text) } else { None }),
            Column::Arguments(all) => all.push(if let Cell::Arguments(all) = cell { Some(all) } else { None }),
        }
    }

    /// Bytes of its texts.
    fn bytes(&self) -> usize {
        match self {
            Column::Texts(texts) => texts.bytes.len(),
            Column::Arguments(all) => all.names.bytes.len() + all.types.bytes.len() + all.texts.bytes.len(),
            Column::Words(_) | Column::Bools(..) => 0,
        }
    }

    fn buffers(&self) -> Vec<&[u8]> {
        match self {
            Column::Words(words) => vec![&words.valid.0, &words.values],
            Column::Bools(valid, bits) => vec![&valid.0, &bits.0],
            Column::Texts(texts) => texts.buffers().to_vec(),
            Column::Arguments(all) => {
                let mut buffers: Vec<&[u8]> = vec![&all.valid.0, &all.offsets];
                buffers.extend(all.names.buffers());
                buffers.extend(all.types.buffers());
                buffers.extend([&*all.ints.valid.0, &*all.ints.values, &*all.floats.valid.0, &*all.floats.values]);
                buffers.extend(all.texts.buffers());
                buffers
            }
        }
    }
}

/// The names of all tables.
#[must_use]
pub fn table_names() -> Vec<&'static str> {
    table_schemas().iter().map(|schema| schema.name).collect()
}

impl<W: Write> ColumnStream<W> {
    /// Begins with the line that has the columns. None: there is no table of this name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(name: &str, mut out: W) -> io::Result<Option<ColumnStream<W>>> {
        let schemas = table_schemas();
        let Some(table) = schemas.iter().position(|schema| schema.name == name) else { return Ok(None) };
        let schema = &schemas[table];
        let columns: Vec<_> = schema
            .fields
            .iter()
            .map(|field| json!({"name": field.name, "type": type_name(field.field_type), "meaning": field.meaning}))
            .collect();
        writeln!(out, "{}", json!({"table": name, "meaning": schema.meaning, "columns": columns}))?;
        Ok(Some(ColumnStream { out, table, columns: new_columns(schema), rows: 0 }))
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let buffers: Vec<&[u8]> = self.columns.iter().flat_map(Column::buffers).collect();
        let lengths: Vec<usize> = buffers.iter().map(|buffer| buffer.len()).collect();
        let arguments = self.columns.iter().find_map(|column| match column {
            Column::Arguments(all) => Some(all.count),
            _ => None,
        });
        writeln!(self.out, "{}", json!({"rows": self.rows, "arguments": arguments, "buffers": lengths}))?;
        for buffer in buffers {
            self.out.write_all(buffer)?;
            self.out.write_all(&[0; 8][..buffer.len().next_multiple_of(8) - buffer.len()])?;
        }
        self.columns = new_columns(&table_schemas()[self.table]);
        self.rows = 0;
        Ok(())
    }

    /// Writes the last rows, and the line that says that these are all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_batch()?;
        writeln!(self.out, "{}", json!({"end": true}))?;
        self.out.flush()
    }
}

fn new_columns(schema: &TableSchema) -> Vec<Column> {
    schema.fields.iter().map(|field| Column::new(field.field_type)).collect()
}

fn type_name(of: FieldType) -> &'static str {
    match of {
        FieldType::Number | FieldType::Measure => "int64",
        FieldType::Timestamp => "timestamp",
        FieldType::Boolean => "bool",
        FieldType::Text => "text",
        FieldType::Arguments => "arguments",
    }
}

impl<W: Write> TableSink for ColumnStream<W> {
    fn row<'c>(&mut self, table: usize, cells: impl Iterator<Item = Cell<'c>>, _: (u32, i64)) -> io::Result<()> {
        if table != self.table {
            return Ok(());
        }
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        self.rows += 1;
        if self.rows >= ROWS || self.columns.iter().any(|column| column.bytes() >= BYTES) {
            self.write_batch()?;
        }
        Ok(())
    }
}

//! The values of a column until the row group is written, in the order in which they came.

use cutap_report::{ArgumentCell, Cell, FieldType};
use foldhash::{HashMap, HashMapExt};
use parquet::data_type::ByteArray;

/// Memory of an argument.
const ARGUMENT_BYTES: usize = 32;

/// Different texts of a row group, each once. Number 0 stands for none.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<ByteArray>,
    /// What they hold, with the tables around them.
    bytes: usize,
    /// Where a text lay and its number: most rows have the same few texts in the same memory.
    recent: Vec<(usize, u32)>,
}

/// Places of texts that are remembered.
const RECENT: usize = 1024;

impl Texts {
    pub fn new() -> Texts {
        Texts { numbers: HashMap::new(), texts: vec![ByteArray::from("")], bytes: 0, recent: vec![(0, 0); RECENT] }
    }

    /// Forgets all texts, and has room for as many.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.texts.truncate(1);
        self.bytes = 0;
        self.recent.fill((0, 0));
    }

    fn number(&mut self, text: &str) -> u32 {
        let address = text.as_ptr() as usize;
        let place = (address ^ (address >> 10) ^ text.len()) % RECENT;
        // The memory may have another text by now.
        if let (before, number) = self.recent[place]
            && before == address
            && self.texts[number as usize].data() == text.as_bytes()
        {
            return number;
        }
        let number = self.searched(text);
        self.recent[place] = (address, number);
        number
    }

    fn searched(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(ByteArray::from(text));
        self.bytes += 2 * text.len() + 128;
        self.numbers.insert(text.into(), number);
        number
    }

    /// An estimate of the memory that they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn text(&self, number: u32) -> ByteArray {
        self.texts.get(number as usize).cloned().unwrap_or_default()
    }

    pub fn as_bytes(&self, number: u32) -> &[u8] {
        self.texts.get(number as usize).map_or(&[], ByteArray::data)
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }
}

/// The arguments of many calls, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct ArgumentColumn {
    /// Where those of each row begin and how many there are; none: null.
    pub rows: Vec<Option<(u32, u32)>>,
    pub names: Vec<u32>,
    pub types: Vec<u32>,
    pub ints: Vec<i64>,
    pub floats: Vec<f64>,
    pub texts: Vec<u32>,
    /// Bit 0: it has an int. Bit 1: it has a float.
    pub has: Vec<u8>,
}

impl ArgumentColumn {
    fn clear(&mut self) {
        self.rows.clear();
        self.names.clear();
        self.types.clear();
        self.ints.clear();
        self.floats.clear();
        self.texts.clear();
        self.has.clear();
    }

    fn push(&mut self, arguments: &[ArgumentCell<'_>], texts: &mut Texts) {
        self.rows.push(Some((self.names.len() as u32, arguments.len() as u32)));
        texts.bytes += arguments.len() * ARGUMENT_BYTES;
        for argument in arguments {
            self.names.push(texts.number(argument.name));
            self.types.push(texts.number(argument.type_name));
            self.ints.push(argument.int.unwrap_or(0));
            self.floats.push(argument.float.unwrap_or(0.0));
            self.texts.push(argument.text.map_or(0, |text| texts.number(text)));
            self.has.push(u8::from(argument.int.is_some()) | u8::from(argument.float.is_some()) << 1);
        }
    }
}

/// The values of a column.
#[derive(Debug)]
pub(crate) enum ColumnBuffer {
    /// Numbers, and which of them there are.
    Integers(Vec<i64>, Vec<bool>),
    /// 0: no, 1: yes, 2: null.
    Booleans(Vec<u8>),
    /// Numbers of texts.
    Texts(Vec<u32>),
    Arguments(ArgumentColumn),
}

impl ColumnBuffer {
    pub fn new(of: FieldType) -> ColumnBuffer {
        match of {
            FieldType::Number | FieldType::Measure | FieldType::Timestamp => {
                ColumnBuffer::Integers(Vec::new(), Vec::new())
            }
            FieldType::Boolean => ColumnBuffer::Booleans(Vec::new()),
            FieldType::Text => ColumnBuffer::Texts(Vec::new()),
            FieldType::Arguments => ColumnBuffer::Arguments(ArgumentColumn::default()),
        }
    }

    /// Forgets all values, and has room for as many.
    pub fn clear(&mut self) {
        match self {
            ColumnBuffer::Integers(values, known) => {
                values.clear();
                known.clear();
            }
            ColumnBuffer::Booleans(values) => values.clear(),
            ColumnBuffer::Texts(values) => values.clear(),
            ColumnBuffer::Arguments(column) => column.clear(),
        }
    }

    /// How many of the file's columns it is.
    pub fn file_columns(&self) -> usize {
        if let ColumnBuffer::Arguments(_) = self { 5 } else { 1 }
    }

    /// Adds a value. One of another type than the column's is none.
    #[inline]
    pub fn push(&mut self, cell: Cell<'_>, texts: &mut Texts) {
        match (self, cell) {
            (ColumnBuffer::Integers(values, known), cell) => {
                let value = if let Cell::Integer(value) = cell { Some(value) } else { None };
                values.push(value.unwrap_or(0));
                known.push(value.is_some());
            }
            (ColumnBuffer::Booleans(values), Cell::Boolean(value)) => values.push(value.into()),
            (ColumnBuffer::Booleans(values), _) => values.push(2),
            (ColumnBuffer::Texts(values), Cell::Text(text)) => values.push(texts.number(text)),
            (ColumnBuffer::Texts(values), _) => values.push(0),
            (ColumnBuffer::Arguments(column), Cell::Arguments(arguments)) => column.push(arguments, texts),
            (ColumnBuffer::Arguments(column), _) => column.rows.push(None),
        }
    }
}

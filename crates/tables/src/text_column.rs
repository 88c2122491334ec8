//! The column chunk of texts that repeat: a page with the different texts, and pages with their numbers. Texts are
//! numbers already, so this costs a few nanoseconds a row, where the general writer looks up each text again.

use crate::column_buffer::Texts;
use crate::run_length;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};

use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

/// Rows of a page.
const PAGE_ROWS: usize = 1 << 17;
/// Bytes of different texts at most: readers hold them all.
const DICTIONARY_BYTES: usize = 1 << 20;
/// Bytes of a text in statistics at most.
const LONGEST_BOUND: usize = 64;
/// The level of zstd, for all columns.
pub(crate) const ZSTD: i32 = 1;

/// The values of a column in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct TextLeaf {
    /// How much of the way to each value there is.
    pub definition: Vec<u8>,
    /// In a list: 0 for the first of a row, 1 for those behind it. Empty of a column without lists.
    pub repetition: Vec<u8>,
    /// The numbers of the texts that there are.
    pub numbers: Vec<u32>,
}

impl TextLeaf {
    /// Those of a column without lists. Number 0 stands for none.
    pub fn flat(values: &[u32], rows: &[u32]) -> TextLeaf {
        let of_rows = || rows.iter().map(|row| values[*row as usize]);
        TextLeaf {
            definition: of_rows().map(|number| u8::from(number != 0)).collect(),
            repetition: Vec::new(),
            numbers: of_rows().filter(|number| *number != 0).collect(),
        }
    }

    /// Where pages end. A row is in one page.
    fn pages(&self) -> Vec<std::ops::Range<usize>> {
        let (mut pages, mut from, all) = (Vec::new(), 0, self.definition.len());
        while from < all {
            let mut to = all.min(from + PAGE_ROWS);
            while self.repetition.get(to).is_some_and(|level| *level != 0) {
                to += 1;
            }
            pages.push(from..to);
            from = to;
        }
        pages
    }
}

/// Bits of a number up to this.
fn width(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Appends levels with their length in front.
fn levels(levels: &[u8], width: u32, page: &mut Vec<u8>) {
    let at = page.len();
    page.extend([0; 4]);
    run_length::encode(levels, width, page);
    let length = (page.len() - at - 4) as u32;
    page[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// The chunk: what it holds, and its bytes. None if the texts are too many for this form.
pub(crate) fn chunk(
    column: ColumnDescPtr,
    leaf: &TextLeaf,
    rows: usize,
    texts: &Texts,
) -> Result<Option<(Vec<u8>, ColumnCloseResult)>> {
    const UNSEEN: u32 = u32::MAX;
    let mut numbers = vec![UNSEEN; texts.len()];
    let mut different: Vec<u32> = Vec::new();
    let mut dictionary = Vec::new();
    let mut indices: Vec<u32> = Vec::with_capacity(leaf.numbers.len());
    for text in &leaf.numbers {
        let number = &mut numbers[*text as usize];
        if *number == UNSEEN {
            *number = different.len() as u32;
            different.push(*text);
            let bytes = texts.as_bytes(*text);
            dictionary.extend((bytes.len() as u32).to_le_bytes());
            dictionary.extend(bytes);
            if dictionary.len() > DICTIONARY_BYTES {
                return Ok(None);
            }
        }
        indices.push(*number);
    }
    let (full, is_list) = (column.max_def_level() as u8, column.max_rep_level() > 0);
    let nulls = (leaf.definition.len() - indices.len()) as u64;
    let mut to = TrackedWrite::new(Vec::new());
    let mut pages = Pages { writer: SerializedPageWriter::new(&mut to), zstd: compressor()?, sizes: (0, 0) };
    pages.write(dictionary, |buf| Page::DictionaryPage {
        buf,
        num_values: different.len() as u32,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })?;
    let data_offset = pages.sizes.1;
    // A width of no bits is allowed, but one bit is what all readers expect.
    let width_of_index = width(different.len().saturating_sub(1) as u32).max(1);
    let (mut from, mut data_pages) = (0, 0);
    for range in leaf.pages() {
        let definition = &leaf.definition[range.clone()];
        let count = definition.iter().filter(|level| **level == full).count();
        let mut page = Vec::new();
        if is_list {
            levels(&leaf.repetition[range], 1, &mut page);
        }
        levels(definition, width(full.into()), &mut page);
        page.push(width_of_index as u8);
        run_length::encode(&indices[from..from + count], width_of_index, &mut page);
        from += count;
        data_pages += 1;
        pages.write(page, |buf| Page::DataPage {
            buf,
            num_values: definition.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
    }
    let (uncompressed, compressed) = pages.sizes;
    // Long texts are no bounds: they would be in the end of the file, which all readers read.
    let bound = |number: Option<&u32>| {
        let text = number.map(|number| texts.as_bytes(*number)).filter(|text| text.len() <= LONGEST_BOUND);
        text.map(|text| ByteArray::from(text.to_vec()))
    };
    let least = bound(different.iter().min_by_key(|number| texts.as_bytes(**number)));
    let most = bound(different.iter().max_by_key(|number| texts.as_bytes(**number)));
    let page_kind = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
    let mut metadata = ColumnChunkMetaData::builder(column)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_page_encoding_stats(vec![
            page_kind(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
            page_kind(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, data_pages),
        ])
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_num_values(leaf.definition.len() as i64)
        .set_total_compressed_size(compressed)
        .set_total_uncompressed_size(uncompressed)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(data_offset);
    // The least and the greatest of all arguments help no reader to leave out rows.
    if !is_list {
        metadata = metadata.set_statistics(Statistics::byte_array(least, most, None, Some(nulls), false));
    }
    let metadata = metadata.build()?;
    let close = ColumnCloseResult {
        bytes_written: compressed as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok(Some((to.into_inner()?, close)))
}

fn compressor() -> Result<Compressor<'static>> {
    Compressor::new(ZSTD).map_err(ParquetError::from)
}

/// Pages of a chunk, one behind the other.
struct Pages<'a> {
    writer: SerializedPageWriter<'a, Vec<u8>>,
    zstd: Compressor<'static>,
    /// Their bytes with headers, before and after compression.
    sizes: (i64, i64),
}

impl Pages<'_> {
    fn write(&mut self, plain: Vec<u8>, page: impl FnOnce(bytes::Bytes) -> Page) -> Result<()> {
        let packed = self.zstd.compress(&plain)?;
        let written = self.writer.write_page(CompressedPage::new(page(packed.into()), plain.len()))?;
        self.sizes.0 += written.uncompressed_size as i64;
        self.sizes.1 += written.compressed_size as i64;
        Ok(())
    }
}

//! The text of `-e` as a filter; without a text every call is wanted.

use crate::base::error::{Error, Result};
use cutap_trace::Filter;

/// Parses it, with the parser's sentence if it is refused.
pub fn filter(text: Option<&str>) -> Result<Filter> {
    let parsed = text.map(Filter::parse).transpose();
    Ok(parsed.map_err(|e| Error::own(e.to_string()))?.unwrap_or_default())
}

//! Terms with conditions on arguments: `cuMemAlloc*[bytesize>1GiB]`.

use super::comparison::{Comparison, Term};
use super::parse::{Filter, split};
use super::refusal::FilterError;

impl Filter {
    /// Takes `of[conditions]`, with the closing bracket.
    pub(super) fn with_arguments(
        &mut self,
        is_wanted: bool,
        of: &str,
        conditions: &str,
        exported: &[&str],
    ) -> Result<(), FilterError> {
        let text = format!("{of}[{conditions}");
        let conditions = conditions.strip_suffix(']').ok_or_else(|| {
            FilterError(format!("{text} in the filter has no ] at its end; write it as cuMemAlloc*[bytesize>1GiB]"))
        })?;
        let mut functions = Filter::default();
        let picks = !of.is_empty() && functions.term(true, of, exported).map(|lookups| !lookups)?;
        if !picks || functions.rules.is_empty() {
            return Err(FilterError(format!(
                "[{conditions}] in the filter stands behind functions only; write it as cuMemAlloc*[bytesize>1GiB]"
            )));
        }
        let comparisons = split(conditions).map(|c| Comparison::parse(c.trim())).collect::<Result<_, _>>()?;
        if is_wanted {
            self.rules.push_str(&functions.rules);
        }
        self.unknown.append(&mut functions.unknown);
        self.arguments.push(Term { is_wanted, text, rules: functions.rules, comparisons });
        Ok(())
    }
}

//! The filter that a run was made with, as the default of readers. A run may have more calls than its filter wants:
//! the program decides by names, layers and libraries alone.

use super::parse::Filter;

impl Filter {
    /// The filter that a run was made with; of a run without one, all calls.
    pub fn of_the_run() -> Filter {
        Filter { or_filter_of_run: true, ..Filter::default() }
    }

    /// What is wanted of a run that was made with the filter of this text. A text that this version cannot read leaves
    /// nothing out.
    pub(crate) fn of_run(self, text: Option<String>) -> Filter {
        let default = text.filter(|_| self.or_filter_of_run).and_then(|text| Filter::parse(&text).ok());
        default.map_or(self, |filter| Filter { is_filter_of_run: true, ..filter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asked_for_nothing_gets_the_kept_one() {
        let of = |asked: Filter, text: Option<&str>| asked.of_run(text.map(str::to_owned)).text().to_owned();
        assert_eq!(of(Filter::of_the_run(), Some("error")), "error");
        assert_eq!(of(Filter::of_the_run(), None), "");
        assert_eq!(of(Filter::of_the_run(), Some("cudaMallok")), "", "refused today");
        assert_eq!(of(Filter::parse("driver").unwrap(), Some("error")), "driver");
        assert_eq!(of(Filter::default(), Some("error")), "");
    }
}

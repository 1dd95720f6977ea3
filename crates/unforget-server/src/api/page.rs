//! Pages by key: a page begins behind the last item of the previous page, whatever was added or removed meanwhile.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problem::{Done, Problem};

/// Default number of items per page.
const LIMIT: usize = 50;

/// Most items per page.
pub(super) const LIMIT_MAX: usize = 500;

/// The requested page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paged {
    /// Most items on the page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// End of the previous page: `after` of its `next`.
    after: Option<String>,
}

impl Paged {
    pub(super) fn limit(&self) -> Done<usize> {
        match self.limit.unwrap_or(LIMIT) {
            limit @ 1..=LIMIT_MAX => Ok(limit),
            limit => Err(Problem::bad(format!("`limit` is {limit}; it has to be from 1 to {LIMIT_MAX}"))),
        }
    }

    /// End of the previous page, as numbers.
    pub(super) fn after<const N: usize>(&self) -> Done<Option<[i64; N]>> {
        let Some(after) = &self.after else { return Ok(None) };
        let numbers: Result<Vec<i64>, _> = after.split('.').map(str::parse).collect();
        let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
        numbers.map(Some).ok_or_else(|| {
            Problem::bad("`after` is no place in this list; take it from `next` of the page before")
        })
    }
}

/// A page.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Page<T> {
    /// Its items.
    items: Vec<T>,
    /// `after` of the next page; null if this is the last.
    after: Option<String>,
    /// The next page; null if this is the last.
    next: Option<String>,
}

impl<T> Page<T> {
    /// A page of the items behind its beginning.
    ///
    /// * `path` - of the route, with the rest of its query, if any.
    /// * `rest` - the items in order; one more than the limit suffices.
    /// * `key` - the key by which the next page finds the end of this one.
    pub(super) fn new<R>(
        path: &str,
        limit: usize,
        rest: impl IntoIterator<Item = R>,
        key: impl Fn(&R) -> String,
        show: impl Fn(&R) -> T,
    ) -> Self {
        let mut rest = rest.into_iter();
        let rows: Vec<R> = rest.by_ref().take(limit).collect();
        let after = rest.next().and_then(|_| rows.last()).map(key);
        let sign = if path.contains('?') { '&' } else { '?' };
        let next = after.as_ref().map(|after| format!("{path}{sign}limit={limit}&after={after}"));
        Self { items: rows.iter().map(show).collect(), after, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(limit: usize, all: &[u64]) -> (Vec<u64>, Option<String>) {
        let page = Page::new("/x", limit, all, ToString::to_string, |one| **one);
        (page.items, page.next)
    }

    #[allow(clippy::type_complexity, reason = "a table")]
    #[test]
    fn pages_table() {
        let table: [(usize, &[u64], &[u64], Option<&str>, &str); 4] = [
            (2, &[], &[], None, "nothing"),
            (2, &[5, 6], &[5, 6], None, "all of it"),
            (2, &[5, 6, 7], &[5, 6], Some("/x?limit=2&after=6"), "more behind it"),
            (1, &[5, 6, 7], &[5], Some("/x?limit=1&after=5"), "one at a time"),
        ];
        for (limit, all, items, next, why) in table {
            assert_eq!(page(limit, all), (items.to_vec(), next.map(str::to_owned)), "{why}");
        }
    }

    #[test]
    fn what_is_no_page_is_told() {
        for after in ["", "x", "1", "1.2.3", "1.", "99999999999999999999.1"] {
            let paged = Paged { limit: None, after: Some(after.to_owned()) };
            assert!(paged.after::<2>().is_err(), "{after}");
        }
        for limit in [0, LIMIT_MAX + 1] {
            assert!(Paged { limit: Some(limit), after: None }.limit().is_err(), "{limit}");
        }
    }
}

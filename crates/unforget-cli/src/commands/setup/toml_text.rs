//! Edits TOML as text: a table of ours stands at the end, everything else keeps its bytes.

use toml::{Table, Value};

/// Proves that a text is TOML.
///
/// # Errors
/// What is wrong, with its place.
pub(super) fn check(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|error| error.to_string().trim().to_owned())
}

/// The value at a path of keys.
pub(super) fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// The text with a table at its end.
///
/// * `block` - header and lines of the table.
pub(super) fn put(text: &str, block: &str) -> String {
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{text}{gap}{block}")
}

/// The text without the table, and without the empty line before it. The text itself if the table is not there as it was written.
pub(super) fn take(text: &str, block: &str) -> String {
    let Some((before, behind)) = text.split_once(block) else { return text.to_owned() };
    let before =
        before.strip_suffix("\n\n").map_or_else(|| before.to_owned(), |before| format!("{before}\n"));
    format!("{before}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_put_in_and_taken_out() {
        let block = "[mcp_servers.unforget]\ncommand = \"unforget\"\n";
        for text in ["", "model = \"x\" # mine\n", "[mcp_servers.other]\ncommand = 'y'\n"] {
            let put = put(text, block);
            assert!(at(&check(&put).unwrap(), &["mcp_servers", "unforget", "command"]).is_some(), "{put}");
            assert_eq!(take(&put, block), text);
        }
        assert!(check(&put("mcp_servers = {}\n", block)).is_err(), "an inline table takes no more");
        assert!(check("a = \n").unwrap_err().contains("line 1"));
    }
}

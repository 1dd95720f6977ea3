//! The number of pieces of a body, before anything is made of it.

/// Number of objects and lists of a JSON text. Whatever is not JSON has some number too.
///
/// What a message costs in memory depends on its pieces more than on its bytes: an empty one has thirty bytes and takes
/// two thousand.
///
/// Cost: one pass over the bytes, no allocation.
pub fn pieces(body: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in body {
        if is_text {
            is_text = *byte != b'"' || is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'{' | b'[' => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_table() {
        let table = [
            ("", 0, "nothing"),
            ("{}", 1, "an object"),
            (r#"{"messages":[{"role":"user","content":""}]}"#, 3, "a call"),
            (r#"{"a":"{[{["}"#, 1, "text"),
            (r#"{"a":"\"{","b":[]}"#, 2, "an escaped quote"),
            (r#"{"a":"\\","b":[]}"#, 2, "an escaped backslash at the end"),
            ("[[[[", 4, "what is no JSON"),
        ];
        for (body, want, why) in table {
            assert_eq!(pieces(body.as_bytes()), want, "{why}: {body}");
        }
    }
}

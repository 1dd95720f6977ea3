//! Width and height of an image, from the first bytes of its base64 text.

/// Most segments of a JPEG file to inspect before its frame.
const SEGMENTS_MAX: usize = 1_000;

/// Width and height in pixels of a PNG, GIF, WebP or JPEG; `None` if the bytes do not contain them.
///
/// Cost: reads a few bytes, for JPEG a few per segment; the text is never decoded as a whole.
pub(crate) fn of_base64(data: &str) -> Option<(u32, u32)> {
    let bytes = Base64(data.as_bytes());
    match [bytes.at(0)?, bytes.at(1)?, bytes.at(2)?, bytes.at(3)?] {
        [0x89, b'P', b'N', b'G'] => Some((bytes.number(16, 4, true)?, bytes.number(20, 4, true)?)),
        [b'G', b'I', b'F', b'8'] => Some((bytes.number(6, 2, false)?, bytes.number(8, 2, false)?)),
        [b'R', b'I', b'F', b'F'] => webp(bytes),
        [0xff, 0xd8, 0xff, _] => jpeg(bytes),
        _ => None,
    }
}

fn webp(bytes: Base64<'_>) -> Option<(u32, u32)> {
    match bytes.at(15)? {
        b'X' => Some((bytes.number(24, 3, false)? + 1, bytes.number(27, 3, false)? + 1)),
        b'L' => {
            let bits = bytes.number(21, 4, false)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => Some((bytes.number(26, 2, false)? & 0x3fff, bytes.number(28, 2, false)? & 0x3fff)),
    }
}

fn jpeg(bytes: Base64<'_>) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..SEGMENTS_MAX {
        if bytes.at(at)? != 0xff {
            return None;
        }
        let is_frame = matches!(bytes.at(at + 1)?, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf);
        if is_frame {
            return Some((bytes.number(at + 7, 2, true)?, bytes.number(at + 5, 2, true)?));
        }
        at += 2 + bytes.number(at + 2, 2, true)? as usize;
    }
    None
}

/// Base64 text, read byte by byte.
#[derive(Clone, Copy)]
struct Base64<'a>(&'a [u8]);

impl Base64<'_> {
    fn at(self, index: usize) -> Option<u8> {
        let first = index / 3 * 4 + index % 3;
        let (high, low) = (sextet(*self.0.get(first)?)?, sextet(*self.0.get(first + 1)?)?);
        let shift = 2 * (index % 3 + 1);
        Some((u32::from(high) << shift | u32::from(low) >> (6 - shift)) as u8)
    }

    /// `count` bytes as a number, most significant first if `big`.
    fn number(self, from: usize, count: usize, big: bool) -> Option<u32> {
        let mut number = 0;
        for step in 0..count {
            let index = if big { step } else { count - 1 - step };
            number = number << 8 | u32::from(self.at(from + index)?);
        }
        Some(number)
    }
}

const fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f064_sizes_are_read_from_the_bytes() {
        let table = [
            ("iVBORw0KGgoAAAANSUhEUgAAB9AAAAAyCAIAAAA=", Some((2000, 50)), "png"),
            ("R0lGODlhgAJoAQAA", Some((640, 360)), "gif"),
            ("UklGRgAAAABXRUJQVlA4WAoAAAAAAAAAfwIAZwEA", Some((640, 360)), "webp, extended"),
            ("/9j/4AAQSkZJRgABAQAAAQABAAD/wAARCAHgAoADASIA", Some((640, 480)), "jpeg behind a segment"),
            ("iVBORw0KGgo=", None, "cut off"),
            ("/9j/4AAQ", None, "cut off"),
            ("Qk0=", None, "another type"),
            ("", None, "nothing"),
            ("日本", None, "no base64"),
        ];
        for (data, want, why) in table {
            assert_eq!(of_base64(data), want, "{why}");
        }
    }
}

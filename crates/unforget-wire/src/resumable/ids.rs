//! Ids and times in the spelling of hosts, made from a seed.

use jiff::tz::TimeZone;
use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;

/// Letters of opencode's ids.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The digest of a number under a seed.
fn numbered(seed: Digest, number: u64) -> Digest {
    let mut bytes = [0; 40];
    bytes.iter_mut().zip(seed.0.into_iter().chain(number.to_le_bytes())).for_each(|(to, from)| *to = from);
    Digest::of(&bytes)
}

/// A UUID of version 4 in form.
pub(super) fn uuid(seed: Digest, number: u64) -> String {
    spelled(0x4000, numbered(seed, number))
}

/// A UUID of version 7: its first digits are a time.
pub(super) fn timed_uuid(seed: Digest, number: u64, time: Timestamp) -> String {
    let text = spelled(0x7000, numbered(seed, number));
    let time = format!("{:012x}", time.0.max(0) & 0xffff_ffff_ffff);
    let (high, low) = time.split_at(8);
    format!("{high}-{low}{}", text.get(13..).unwrap_or_default())
}

/// * `version` - as the first digit of four.
fn spelled(version: u16, digest: Digest) -> String {
    let hex = digest.hex();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let number = |from: usize, to: usize| u16::from_str_radix(part(from, to), 16).unwrap_or_default();
    let third = version | number(12, 16) & 0x0fff;
    let fourth = 0x8000 | number(16, 20) & 0x3fff;
    format!("{}-{}-{third:04x}-{fourth:04x}-{}", part(0, 8), part(8, 12), part(20, 32))
}

/// Eight hexadecimal digits.
pub(super) fn short(seed: Digest, number: u64) -> String {
    numbered(seed, number).hex().get(..8).unwrap_or_default().to_owned()
}

/// An id of opencode: it ascends with time and number, as opencode's own do.
///
/// Source: opencode 1.18.33, `id/id.ts`: 48 bits of the time in 4,096ths of a millisecond, and 14 letters.
pub(super) fn ascending(prefix: &str, seed: Digest, number: u64, time: Timestamp) -> String {
    let at = (time.0.max(0) as u64).wrapping_mul(0x1000).wrapping_add(number) & 0xffff_ffff_ffff;
    let letters = numbered(seed, number).0;
    let letters = letters.iter().take(14).map(|byte| LETTERS.get(usize::from(*byte) % 62).copied());
    let letters: String = letters.map(|letter| char::from(letter.unwrap_or(b'0'))).collect();
    format!("{prefix}_{at:012x}{letters}")
}

/// `2026-03-02T09:00:00.000Z`.
pub(super) fn iso(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(time.0).unwrap_or_default();
    moment.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_spelled_as_hosts_spell_them() {
        let (seed, time) = (Digest::of(b"seed"), Timestamp(1_772_442_000_123));
        let four = uuid(seed, 1);
        assert_eq!((four.len(), four.get(14..15), four.get(23..24)), (36, Some("4"), Some("-")), "{four}");
        let seven = timed_uuid(seed, 1, time);
        assert!(seven.starts_with("019cadc6-9afb-") && seven.get(14..15) == Some("7"), "{seven}");
        assert_eq!(seven.len(), 36);
        assert_eq!(short(seed, 7).len(), 8);
        let ids: Vec<String> = (0..5_000).map(|number| ascending("msg", seed, number, time)).collect();
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 30), "{:?}", ids.first());
        assert!(ids.last() < Some(&ascending("msg", seed, 5_000, Timestamp(time.0 + 1))));
        assert_eq!(iso(time), "2026-03-02T09:00:00.123Z");
        assert_ne!(uuid(seed, 1), uuid(seed, 2));
        assert_eq!(uuid(seed, 1), uuid(seed, 1));
    }
}

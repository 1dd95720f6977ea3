//! The checks of scans.

use unforget_core::digest::Digest;
use unforget_core::id::Seq;

use super::tape::Tape;
use crate::error::StoreError;
use crate::port::{BlobBytes, Holed, Scan, Store};
use crate::unpack::Scratch;

/// A scan sees every byte of a chunk, in each of its modes.
pub(super) fn scans_see_all(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["first", "a#####c", "last"]);
    let mut scratch = Scratch::default();
    let whole = store.chunk(tape.id, 0).unwrap();
    let raw = store.raw(tape.id, 0..3).unwrap();
    // Asked once without places, then with them.
    let (mut asked, mut pieces, mut bodies) = (0, Vec::new(), Vec::new());
    let mut wants = |bytes: &[u8], places: Option<&[std::ops::Range<usize>]>| {
        asked += 1;
        assert_eq!(bytes, whole.bytes);
        let places = places?;
        pieces.extend(places.iter().flat_map(|place| bytes[place.clone()].to_vec()));
        assert!(whole.entries.iter().all(|(_, body)| places.contains(body)), "bodies by themselves");
        Some(false)
    };
    let mut each = |row: &crate::EntryRow, body: &[u8]| bodies.push((row.seq.0, body.to_vec()));
    let mut closed = Vec::new();
    let mut wants_whole = |seq: Seq, body: &[u8]| {
        closed.push((seq.0, body.to_vec()));
        true
    };
    let seqs = [Seq(0), Seq(1), Seq(9)];
    let holed = Holed { seqs: &seqs, wants: &mut wants_whole, each: &mut each };
    let scan = Scan { wants: &mut wants, holed: Some(holed) };
    let scanned = store.scan(tape.id, 0, &mut scratch, scan).unwrap();
    assert_eq!((scanned.entries, scanned.chunk.is_none(), asked), (3, true, 2));
    assert_eq!(pieces, whole.bytes, "the places are all of the chunk");
    assert_eq!(bodies, [(1, raw[1].body.clone())], "entries with holes come whole");
    assert_eq!(closed, [(1, b"ac".to_vec())], "only those that are there and have holes are asked for");
    let mut unwanted = |_: &crate::EntryRow, _: &[u8]| panic!("not wanted");
    let holed = Holed { seqs: &seqs, wants: &mut |_, _| false, each: &mut unwanted };
    let none = Scan { wants: &mut |_, _| Some(false), holed: Some(holed) };
    assert!(store.scan(tape.id, 0, &mut scratch, none).unwrap().chunk.is_none());
    let all = Scan { wants: &mut |_, _| Some(true), holed: None };
    let found = store.scan(tape.id, 0, &mut scratch, all).unwrap().chunk.unwrap();
    assert_eq!((found.bytes, found.entries), (whole.bytes.clone(), whole.entries.clone()));
    let none = Scan { wants: &mut |_, _| Some(true), holed: None };
    let missing = store.scan(tape.id, 99, &mut scratch, none);
    assert!(matches!(missing, Err(StoreError::Missing { .. })));

    let large = Digest::of(b"#####");
    let mut seen = Vec::new();
    let holders = store.scan_blob(tape.id, large, &mut scratch, &mut |bytes| {
        seen = bytes.to_vec();
        true
    });
    assert_eq!(BlobBytes { bytes: seen, holders: holders.unwrap() }, store.blob(tape.id, large).unwrap());
    assert_eq!(store.scan_blob(tape.id, large, &mut scratch, &mut |_| false).unwrap(), []);
}

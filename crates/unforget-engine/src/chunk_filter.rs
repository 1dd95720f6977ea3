//! The grep filter of stored bytes.

/// The filter of the bytes of a chunk or blob, for [`unforget_store::Packer`]: which substrings they cannot hold.
pub fn filter(bytes: &[u8]) -> Vec<u8> {
    unforget_recall::filter::build(bytes)
}

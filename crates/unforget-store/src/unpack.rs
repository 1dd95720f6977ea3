//! Unpacks frames of chunks and blobs into bytes.

use std::fmt;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, get_error_name};

use crate::pack::{CHUNK_BYTES, Dictionary};
use crate::spare::Spare;

/// For frames with a dictionary and without.
static CONTEXTS: Spare<DCtx<'static>> = Spare::new();

/// Working memory of scans: one per thread, reused by the caller from one chunk or blob to the next.
#[derive(Default)]
pub struct Scratch {
    decoder: Decoder,
    /// Bytes of the current chunk or blob.
    pub(crate) bytes: Vec<u8>,
}

impl Scratch {
    /// Decompresses a frame into `self.bytes`. See [`Decoder::decode`].
    pub(crate) fn decode(
        &mut self,
        data: &[u8],
        raw_len: u64,
        dictionary: Option<&Dictionary>,
    ) -> Result<(), String> {
        // One giant entry must not keep its memory for the rest of the scan.
        if self.bytes.capacity() > 2 * CHUNK_BYTES {
            self.bytes = Vec::new();
        }
        self.decoder.decode(data, raw_len, dictionary, &mut self.bytes)
    }

    /// A second value that borrows the decoder until [`Scratch::rejoin`].
    pub(crate) fn beside(&mut self) -> Self {
        Self { decoder: std::mem::take(&mut self.decoder), bytes: Vec::new() }
    }

    /// Takes the decoder back.
    pub(crate) fn rejoin(&mut self, other: Self) {
        self.decoder = other.decoder;
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// Decompresses frames, reusing zstd's working memory.
#[derive(Default)]
pub(crate) struct Decoder {
    context: Option<DCtx<'static>>,
}

impl Decoder {
    /// Decompresses a frame of exactly `raw_len` bytes into `out`, replacing its content.
    ///
    /// # Errors
    /// A description of the defect: a broken frame, a wrong length, a wrong checksum.
    pub(crate) fn decode(
        &mut self,
        data: &[u8],
        raw_len: u64,
        dictionary: Option<&Dictionary>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        // A damaged length must not make us reserve the memory that it claims. zstd's best ratio is 128 KiB from 4
        // bytes.
        let bound = Decompressor::upper_bound(data).unwrap_or(0) as u64;
        let bound = bound.min((data.len() as u64).saturating_mul(32 * 1024));
        if raw_len > bound {
            return Err(format!("frame holds at most {bound} bytes, not {raw_len}"));
        }
        out.clear();
        out.reserve_exact(raw_len as usize);
        let context = match &mut self.context {
            Some(context) => context,
            none => {
                let context = CONTEXTS.take().or_else(DCtx::try_create);
                none.insert(context.ok_or("there is no memory to decompress with")?)
            }
        };
        let decoded = match dictionary {
            Some(dictionary) => context.decompress_using_ddict(out, data, dictionary.decoder.as_ddict()),
            None => context.decompress(out, data),
        };
        decoded.map_err(|code| format!("cannot be decompressed: {}", get_error_name(code)))?;
        if out.len() as u64 != raw_len {
            return Err(format!("decompressed to {} bytes, not {raw_len}", out.len()));
        }
        Ok(())
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        CONTEXTS.keep(self.context.take());
    }
}

/// Decompresses one frame. See [`Decoder::decode`].
pub(crate) fn decode(data: &[u8], raw_len: u64, dictionary: Option<&Dictionary>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    Decoder::default().decode(data, raw_len, dictionary, &mut out)?;
    Ok(out)
}

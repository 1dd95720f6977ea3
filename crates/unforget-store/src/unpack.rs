//! Unpacks frames of chunks and blobs into bytes.

use std::fmt;

use unforget_core::digest::Digest;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, get_error_name};

use crate::pack::{CHUNK_BYTES, Dictionary};
use crate::spare::Spare;

/// A value, or a description of the damage in the stored bytes.
pub type Checked<T> = Result<T, String>;

/// For frames with a dictionary and without.
static CONTEXTS: Spare<DCtx<'static>> = Spare::new();

/// Working memory of scans: one per thread, reused by the caller from one chunk or blob to the next.
#[derive(Default)]
pub struct Scratch {
    decoder: Decoder,
    /// Bytes of the current chunk or blob.
    pub bytes: Vec<u8>,
}

impl Scratch {
    /// Decompresses a frame of exactly `raw_len` bytes into `self.bytes`.
    ///
    /// # Errors
    /// A description of the defect: a broken frame, a wrong length, a wrong checksum.
    pub fn decode(
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
    #[must_use]
    pub fn beside(&mut self) -> Self {
        Self { decoder: std::mem::take(&mut self.decoder), bytes: Vec::new() }
    }

    /// Takes the decoder back.
    pub fn rejoin(&mut self, other: Self) {
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

/// Puts the large parts back into a body.
///
/// * `holes` - offsets in the result, ascending.
pub fn fill(body: &[u8], holes: &[(u64, Vec<u8>)]) -> Checked<Vec<u8>> {
    let total = body.len() + holes.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let mut whole = Vec::with_capacity(total);
    let mut rest = body;
    for (at, bytes) in holes {
        let before = usize::try_from(*at).ok().and_then(|at| at.checked_sub(whole.len()));
        let Some((piece, after)) = before.and_then(|before| rest.split_at_checked(before)) else {
            return Err(format!("its large part at byte {at} is out of place"));
        };
        whole.extend_from_slice(piece);
        whole.extend_from_slice(bytes);
        rest = after;
    }
    whole.extend_from_slice(rest);
    Ok(whole)
}

/// Decompresses a blob and checks it against its digest.
pub fn open_blob(wanted: Digest, raw_len: u64, data: &[u8], scratch: &mut Scratch) -> Checked<()> {
    scratch.decode(data, raw_len, None).map_err(|detail| format!("blob {wanted:?} {detail}"))?;
    if Digest::of(&scratch.bytes) == wanted {
        Ok(())
    } else {
        Err(format!("blob {wanted:?} has other content"))
    }
}

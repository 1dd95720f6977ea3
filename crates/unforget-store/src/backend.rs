//! Parts of stores, for the databases of other crates: what an append carries, how stored bytes become entries again,
//! and the numbers and seals that every database keeps.

pub use crate::chain_walk::{ChainBefore, OTHER_BYTES, OTHER_PLACE, bytes_kind};
pub use crate::codes::*;
pub use crate::counters::{AddedPath, Counters};
pub use crate::extents::{Extent, Extents, PathDefect};
pub use crate::pack::{PackedBlob, PackedChunk, PackedEntry, PackedParts, chunk_spans, compress};
pub use crate::sources::{decode_sources, encode_sources};
pub use crate::stored::{CONTENT_BYTES, Stored, damaged, join_content};
pub use crate::unpack::{Checked, fill, open_blob};

//! Sizes of recalled text in a prompt: the block before the newest question, and the tools that a model is offered. All in
//! tokens unless the name says otherwise.

/// Most tokens of the recall block, including its framing.
pub const RECALL_BLOCK_MAX: u64 = 1_000;

/// Framing of the recall block.
pub const RECALL_BLOCK_FRAME: u64 = 64;

/// Most answers per call in which the model may call our tools.
pub const RECALL_ANSWERS_MAX: u32 = 4;

/// Most of our calls that are run per answer.
pub const RECALL_CALLS_MAX: usize = 8;

/// Share of the message budget for calls of our tools and their results, as one over this.
pub const RECALL_PART: u64 = 6;

/// Least useful room for calls of our tools and their results.
pub const RECALL_ROOM_MIN: u64 = 1_000;

/// Most room for calls of our tools and their results.
pub const RECALL_ROOM_MAX: u64 = 16_000;

/// Least useful result.
pub const RECALL_RESULT_MIN: u64 = 300;

/// Framing of a call and its result.
pub const RECALL_CALL_FRAME: u64 = 64;

/// Most characters of arguments in the record of a call.
pub const RECALL_NOTED_CHARS: usize = 400;

//! The tools by which a model recalls its own conversation.

use unforget_core::entry::ToolCall;
use unforget_engine::Engine;
use unforget_wire::exchange::Offer;

/// Recall tools, which the gateway offers to a model and runs for it.
///
/// The tools belong to another crate: the MCP server has them too, and the gateway only carries the calls.
pub trait RecallTools: Send + Sync {
    /// Prefix of the names of all tools.
    fn prefix(&self) -> &str;

    /// The tools in the order in which a model sees them.
    fn offers(&self) -> Vec<Offer>;

    /// Runs a call. Returns the result, or as an error the defect of the call with advice.
    ///
    /// * `engine` - an engine limited to what the model may read.
    /// * `tokens` - approximate limit of the result.
    fn run(&self, call: &ToolCall, engine: Engine, tokens: u64) -> Result<String, String>;
}

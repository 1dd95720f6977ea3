//! Small transcripts that tests of several crates share.

/// A pi session: two turns, a call with its result, and a half-written last line.
pub const PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"aaaa1111-0000-4000-8000-000000000001","timestamp":"2026-03-02T08:30:00.000Z","cwd":"/srv/x"}"#,
    "\n",
    r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-03-02T08:31:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Where does the heron nest? Never touch the boathouse."}],"timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-03-02T08:31:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"ls reeds"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":2}}"#,
    "\n",
    r#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-03-02T08:31:06.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"bash","content":[{"type":"text","text":"nest-7741\neggs"}],"isError":false,"timestamp":3}}"#,
    "\n",
    r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-03-02T08:31:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It nests in the reeds, nest-7741."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":4}}"#,
    "\n",
    r#"{"type":"message","id":"00000005","parentId":"00000004","timestamp":"2026-03-02T09:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Thank you."}],"timestamp":5}}"#,
    "\n",
    r#"{"type":"message","id":"00000006","parentId":"000000"#,
);

/// Key of the conversation in [`PI`].
pub const PI_KEY: &str = "pi:aaaa1111-0000-4000-8000-000000000001";

//! MCP over HTTP on a free port of this machine, for tests with clients of other languages.
//!
//! `mcp_http DATABASE` prints its address and serves until stdin ends.

use std::io::Read as _;
use std::path::PathBuf;

use axum::Router;
use tokio::net::TcpListener;
use unforget_engine::Engine;
use unforget_server::mcp::{HttpLimits, Memory, RecallScope, service};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("mcp_http DATABASE")?.into();
    let memory = Memory::new(Engine::open_reader(&path)?, RecallScope::All);
    // Web pages of this machine, such as the inspector's, may call the server; others may not.
    let origins = ["http://localhost:*", "http://127.0.0.1:*"].map(str::to_owned).into();
    let limits = HttpLimits { origins, ..HttpLimits::default() };
    let app = Router::new().route_service("/mcp", service(&memory, Some(&limits)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let end = async {
        // The server is not needed any more, whatever the reason for the end of stdin.
        ended.await.ok();
    };
    axum::serve(listener, app).with_graceful_shutdown(end).await?;
    Ok(())
}

//! `dwell mcp`: a Model Context Protocol server on standard input and output.
//!
//! It reads no result itself. Each answer is made by a child, `dwell report … --format json`, which is confined as that command
//! always is, begins in the held folder of the result, and can hang or die without harm to the server. What the child prints is
//! bounded, cleaned of characters that steer terminals, and wrapped as data ([`answer`]). The server itself has given up all rights
//! of Dwell's file, and understands three things: its client, names of folders, and JSON.

mod answer;
mod arguments;
mod child;
mod collection;
mod listing;
mod refusal;
mod results;
mod server;
mod tools;

use std::process::ExitCode;

use rmcp::ServiceExt;
use rmcp::transport::stdio;

use crate::args::McpArgs;
use crate::error::{Hinted, Result};
use results::ResultsFolder;
use server::AgentServer;

/// Serves until standard input ends.
pub fn run(args: &McpArgs) -> Result<ExitCode> {
    if args.list {
        return listing::print(&args.results).map(|()| ExitCode::SUCCESS);
    }
    let results = ResultsFolder::open(&args.results)?;
    let server = AgentServer::new(results, args.allow_collect)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Hinted::new(format!("cannot start: {error}")))?;
    let served = runtime.block_on(serve(server));
    // A thread still waits for standard input where the client, not its end, ended the server.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(server: AgentServer) -> Result<()> {
    use rmcp::service::ServerInitializeError as E;
    let running = match server.serve(stdio()).await {
        Ok(running) => running,
        Err(E::ConnectionClosed(_)) => return Ok(()), // who starts and ends it without a word
        Err(error) => {
            return Err(Hinted::new(format!("no client of the Model Context Protocol: {error}"))
                .hint("an agent starts dwell mcp; docs/agents.md says how"));
        }
    };
    let ended = running.waiting().await;
    ended.map(drop).map_err(|error| Hinted::new(format!("the server ended early: {error}")))
}

//! `dwell skill`: what an agent should know, on one page.

/// The page; `crates/cli/tests/product/mcp.rs` runs its commands.
pub const PAGE: &str = include_str!("skill.md");

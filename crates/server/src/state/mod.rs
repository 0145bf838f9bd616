//! What all requests share: the results and traces that are served, what was computed of them, and the pool that computes.
//! It takes ids and questions and gives open results, folds and replays, each made once and kept while there is room.
//! It knows no routes and no requests.

mod app;
mod cache;
mod fold;
mod library;
mod replays;
mod unresponsive_fs;

#[cfg(test)]
pub use app::COMPUTATIONS;
pub use app::{App, open_ahead};
pub use library::{Library, Listed};
pub use replays::{Asked, Replayed};

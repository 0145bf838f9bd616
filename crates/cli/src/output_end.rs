//! The end of what a process prints, kept while it runs.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Of what a process prints, so much is kept.
const MOST_OUTPUT_BYTES: usize = 4 << 10;

/// The end of what a process and those that it started print, read in a thread: a program that goes on keeps the pipe open, and
/// would stop or die if nobody read it.
pub struct OutputEnd {
    kept: Arc<Mutex<Vec<u8>>>,
}

impl OutputEnd {
    /// Reads all that comes, to its end.
    pub fn of(from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let end = Self { kept: kept.clone() };
        // Without a thread to spare, nothing is kept.
        let _ = thread::Builder::new().name("output".into()).spawn(move || keep_end(from, &kept));
        end
    }

    /// What is kept so far.
    pub fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Reads to the end, and keeps the last bytes.
fn keep_end(mut from: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[..length]);
        let excess = kept.len().saturating_sub(MOST_OUTPUT_BYTES);
        kept.drain(..excess);
    }
}

//! A collection from its options to its manifest: starts it, drains it round by round, ends it.
//! Takes options and a source of records; gives a raw trace and its manifest, and tells how it goes meanwhile.
//! It knows neither BPF nor perf events, and what records mean it leaves to `drain` and to the crate resolve.

mod collection;
mod finishing;
mod late;
mod losing;
mod manifest;
mod pace;
mod pausing;
mod recording;
mod rights;
mod rounds;
mod source;
mod starting;

use std::sync::atomic::AtomicBool;

use dwell_store::{Manifest, ResultFolder};

use self::collection::Collection;
use crate::error::Result;
use crate::options::Options;

pub use self::collection::Progress;

/// Records into `folder` until the program ends, the duration is over or `stop` is set. Returns the manifest, which
/// is also written. The profiled program is left alone in every case.
pub fn collect(
    folder: &ResultFolder,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Manifest> {
    let mut collection = Collection::start(folder, options)?;
    while !collection.is_over(stop)? {
        collection.wait();
        collection.round(false)?;
        progress(&collection.progress());
    }
    collection.finish(folder)
}

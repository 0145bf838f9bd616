//! A collection from its options to its manifest: starts it, drains it round by round, ends it.
//! Takes options and a source of records; gives a raw trace and its manifest, and tells how it goes meanwhile.
//! It knows neither BPF nor perf events, and what records mean it leaves to `drain` and to the crate resolve.

mod collection;
mod collector_latency;
mod control_socket;
mod cpu_use;
mod finishing;
mod joining;
mod loss_timeline;
mod manifest;
mod pausing;
mod quotas;
mod recording;
mod rights;
mod rounds;
mod schedule;
mod source;
mod starting;
mod steering;

use std::sync::atomic::AtomicBool;

use dwell_store::{Manifest, ResultFolder};

use self::collection::{Collection, EndRequest};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::programs::launch::Child;

pub use self::collection::Progress;

/// A collection that is over.
#[derive(Debug)]
pub struct Collected {
    /// What was recorded.
    pub manifest: Manifest,
    /// Whether it was cancelled: nobody wants the result.
    pub is_cancelled: bool,
}

/// A collection that could not begin, or broke off.
#[derive(Debug)]
pub struct BrokenOff {
    /// Why.
    pub error: Error,
    /// The launched program, which runs on; `None` when it was not let run.
    pub program: Option<Child>,
}

impl From<Error> for Box<BrokenOff> {
    fn from(error: Error) -> Self {
        Self::new(BrokenOff { error, program: None })
    }
}

/// Records into `folder` until the program ends, the duration is over or `stop` is set. Returns the manifest, which
/// is also written. The profiled program is left alone in every case.
///
/// A collection that was cancelled has a manifest, too; its result is to be thrown away.
pub fn collect(
    folder: &ResultFolder,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> std::result::Result<Collected, Box<BrokenOff>> {
    let mut collection = Collection::start(folder, options)?;
    let recorded = collection.record(progress, stop).and_then(|()| collection.finish(folder));
    let is_cancelled = collection.ending == Some(EndRequest::Cancel);
    recorded
        .map(|manifest| Collected { manifest, is_cancelled })
        .map_err(|error| Box::new(BrokenOff { error, program: collection.child.take() }))
}

impl Collection<'_> {
    fn record(&mut self, progress: &mut dyn FnMut(&Progress), stop: &AtomicBool) -> Result<()> {
        while !self.is_over(stop)? {
            self.wait();
            self.round(false)?;
            progress(&self.progress());
        }
        Ok(())
    }
}

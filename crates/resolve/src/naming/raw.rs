//! What naming reads.

use dwell_store::{Manifest, ResultFolder};

use crate::input::meta::Meta;
use crate::replay::fibers::RawFibers;
use crate::replay::rows::{RawOffCpu, RawSamples};
use crate::replay::state::Replay;

/// The result so far, and the replayed run.
pub struct ReplayedTrace<'a> {
    /// The result's folder.
    pub folder: &'a ResultFolder,
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// Stacks, mappings and objects.
    pub meta: &'a Meta,
    /// The replayed trace.
    pub replay: &'a Replay,
    /// The intervals.
    pub off_cpu: &'a RawOffCpu,
    /// The samples.
    pub samples: &'a RawSamples,
    /// The fibers.
    pub fibers: &'a RawFibers,
}

//! Which source of records a collection has: BPF programs where they can be loaded, else perf events that need no rights.

use crate::drain::source::{Source, Targets};
use crate::error::{Error, Result};
use crate::hooks::source::Bpf;
use crate::machine;
use crate::options::{EventSource, Options};
use crate::unprivileged::Unprivileged;

/// Opens the source that the options name, or the best one that works here.
pub fn open<'a>(options: &'a Options, targets: &Targets<'_>) -> Result<Box<dyn Source + 'a>> {
    machine::raise_descriptors();
    match options.source {
        EventSource::Bpf => Ok(Box::new(Bpf::start(options, targets)?)),
        EventSource::Perf => Ok(Box::new(Unprivileged::start(options, targets, None)?)),
        EventSource::Auto => match Bpf::start(options, targets) {
            Ok(bpf) => Ok(Box::new(bpf)),
            Err(error) if is_about_bpf(&error) => Ok(Box::new(Unprivileged::start(options, targets, Some(&error))?)),
            Err(error) => Err(error),
        },
    }
}

/// Whether the error says that this kernel, or this user, cannot load BPF programs.
fn is_about_bpf(error: &Error) -> bool {
    matches!(error, Error::Permission { .. } | Error::Unsupported { .. } | Error::Bpf { .. })
}

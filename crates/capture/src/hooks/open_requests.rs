//! Looks at connections: loaded with the other families, beside them; in the rounds of a collection that would let stacks wait.

use dwell_model::notices;
use dwell_rights as rights;
use dwell_store::raw::RecordBuffer;

use super::families::LoadedHooks;
use crate::topics::open_requests::{ConnectionLookState, ConnectionLooks};

impl LoadedHooks {
    /// Looks for requests that wait for their answer when it is time. Where that fails, no more.
    pub fn read_open_requests(&mut self, trace: &mut RecordBuffer, now_ns: u64) {
        if matches!(self.open_requests, ConnectionLookState::Unattached) {
            let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
            let loaded = self.load_family("open_requests").and_then(ConnectionLooks::new);
            self.open_requests = match loaded {
                Ok(reader) => ConnectionLookState::Active(Box::new(reader)),
                Err(error) => {
                    self.miss(&notices::OPEN_REQUESTS_UNKNOWN, &error);
                    ConnectionLookState::Unsupported
                }
            };
        }
        if let ConnectionLookState::Active(reader) = &mut self.open_requests
            && let Err(error) = reader.round(trace, now_ns)
        {
            self.miss(&notices::OPEN_REQUESTS_UNKNOWN, &error);
            self.open_requests = ConnectionLookState::Unsupported;
        }
    }
}

//! Loads the hook that counts events for each thread (`--events`), and opens the events.

use super::families::LoadedHooks;
use crate::error::Result;
use crate::event_name::CountedEvent;
use crate::topics::event_counts::EventCounts;

impl LoadedHooks {
    /// Counts these events from now on. Err: which of them cannot be counted, and why.
    pub(super) fn count_events(&mut self, events: &[CountedEvent]) -> Result<()> {
        if !events.is_empty() {
            let object = self.load_family("counted_events")?;
            self.event_counts = Some(EventCounts::begin(object, events)?);
        }
        Ok(())
    }
}

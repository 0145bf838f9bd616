//! Counts of the connections that programs open: loaded with the other families, read in the rounds of a collection.

use dwell_model::notices;
use dwell_store::raw::RecordBuffer;

use super::families::LoadedHooks;
use crate::topics::connects::Connects;

impl LoadedHooks {
    pub(super) fn attach_connects(&mut self) {
        let missing = &notices::CONNECTS_UNKNOWN;
        let Some(object) = self.attach_optional("connects", missing) else { return };
        match Connects::new(&object) {
            Ok(connects) => self.connects = Some((object, connects)),
            Err(error) => self.miss(missing, &error),
        }
    }

    /// Writes what connections were opened since the last reading, when it is time.
    pub fn read_connects(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        if let Some((_, connects)) = &mut self.connects {
            connects.round(trace, now_ns, at_end);
        }
    }
}

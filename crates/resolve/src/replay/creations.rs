//! Where locks were initialised: the calls of `pthread_mutex_init` and its like.
//! It does not know which of them threads waited on.

use std::collections::BTreeMap;

use super::numbers::StackNumber;
use super::threads::ImageId;

/// Where the objects of each program's memory were initialised, by address, in the order of time.
#[derive(Default)]
pub struct LockCreations {
    at: BTreeMap<(ImageId, u64), Vec<(u64, StackNumber)>>,
}

impl LockCreations {
    /// The object at `address` was initialised at `time_ns`. Times do not run back.
    pub fn add(&mut self, image: ImageId, address: u64, (time_ns, stack): (u64, StackNumber)) {
        self.at.entry((image, address)).or_default().push((time_ns, stack));
    }

    /// Where the object at `address` was initialised the last time before `time_ns`.
    pub fn before(&self, image: ImageId, address: u64, time_ns: u64) -> Option<StackNumber> {
        let times = self.at.get(&(image, address))?;
        let behind = times.partition_point(|(at, _)| *at <= time_ns);
        times[..behind].last().map(|(_, stack)| *stack)
    }
}

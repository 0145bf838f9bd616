//! The classes of rows that were asked for, kept for who asks again: several walks do so at once.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::study::explain::terms::WaitClass;

/// In order of their codes; 0 is none.
const CLASSES: [WaitClass; 5] =
    [WaitClass::Demand, WaitClass::GivenUp, WaitClass::Structure, WaitClass::Own, WaitClass::Idle];

/// See the module.
pub struct KnownClasses(Vec<AtomicU8>);

impl KnownClasses {
    /// Of so many rows none is known yet.
    pub fn new(rows: usize) -> Self {
        Self((0..rows).map(|_| AtomicU8::new(0)).collect())
    }

    /// The class of a row, which `find` finds where it is not known.
    pub fn of(&self, row: usize, find: impl FnOnce() -> WaitClass) -> WaitClass {
        let Some(known) = self.0.get(row) else { return find() };
        let code = usize::from(known.load(Ordering::Relaxed));
        if let Some(class) = code.checked_sub(1).and_then(|place| CLASSES.get(place)) {
            return *class;
        }
        let class = find();
        let place = CLASSES.iter().position(|other| *other == class);
        known.store(place.map_or(0, |place| place as u8 + 1), Ordering::Relaxed);
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_looked_at_once() {
        let known = KnownClasses::new(CLASSES.len());
        for (row, class) in CLASSES.into_iter().enumerate() {
            assert_eq!(known.of(row, || class), class);
            assert_eq!(known.of(row, || panic!("it is known")), class);
        }
        assert_eq!(known.of(CLASSES.len(), || WaitClass::Own), WaitClass::Own, "a row behind the last");
    }
}

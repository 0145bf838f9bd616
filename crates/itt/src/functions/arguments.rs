//! What programs hand over with a call: domains and ids.

use dwell_itt_wire::Id;

use crate::abi::{Domain, RawId};

/// Whether the program wants events of `domain`.
///
/// # Safety
///
/// Null, or a domain.
#[inline(always)]
pub unsafe fn is_enabled(domain: *const Domain) -> bool {
    // SAFETY: the caller's.
    unsafe { domain.as_ref() }.is_some_and(|domain| domain.flags != 0)
}

impl From<RawId> for Id {
    #[inline(always)]
    fn from(id: RawId) -> Id {
        Id { d1: id.d1, d2: id.d2 }
    }
}

/// The id at an address, none for null.
///
/// # Safety
///
/// Null, or an id.
#[inline(always)]
pub unsafe fn id_at(id: *const RawId) -> Id {
    // SAFETY: the caller's.
    unsafe { id.as_ref() }.map_or(Id::NONE, |id| Id::from(*id))
}

//! What to do about locks that are known by their names: of libraries, and of databases.

use dwell_view::Sentence;

use crate::sentences::say;
use crate::study::explain::CauseKind;

/// Locks of databases that a session has until its transaction ends, as the recording names them.
const TRANSACTION_LOCKS: [&str; 3] = ["PostgreSQL lock", "InnoDB lock", "metadata lock"];

/// Whether a database's session has the lock until its transaction ends.
fn is_of_transactions(label: &str) -> bool {
    TRANSACTION_LOCKS.iter().any(|lock| label.contains(lock))
}

/// What to do about a lock of a library, of which the program sees no more than its calls, or of a database, by what keeps it.
pub fn library_lock(kind: CauseKind, label: &str) -> Option<Sentence> {
    if matches!(kind, CauseKind::Network | CauseKind::Outside) && is_of_transactions(label) {
        return Some(say!(ADVICE_TRANSACTION_OPEN, label = label));
    }
    let (_, name) = label.rsplit_once(' ')?;
    match name {
        "main_arena" => Some(say!(ADVICE_HEAP_LOCK)),
        "tzset_lock" => Some(say!(ADVICE_TIME_ZONE_LOCK)),
        "_IO_stdfile_0_lock" | "_IO_stdfile_1_lock" | "_IO_stdfile_2_lock" => Some(say!(ADVICE_STREAM_LOCK)),
        _ => None,
    }
}

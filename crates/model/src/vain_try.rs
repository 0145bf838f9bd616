//! What threads try in vain, and mostly try again after a sleep.

use crate::state::codes;

codes! {
    /// What a thread tried.
    VainTry {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// To lock a file without waiting for it: flock with LOCK_NB, fcntl with F_SETLK.
        FileLock = 1, "file-lock", "File lock";
        /// To connect over TCP: the other end refused.
        Connection = 2, "connection", "Connection";
    }
}

//! unwind

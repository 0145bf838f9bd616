//! What tests make: traces from pictures, and what their threads say of themselves.

pub mod annotations;
pub mod trace_dsl;

//! Diagnoses: what is wrong, what it costs, where, and what to do about it.

use dwell_model::FindingDef;

/// Every diagnosis that Dwell can make.
pub static FINDINGS: &[FindingDef] = &[];

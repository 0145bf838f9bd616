//! What an address is called.

use serde::{Deserialize, Serialize};

/// A function at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Demangled name.
    pub name: String,
    /// Source file, empty when unknown.
    pub file: String,
    /// Line in it, 0 when unknown.
    pub line: u32,
}

/// A data symbol over an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSymbol {
    /// Demangled name.
    pub name: String,
    /// Distance of the address from the symbol's start.
    pub offset: u64,
}

//! A value that a probe reads: where it is, and how it is shown.

/// A value that a probe reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeValue {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub source: ValueSource,
    /// How it is read; `None` = as the debug information says.
    pub ty: Option<ValueType>,
    /// Where in the words its source is.
    pub(crate) at: usize,
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// An argument, by its number; the first is 0.
    Argument(u8),
    /// What a function returns.
    Returned,
    /// A parameter by its name, or `ret`, and a way over members from there: `req->queue.len`.
    Path(String),
}

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A number without sign.
    Unsigned {
        /// Its bytes: 1, 2, 4 or 8.
        bytes: u8,
    },
    /// A number with a sign.
    Signed {
        /// Its bytes.
        bytes: u8,
    },
    /// A number without sign that is shown in base 16.
    Hex {
        /// Its bytes.
        bytes: u8,
    },
    /// The text that the value, an address, leads to: up to the first zero, at most 64 bytes.
    Text,
}

/// Every type by its name.
pub(crate) const TYPES: [(&str, ValueType); 13] = [
    ("u8", ValueType::Unsigned { bytes: 1 }),
    ("u16", ValueType::Unsigned { bytes: 2 }),
    ("u32", ValueType::Unsigned { bytes: 4 }),
    ("u64", ValueType::Unsigned { bytes: 8 }),
    ("i8", ValueType::Signed { bytes: 1 }),
    ("i16", ValueType::Signed { bytes: 2 }),
    ("i32", ValueType::Signed { bytes: 4 }),
    ("i64", ValueType::Signed { bytes: 8 }),
    ("x8", ValueType::Hex { bytes: 1 }),
    ("x16", ValueType::Hex { bytes: 2 }),
    ("x32", ValueType::Hex { bytes: 4 }),
    ("x64", ValueType::Hex { bytes: 8 }),
    ("str", ValueType::Text),
];

impl ValueType {
    /// Bytes of the number, or of the address of a text.
    pub fn bytes(self) -> u8 {
        match self {
            Self::Unsigned { bytes } | Self::Signed { bytes } | Self::Hex { bytes } => bytes,
            Self::Text => 8,
        }
    }

    /// The least and the greatest number; `None` for texts.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * u32::from(self.bytes());
        match self {
            Self::Unsigned { .. } | Self::Hex { .. } => Some((0, (1 << bits) - 1)),
            Self::Signed { .. } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Self::Text => None,
        }
    }
}

//! An option that is on or off.

use clap::ValueEnum;

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    #[default]
    On,
    /// No.
    Off,
}

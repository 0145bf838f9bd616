//! Task probes: what a user may name as the beginning and the end of a task, and where in a file that lies; probes with values:
//! what they read, and where that lies.
//!
//! [`TaskProbe`] is the words, [`sites`] the places: offsets in the file on which the kernel sets uprobes. A function ends
//! where it returns or jumps to another one for good: at these instructions, not by exchanging its return address (a
//! uretprobe), behind which no stack can be walked and no exception passes.

mod debug_files;
mod debug_info;
mod elf;
mod error;
mod exits;
mod exported;
mod member_path;
mod parameters;
mod probe_value;
mod sites;
mod spec;
mod symbols;
mod tracepoint;
mod type_kind;
mod usdt;
mod usdt_arguments;
mod value_error;
mod value_filter;
mod value_path;
mod value_read;
mod value_sites;
mod value_spec;

pub use error::{Error, Result};
pub use exported::exported_addresses;
pub use probe_value::{ProbeValue, ValueSource, ValueType};
pub use sites::{Edge, Site, entry, exported, point_sites, sites};
pub use spec::{At, Point, TaskPlaces, TaskProbe};
pub use tracepoint::event_values;
pub use usdt_arguments::ArgumentPlace;
pub use value_error::ValueProbeError;
pub use value_filter::{Comparison, FilterTerm, MOST_TERM_TEXTS, MOST_TERMS, Operand};
pub use value_read::{MOST_STEPS, ValueRead};
pub use value_sites::{ValueSites, value_sites};
pub use value_spec::{MOST_TEXTS, MOST_VALUES, ValuePlace, ValueProbe};

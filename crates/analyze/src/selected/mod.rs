//! What a query selects, as plain data for whoever writes it down for other tools.
//!
//! `places` has the sums of each place: thread, stack and what it waited on.

mod places;

pub use places::{SelectedPlace, frame_rows, idle_wait_ns, places, selected_ns, thread_name};

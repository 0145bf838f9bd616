//! What a query selects, as plain data for whoever writes it down for other tools.
//!
//! `places` has the sums of each place: thread, stack and what it waited on. `pieces` has what each thread did, in order of time.

mod pieces;
mod places;

pub use pieces::{SelectedPiece, SelectedSample, ThreadActivity, WaitDetails, for_each_piece, for_each_sample};
pub use places::{SelectedPlace, frame_rows, idle_wait_ns, places, selected_ns, thread_name};

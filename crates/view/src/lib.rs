//! What every answer is: columns and rows of typed values, with sentences; as JSON too.
//!
//! Takes values, names and templates; gives the same numbers to text, CSV, JSON and the page. It knows neither traces nor metrics,
//! and writes no terminal text but sentences.

mod cut;
mod duration;
mod glob;
pub mod json;
pub mod page;
mod prose;
mod view;

pub use cut::{cut_text, cut_texts};
pub use duration::duration;
pub use glob::glob;
pub use prose::{PLAIN, Prose, Sentence, Word};
pub use view::{ByClass, CLASSES, Column, Row, Value, View};

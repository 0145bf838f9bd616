//! What a detector says.

use dwell_model::StackId;
use dwell_view::Prose;

use crate::findings::claim::Claim;

/// One diagnosis of this run.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is about: an object, a function, a thread's name.
    pub subject: String,
    /// The evidence with its numbers.
    pub evidence: Prose,
    /// Where in the program: the stack with the most of it.
    pub stack: StackId,
    /// The same in words, where that is not the innermost function of the program on this stack.
    pub place: Option<String>,
    /// Estimate of what it costs, ns: of the threads' time that it wastes.
    pub cost_ns: u64,
    /// When, where it is a stretch of time: ns since the start.
    pub during: Option<(u64, u64)>,
    /// Its numbers, and what shows them.
    pub claims: Vec<Claim>,
    /// Its place among the findings of the whole result, from 1; none where those have it not.
    pub number: Option<usize>,
}

impl Default for Finding {
    fn default() -> Self {
        Self {
            subject: String::new(),
            evidence: Prose::default(),
            stack: StackId::NONE,
            place: None,
            cost_ns: 0,
            during: None,
            claims: Vec::new(),
            number: None,
        }
    }
}

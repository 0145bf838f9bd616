//! What a reader has found out about stacks, remembered: many keys have one stack, and many rules ask the same of it.

use std::sync::atomic::{AtomicU32, Ordering};

use dwell_model::StackId;

/// Questions that can be asked of a stack.
pub const STACK_QUESTIONS: u32 = 16;

/// Answers to yes-or-no questions about the stacks of a trace. The questions are the reader's own.
#[derive(Debug, Default)]
pub struct StackAnswers {
    /// Of each stack: which questions were answered, and above them the answers.
    of_stack: Vec<AtomicU32>,
}

impl StackAnswers {
    /// Of so many stacks; nobody has asked anything yet.
    pub(super) fn new(stacks: usize) -> Self {
        Self { of_stack: (0..stacks).map(|_| AtomicU32::new(0)).collect() }
    }

    /// The answer to `question`, which is less than [`STACK_QUESTIONS`]: remembered, or found out now. Of no stack it is found out each time.
    pub fn of(&self, stack: StackId, question: u32, find_out: impl FnOnce() -> bool) -> bool {
        let Some(known) = stack.get().and_then(|row| self.of_stack.get(row)) else { return find_out() };
        let (asked, yes) = (1u32 << question, 1u32 << (question + STACK_QUESTIONS));
        let answers = known.load(Ordering::Relaxed);
        if answers & asked != 0 {
            return answers & yes != 0;
        }
        let answer = find_out();
        known.fetch_or(if answer { asked | yes } else { asked }, Ordering::Relaxed);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_of_a_stack_once() {
        let answers = StackAnswers::new(2);
        let asked = std::cell::Cell::new(0);
        let of = |stack: StackId, question: u32| {
            answers.of(stack, question, || {
                asked.set(asked.get() + 1);
                question == 3
            })
        };
        for _ in 0..3 {
            assert!(of(StackId::new(1), 3) && !of(StackId::new(1), STACK_QUESTIONS - 1));
        }
        assert_eq!(asked.get(), 2);
        assert!(of(StackId::new(0), 3) && of(StackId::NONE, 3) && of(StackId::new(7), 3));
        assert_eq!(asked.get(), 5);
    }
}

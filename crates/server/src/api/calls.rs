//! A call: its name, the type of its answer, and the function that answers it, in one row. The page's types are made of the rows.

use dwell_view::page::{Declarations, PageType};

/// The type of an answer, for the page.
#[derive(Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "a test writes the page's types"))]
pub struct Shape {
    /// How TypeScript writes it.
    pub typescript: fn() -> String,
    /// Its declaration, and those of the types in it.
    pub declare: fn(&mut Declarations),
}

impl Shape {
    /// Of a type.
    pub const fn of<T: PageType + ?Sized>() -> Self {
        Self { typescript: T::typescript, declare: T::declare }
    }
}

/// A call that answers JSON.
pub struct Call<Make> {
    /// Its name in the address.
    pub name: &'static str,
    /// What it answers.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the page's types"))]
    pub shape: Shape,
    /// Makes the document.
    pub make: Make,
}

/// A row of a table of calls: the function gives the answer, which becomes a document here.
macro_rules! call {
    ($name:literal: $answer:ty = |$($arg:ident),+| $function:path) => {
        $crate::api::calls::Call {
            name: $name,
            shape: $crate::api::calls::Shape::of::<$answer>(),
            make: |$($arg),+| {
                let answer: $answer = $function($($arg),+)?;
                $crate::api::transport::document(&answer)
            },
        }
    };
}
pub(super) use call;

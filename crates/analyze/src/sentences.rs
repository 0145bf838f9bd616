//! What Dwell says in sentences: root causes, the evidence of findings and the notes of reports. Tables have the English and
//! the Japanese; who shows the latter gets each sentence's id and typed values (`*_parts` in JSON) and fills in the template.
//! What other crates said is in `notices.rs`.

use dwell_model::MessageDef;
use dwell_view::PLAIN;

/// Declares a table.
macro_rules! sentence_table {
    ($($name:ident = $id:literal, $text:literal, $japanese:literal;)*) => {
        /// Every sentence of the table.
        pub static TABLE: &[MessageDef] = &[$(MessageDef { id: $id, text: $text, japanese: $japanese },)*];

        /// The definitions by name.
        pub mod def {
            use super::MessageDef;
            $(pub static $name: MessageDef = MessageDef { id: $id, text: $text, japanese: $japanese };)*
        }
    };
}
mod causes;
mod evidence;

/// Every sentence.
pub fn sentences() -> impl Iterator<Item = &'static MessageDef> {
    std::iter::once(&PLAIN).chain(causes::TABLE).chain(evidence::TABLE)
}

/// The definitions by name.
pub(crate) mod def {
    pub use super::causes::def::*;
    pub use super::evidence::def::*;
}

/// `say!(NAME, value = …, …)`: the sentence `NAME` of the table.
macro_rules! say {
    ($def:ident $(, $name:ident = $value:expr)* $(,)?) => {
        dwell_view::Sentence::new(
            &$crate::sentences::def::$def,
            vec![$((stringify!($name), dwell_view::Word::from($value))),*],
        )
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests;

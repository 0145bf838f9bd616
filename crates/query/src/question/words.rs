//! Words that a user chooses among: one table each for the command line, JSON and the screen.

/// Declares an enum of words: variant, id, title, help.
#[macro_export]
macro_rules! words {
    ($what:literal; $(#[$doc:meta])* $name:ident { $($variant:ident = $id:literal, $title:literal, $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $(#[doc = $help] $variant,)* }

        impl $name {
            /// Every one, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word on the command line and in JSON.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The words on the screen.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// One line of help.
            pub fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }

            /// The one of this id; the error carries the nearest id.
            pub fn parse(id: &str) -> Result<Self, $crate::question::error::QueryError> {
                let found = Self::ALL.iter().find(|word| word.id() == id).copied();
                found.ok_or_else(|| $crate::question::error::QueryError::unknown($what, id, Self::ALL.iter().map(|word| word.id())))
            }
        }
    };
}
pub use words;

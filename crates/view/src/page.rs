//! Answers as the page's TypeScript sees them: `answer!` declares a struct that serialises, and its type for the page.
//!
//! A struct gives its name, its fields and their comments; the server collects all of them into `web/src/api/types.ts`. Nothing
//! here runs in an answer.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

/// Declarations of types, each once, in the order in which they are first met.
#[derive(Debug, Default)]
pub struct Declarations {
    known: Vec<(String, String)>,
}

impl Declarations {
    /// Adds a type, then those of its fields. Two types of one name must be the same.
    pub fn add(&mut self, name: &str, text: String, fields: impl FnOnce(&mut Self)) {
        match self.known.iter().find(|(known, _)| known == name) {
            Some((_, known)) => assert_eq!(*known, text, "two answers are called {name}"),
            None => {
                self.known.push((name.to_owned(), text));
                fields(self);
            }
        }
    }

    /// All of them, with blank lines between.
    pub fn text(&self) -> String {
        self.known.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A type that an answer to the page contains.
pub trait PageType {
    /// How TypeScript writes it.
    fn typescript() -> String;

    /// Adds its declaration, and those of the types in it.
    fn declare(_: &mut Declarations) {}
}

macro_rules! page_types {
    ($($text:literal: $($type:ty),*;)*) => {
        $($(impl PageType for $type {
            fn typescript() -> String {
                $text.to_owned()
            }
        })*)*
    };
}

page_types! {
    "boolean": bool;
    "number": u8, u16, u32, u64, usize, i32, i64, i128, f64;
    "string": String, str;
    "unknown": Json;
    "Record<string, unknown>": Map<String, Json>;
}

impl<T: PageType + ?Sized> PageType for &T {
    fn typescript() -> String {
        T::typescript()
    }

    fn declare(into: &mut Declarations) {
        T::declare(into);
    }
}

impl<T: PageType> PageType for Option<T> {
    fn typescript() -> String {
        format!("{} | null", T::typescript())
    }

    fn declare(into: &mut Declarations) {
        T::declare(into);
    }
}

impl<T: PageType> PageType for [T] {
    fn typescript() -> String {
        let element = T::typescript();
        if element.contains(" | ") { format!("({element})[]") } else { format!("{element}[]") }
    }

    fn declare(into: &mut Declarations) {
        T::declare(into);
    }
}

impl<T: PageType> PageType for Vec<T> {
    fn typescript() -> String {
        <[T]>::typescript()
    }

    fn declare(into: &mut Declarations) {
        T::declare(into);
    }
}

impl<A: PageType, B: PageType> PageType for (A, B) {
    fn typescript() -> String {
        format!("[{}, {}]", A::typescript(), B::typescript())
    }

    fn declare(into: &mut Declarations) {
        A::declare(into);
        B::declare(into);
    }
}

/// JSON's names are strings, whatever the map's keys.
impl<K, T: PageType> PageType for BTreeMap<K, T> {
    fn typescript() -> String {
        format!("Record<string, {}>", T::typescript())
    }

    fn declare(into: &mut Declarations) {
        T::declare(into);
    }
}

/// A comment of TypeScript, indented; nothing for a field without one.
pub fn comment(indent: &str, lines: &[Option<&str>]) -> String {
    let lines: Vec<&str> = lines.iter().flatten().map(|line| line.trim()).collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines: String =
                lines.iter().map(|line| format!("{indent} * {line}\n").replace("* \n", "*\n")).collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}

/// Declares a struct of an answer, with what the page must know of it. A field that JSON names otherwise has
/// `#[serde(rename = "…")]`. Values of an enum are words.
#[macro_export]
macro_rules! answer {
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident $(<$life:lifetime>)? {
        $($(#[$($field_meta:tt)*])* $field_vis:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$($meta)*])*
        #[derive(serde::Serialize)]
        $vis struct $name $(<$life>)? {
            $($(#[$($field_meta)*])* $field_vis $field: $type,)*
        }

        impl $(<$life>)? $crate::page::PageType for $name $(<$life>)? {
            fn typescript() -> String {
                stringify!($name).to_owned()
            }

            fn declare(into: &mut $crate::page::Declarations) {
                let mut text = $crate::page::comment("", &[$($crate::attribute!(doc $($meta)*)),*]);
                text.push_str(concat!("export interface ", stringify!($name), " {\n"));
                $(
                    text.push_str(&$crate::page::comment("  ", &[$($crate::attribute!(doc $($field_meta)*)),*]));
                    let names: &[Option<&str>] = &[$($crate::attribute!(rename $($field_meta)*),)* Some(stringify!($field))];
                    let name = names.iter().flatten().next().unwrap_or(&"");
                    text.push_str(&format!("  {name}: {};\n", <$type as $crate::page::PageType>::typescript()));
                )*
                text.push_str("}\n");
                into.add(stringify!($name), text, |_into| {
                    $(<$type as $crate::page::PageType>::declare(_into);)*
                });
            }
        }
    };
    ($(#[$($meta:tt)*])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$($meta)*])*
        #[derive(serde::Serialize)]
        $vis enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)*
        }

        impl $crate::page::PageType for $name {
            fn typescript() -> String {
                stringify!($name).to_owned()
            }

            fn declare(into: &mut $crate::page::Declarations) {
                let mut text = $crate::page::comment("", &[$($crate::attribute!(doc $($meta)*)),*]);
                let words = [$(concat!("'", $word, "'")),*].join(" | ");
                text.push_str(&format!("export type {} = {words};\n", stringify!($name)));
                into.add(stringify!($name), text, |_| {});
            }
        }
    };
}

/// The text of an attribute, if it is the one that is looked for.
#[doc(hidden)]
#[macro_export]
macro_rules! attribute {
    (doc doc = $text:expr) => {
        Some($text)
    };
    (rename serde(rename = $name:literal)) => {
        Some($name)
    };
    ($($other:tt)*) => {
        None
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    answer! {
        /// A word.
        enum Colour {
            Red = "red",
            DarkBlue = "dark-blue",
        }
    }

    answer! {
        /// What is inside.
        struct Inner {
            colour: Colour,
        }
    }

    answer! {
        /// What is outside,
        ///
        /// in two paragraphs.
        struct Outer<'a> {
            /// Several, or none.
            times: &'a [Option<u64>],
            #[serde(rename = "type")]
            kind: &'static str,
            inner: Vec<Inner>,
            by_name: BTreeMap<u32, (f64, String)>,
        }
    }

    const EXPECTED: &str = "\
/**
 * What is outside,
 *
 * in two paragraphs.
 */
export interface Outer {
  /** Several, or none. */
  times: (number | null)[];
  type: string;
  inner: Inner[];
  by_name: Record<string, [number, string]>;
}

/** What is inside. */
export interface Inner {
  colour: Colour;
}

/** A word. */
export type Colour = 'red' | 'dark-blue';
";

    #[test]
    fn answers_are_declared_with_all_that_is_in_them() {
        let mut declarations = Declarations::default();
        Outer::declare(&mut declarations);
        Outer::declare(&mut declarations);
        assert_eq!(declarations.text(), EXPECTED);
    }

    #[test]
    fn json_is_what_is_declared() {
        let inner = vec![Inner { colour: Colour::Red }, Inner { colour: Colour::DarkBlue }];
        let by_name = BTreeMap::from([(7, (0.5, "a".to_owned()))]);
        let outer = Outer { times: &[None, Some(3)], kind: "x", inner, by_name };
        let text = r#"{"times":[null,3],"type":"x","inner":[{"colour":"red"},{"colour":"dark-blue"}],"by_name":{"7":[0.5,"a"]}}"#;
        assert_eq!(serde_json::to_string(&outer).unwrap(), text);
    }
}

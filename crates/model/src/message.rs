//! What Dwell says: each message is one row of a table, with its English and its Japanese.
//!
//! Remarks of a recording ([`notices`](crate::notices)) are stored by id with their values; sentences of reports carry typed values. Both
//! fill in the templates of this type.

/// A message: `{name}` stands for a value, `{name|one|more}` for the word that goes with it as a number. Of a sentence `[a part]` is left
/// out where a time or count in it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageDef {
    /// Its name in JSON and in a result: `sockets-until`.
    pub id: &'static str,
    /// The English.
    pub text: &'static str,
    /// The Japanese, which the page shows; its values have the same names.
    pub japanese: &'static str,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePiece<'t> {
    /// Text as it stands.
    Text(&'t str),
    /// A value, by its name.
    Value(&'t str),
    /// A word that goes with a number: of one, of more.
    Number(&'t str, &'t str, &'t str),
}

impl<'t> TemplatePiece<'t> {
    /// The name of its value.
    pub fn name(self) -> Option<&'t str> {
        match self {
            Self::Text(_) => None,
            Self::Value(name) | Self::Number(name, ..) => Some(name),
        }
    }
}

/// The pieces of a template, in order.
pub fn template_pieces(template: &str) -> impl Iterator<Item = TemplatePiece<'_>> {
    template.split('{').enumerate().flat_map(|(index, part)| {
        let (value, text) = if index == 0 {
            (None, part)
        } else {
            part.split_once('}').map_or((None, part), |(value, text)| (Some(value), text))
        };
        let value = value.map(|value| match value.split('|').collect::<Vec<_>>().as_slice() {
            [name, one, more] => TemplatePiece::Number(name, one, more),
            _ => TemplatePiece::Value(value),
        });
        value.into_iter().chain((!text.is_empty()).then_some(TemplatePiece::Text(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_text_values_and_words_of_numbers() {
        let expected = [
            TemplatePiece::Value("count"),
            TemplatePiece::Text(" "),
            TemplatePiece::Number("count", "wait", "waits"),
            TemplatePiece::Text(" on "),
            TemplatePiece::Value("object"),
        ];
        assert_eq!(template_pieces("{count} {count|wait|waits} on {object}").collect::<Vec<_>>(), expected);
        assert_eq!(template_pieces("").count(), 0);
        assert_eq!(
            template_pieces("no {end").collect::<Vec<_>>(),
            [TemplatePiece::Text("no "), TemplatePiece::Text("end")]
        );
    }
}

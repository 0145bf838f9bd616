//! The texts that programs give: each once, bounded in length and number.

use std::collections::HashMap;
use std::sync::Arc;

/// Number of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(u32);

impl TextId {
    /// No text.
    pub const EMPTY: Self = Self(0);
    /// A text that no record defines, or that found no room.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// Most different texts of a trace.
const MOST_TEXTS: usize = 1 << 20;
/// Longest text that is kept.
const MOST_CHARS: usize = 500;

/// Every text once.
pub struct Texts {
    // Programs choose the texts: a hash that they cannot foresee.
    numbers: HashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
    /// Texts that found no room.
    pub dropped: u64,
}

impl Default for Texts {
    fn default() -> Self {
        let empty: Arc<str> = Arc::default();
        Self { numbers: HashMap::from([(Arc::clone(&empty), TextId::EMPTY)]), texts: vec![empty], dropped: 0 }
    }
}

impl Texts {
    /// The number of what the program wrote as `bytes`: without control characters, and not without bound.
    pub fn intern(&mut self, bytes: &[u8]) -> TextId {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST_CHARS)]);
        let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        let text: String = text.chars().take(MOST_CHARS).map(shown).collect();
        if let Some(&known) = self.numbers.get(text.as_str()) {
            return known;
        }
        if self.texts.len() >= MOST_TEXTS {
            self.dropped += 1;
            return TextId::UNKNOWN;
        }
        let (number, text) = (TextId(self.texts.len() as u32), Arc::<str>::from(text));
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The text; `unknown WHAT` for one that is not known.
    pub fn show(&self, id: TextId, what: &str) -> String {
        self.texts.get(id.0 as usize).map_or_else(|| format!("unknown {what}"), |text| text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart_and_bounded() {
        let mut texts = Texts::default();
        let (a, b) = (texts.intern(b"parse"), texts.intern(b"bad\x1b[2J\xff"));
        assert_eq!((texts.intern(b"parse"), texts.intern(b"")), (a, TextId::EMPTY));
        assert_eq!(texts.show(b, "task"), "bad\u{fffd}[2J\u{fffd}");
        assert_eq!(texts.show(TextId::UNKNOWN, "task"), "unknown task");
        let long = texts.intern(&[b'x'; 9999]);
        assert_eq!(texts.show(long, "task").len(), MOST_CHARS);
    }
}

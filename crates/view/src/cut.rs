//! Bounds on the length of texts: names come from the profiled program.

use serde_json::Value as Json;

/// Cuts texts of more than `longest` bytes, marked with what is left out: names come from the profiled program.
pub fn cut_texts(json: &mut Json, longest: usize) {
    match json {
        Json::String(text) => cut_text(text, longest),
        Json::Array(values) => values.iter_mut().for_each(|value| cut_texts(value, longest)),
        Json::Object(fields) => fields.values_mut().for_each(|value| cut_texts(value, longest)),
        _ => {}
    }
}

/// Cuts one text between letters.
pub fn cut_text(text: &mut String, longest: usize) {
    if text.len() <= longest {
        return;
    }
    let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let left_out = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("… [{left_out} more bytes]"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        let mut text = "é".repeat(5_000_000);
        cut_text(&mut text, 4095);
        assert!(text.len() < 4140 && text.ends_with("é… [9995906 more bytes]"), "{text}");
        let mut short = json!({ "a": ["é".repeat(2048)] });
        cut_texts(&mut short, 4096);
        assert_eq!(short["a"][0].as_str().unwrap().len(), 4096);
    }
}

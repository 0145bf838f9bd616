//! Names that a reader picks by a pattern.

/// Whether `text` matches `pattern`, in which `*` stands for any characters, none included.
pub fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is as good as any later one: what follows is free to begin anywhere behind it.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("worker", "worker", true),
            ("worker", "worker-1", false),
            ("worker*", "worker", true),
            ("*er-*", "worker-1", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*Pool*worker*", "ns::ThreadPool::worker()", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}

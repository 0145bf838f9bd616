//! The words of a way over members: `req->queue.len`.

/// A part of a path: what is before it (`->`, `.`, or nothing), its name, and where that begins.
pub(crate) struct Part<'p> {
    pub is_arrow: bool,
    pub name: &'p str,
    pub at: usize,
}

/// The parts of `req->queue.len`; `None` when it is no such path.
pub(crate) fn parts(path: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let (mut at, mut is_arrow) = (0, false);
    loop {
        let rest = path.get(at..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        parts.push(Part { is_arrow, name, at });
        at += end;
        match &rest[end..] {
            "" => return Some(parts),
            rest if rest.starts_with("->") => (at, is_arrow) = (at + 2, true),
            rest if rest.starts_with('.') => (at, is_arrow) = (at + 1, false),
            _ => return None,
        }
    }
}

/// Whether it is a parameter's name, or a path of members from one.
pub(crate) fn is_path(text: &str) -> bool {
    parts(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_parts() {
        let shown = |path| {
            parts(path).map(|parts| parts.iter().map(|part| (part.is_arrow, part.name, part.at)).collect::<Vec<_>>())
        };
        assert_eq!(shown("req->queue.len"), Some(vec![(false, "req", 0), (true, "queue", 5), (false, "len", 11)]));
        assert_eq!(shown("id"), Some(vec![(false, "id", 0)]));
        assert!(["", "a.", "a->", "->a", "a b", "a[0]", "1a", "a-b", "a..b"].iter().all(|path| parts(path).is_none()));
    }
}

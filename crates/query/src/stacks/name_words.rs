//! Names of functions, taken apart: what a library calls a thing tells what it is for.

use std::iter;

/// A function's name without the arguments of templates: `<…>` stands for them.
pub fn without_template_arguments(name: &str) -> String {
    let (mut short, mut depth) = (String::new(), 0usize);
    for (at, letter) in name.char_indices() {
        let opens =
            letter == '<' && at > 0 && name[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        match letter {
            '<' if opens || depth > 0 => {
                if depth == 0 {
                    short.push_str("<…>");
                }
                depth += 1;
            }
            '>' if depth > 0 => depth -= 1,
            letter if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    short
}

/// Whether a name has one of these words, which are in lower case; what it has in parentheses is Go's receiver or arguments.
pub fn has_word(name: &str, wanted: &[&str]) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut parts = name.split(|letter| !is_part(letter));
    parts.any(|part| words(part).any(|word| wanted.contains(&word.to_ascii_lowercase().as_str())))
}

/// The words of `snake_case` and `CamelCase`.
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    let is_start = |(at, _): &(usize, char)| {
        let (before, rest) = name.split_at(*at);
        rest.starts_with(char::is_uppercase) && before.ends_with(char::is_lowercase)
    };
    let starts: Vec<usize> = iter::once(0).chain(name.char_indices().filter(is_start).map(|(at, _)| at)).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([name.len()]).collect();
    starts.into_iter().zip(ends).flat_map(|(from, to)| name[from..to].split('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_every_style() {
        for name in
            ["golang.org/x/time/rate.(*Limiter).wait", "RateLimiter.acquire", "rate_limiter::wait", "tower::Limiter"]
        {
            assert!(has_word(name, &["limiter"]), "{name}");
        }
        for name in ["delimiter", "Limiters", "unlimited", ""] {
            assert!(!has_word(name, &["limiter"]), "{name}");
        }
    }

    #[test]
    fn arguments_of_templates_go_and_traits_stay() {
        assert_eq!(without_template_arguments("sinks::base_sink<std::mutex, a<b>>::log"), "sinks::base_sink<…>::log");
        assert_eq!(without_template_arguments("<Lock as Raw>::lock"), "<Lock as Raw>::lock");
    }
}

//! How far apart two words are spelt.

/// Letters to be put in, left out, replaced, or exchanged with their neighbour, to make one word of the other.
fn edits(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut table = vec![vec![0_usize; other.len() + 1]; one.len() + 1];
    for row in 0..=one.len() {
        for column in 0..=other.len() {
            if row == 0 || column == 0 {
                table[row][column] = row + column;
                continue;
            }
            let replaced = usize::from(one[row - 1] != other[column - 1]);
            let mut least = (table[row - 1][column] + 1).min(table[row][column - 1] + 1);
            least = least.min(table[row - 1][column - 1] + replaced);
            let exchanged =
                row > 1 && column > 1 && one[row - 1] == other[column - 2] && one[row - 2] == other[column - 1];
            table[row][column] = if exchanged { least.min(table[row - 2][column - 2] + 1) } else { least };
        }
    }
    table[one.len()][other.len()]
}

/// The word of `known` that `word` is a misspelling of: at most a third of its letters are wrong, and two of them.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells a short word into a very long one; a long one costs the square of its length.
    let short_enough = word.chars().count() <= 40;
    let near = known.filter(|_| short_enough).map(|known| (edits(word, known), known));
    near.filter(|(edits, known)| *edits <= 2 && edits * 3 <= known.chars().count()).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_are_recognized() {
        let known = ["threading", "latency", "locks", "io"];
        let nearest = |word: &str| nearest(word, known.into_iter());
        assert_eq!(nearest("lokcs"), Some("locks"));
        assert_eq!(nearest("threding"), Some("threading"));
        assert_eq!(nearest("latencies"), None);
        assert_eq!(nearest("ls"), None);
        assert_eq!(nearest(&"x".repeat(100_000)), None);
    }
}

//! Rows as a forest: each below its parent, the parts of a tree in the order of the rows.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A row's place in the forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Which of the rows.
    pub row: usize,
    /// Rows above it.
    pub depth: usize,
    /// Whether there are rows below it, shown or not.
    pub has_children: bool,
    /// The rows below it that are not shown, since it is folded.
    pub hidden: Vec<usize>,
}

/// The forest of rows, each with its key and its parent's, in the order in which rows without parents come. A parent that is no row,
/// and a row that is its own ancestor, count as none; a tree comes where its first row would.
pub fn forest<K: Eq + Hash>(rows: &[(K, Option<K>)], folded: &HashSet<K>) -> Vec<Branch> {
    let by_key: HashMap<&K, usize> = rows.iter().enumerate().map(|(row, (key, _))| (key, row)).collect();
    let mut parents: Vec<Option<usize>> =
        rows.iter().map(|(_, parent)| by_key.get(parent.as_ref()?).copied()).collect();
    for row in 0..rows.len() {
        if ancestors(&parents, row).any(|above| above == row) {
            parents[row] = None;
        }
    }
    // Where the first row of each tree comes.
    let mut first: Vec<usize> = (0..rows.len()).collect();
    for row in 0..rows.len() {
        for above in ancestors(&parents, row) {
            first[above] = first[above].min(row);
        }
    }
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    (0..rows.len()).for_each(|row| children.entry(parents[row]).or_default().push(row));
    children.values_mut().for_each(|rows| rows.sort_by_key(|row| (first[*row], *row)));
    let none = Vec::new();
    let below = |row: usize| children.get(&Some(row)).unwrap_or(&none);
    let mut branches: Vec<Branch> = Vec::new();
    let mut left: Vec<(usize, usize)> =
        children.get(&None).unwrap_or(&none).iter().rev().map(|row| (*row, 0)).collect();
    while let Some((row, depth)) = left.pop() {
        let has_children = !below(row).is_empty();
        let mut hidden = Vec::new();
        if folded.contains(&rows[row].0) {
            let mut open = below(row).clone();
            while let Some(row) = open.pop() {
                hidden.push(row);
                open.extend(below(row));
            }
        } else {
            left.extend(below(row).iter().rev().map(|child| (*child, depth + 1)));
        }
        branches.push(Branch { row, depth, has_children, hidden });
    }
    branches
}

/// The rows above a row, to the root, or once around a circle.
fn ancestors(parents: &[Option<usize>], row: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(parents[row], |above| parents[*above]).take(parents.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[(u32, Option<u32>)], folded: &[u32]) -> String {
        let branches = forest(rows, &folded.iter().copied().collect());
        let line = |it: &Branch| {
            let key = rows[it.row].0;
            let sign = if !it.hidden.is_empty() {
                "+"
            } else if it.has_children {
                "-"
            } else {
                ""
            };
            format!("{}{sign}{key}", " ".repeat(it.depth))
        };
        branches.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_tree_comes_where_its_first_row_would() {
        let rows = [(5, Some(2)), (9, None), (1, None), (2, Some(1)), (3, Some(1)), (4, Some(77))];
        assert_eq!(drawn(&rows, &[]), "-1\n -2\n  5\n 3\n9\n4");
        assert_eq!(drawn(&rows, &[2]), "-1\n +2\n 3\n9\n4");
        assert_eq!(drawn(&rows, &[1, 9]), "+1\n9\n4");
        let branches = forest(&rows, &HashSet::from([1]));
        let mut hidden = branches[0].hidden.clone();
        hidden.sort_unstable();
        assert_eq!(hidden, [0, 3, 4]);
    }

    #[test]
    fn circles_are_cut() {
        assert_eq!(drawn(&[(1, Some(1))], &[]), "1");
        let circle = drawn(&[(1, Some(2)), (2, Some(3)), (3, Some(1)), (4, Some(3))], &[]);
        assert_eq!(circle.lines().count(), 4, "{circle}");
        assert_eq!(drawn(&[], &[]), "");
    }
}

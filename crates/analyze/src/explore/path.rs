//! Where in a grid something is: its levels, and the keys of the rows that lead there.

use crate::call_stacks::FunctionId;
use crate::fold::{Fold, Site, Weights};
use crate::grouping::Labels;
use crate::query::{Level, QueryError};
use crate::reports::functions;

/// A level of a grid: a grouping level, or at the end a way on through the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridLevel {
    /// Rows by this.
    By(Level),
    /// The function and below it its callers, level by level; after rows of functions, their callers.
    Callers,
    /// The call tree from the threads' entries.
    Callees,
}

impl GridLevel {
    /// The grouping level, when it is one.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::By(level) => Some(level),
            Self::Callers | Self::Callees => None,
        }
    }
}

const CALLERS: &str = "callers";
const CALLEES: &str = "callees";

/// The levels of `a,b,callers`. Fails on a name that is none, and on a way through the stacks that is not the last.
pub fn parse_grid_levels(text: &str) -> Result<Vec<GridLevel>, QueryError> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let level = |(index, word): (usize, &&str)| match *word {
        CALLERS if index + 1 == words.len() => Ok(GridLevel::Callers),
        CALLEES if index + 1 == words.len() => Ok(GridLevel::Callees),
        word => Level::parse(word).map(GridLevel::By),
    };
    words.iter().enumerate().map(level).collect()
}

/// A place: levels, and keys of rows, outermost first.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The grid's levels.
    pub levels: Vec<GridLevel>,
    /// Keys of the rows from the top to this place.
    pub path: Vec<String>,
}

/// How the rows at one depth are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By a level.
    By(Level),
    /// By the function at this place of the stack, leaf first or root first.
    Frame(usize),
}

/// Follows a path through the sites of a fold.
pub struct Walk<'f, 't> {
    fold: &'f Fold<'t>,
    place: &'f Place,
    /// Keys and names.
    pub labels: Labels,
}

impl<'f, 't> Walk<'f, 't> {
    /// The walk to `place`.
    pub fn new(fold: &'f Fold<'t>, place: &'f Place) -> Self {
        Self { fold, place, labels: Labels::default() }
    }

    /// How rows `depth` levels below the top are told apart; none below the last level.
    pub fn step(&self, depth: usize) -> Option<Step> {
        let levels = &self.place.levels;
        match levels.get(depth.min(levels.len().checked_sub(1)?))? {
            GridLevel::By(level) => (depth < levels.len()).then_some(Step::By(*level)),
            GridLevel::Callers | GridLevel::Callees => {
                let before = levels.len().checked_sub(2).map(|before| levels[before]);
                let after_function = before == Some(GridLevel::By(Level::Function)) && !self.is_from_root();
                Some(Step::Frame(depth + 1 - levels.len() + usize::from(after_function)))
            }
        }
    }

    /// Whether stacks are gone through from the threads' entries.
    pub fn is_from_root(&self) -> bool {
        self.place.levels.last() == Some(&GridLevel::Callees)
    }

    /// Functions of a site in the order of the walk.
    pub fn functions(&self, site: &Site) -> Vec<FunctionId> {
        let mut functions = functions(self.fold, site.key.stack);
        if self.is_from_root() {
            functions.reverse();
        }
        functions
    }

    /// The key of a site's row at `step`; none when its stack ends before.
    pub fn key(&mut self, step: Step, site: &Site) -> Option<u32> {
        match step {
            Step::By(level) => Some(self.labels.key(self.fold, level, site)),
            Step::Frame(index) => self.functions(site).get(index).copied(),
        }
    }

    /// Name of a row.
    pub fn label(&self, step: Step, key: u32) -> String {
        match step {
            Step::By(level) => self.labels.label(self.fold, level, key),
            Step::Frame(_) => self.fold.stacks.function_name(key).to_owned(),
        }
    }

    /// A row's key as the client knows it.
    pub fn word(&self, step: Step, key: u32) -> String {
        match step {
            Step::By(level) => self.labels.word(level, key),
            Step::Frame(_) => key.to_string(),
        }
    }

    /// The selected sites at the place, with their weights.
    pub fn sites(&mut self) -> Vec<(usize, Weights)> {
        let mut wanted = Vec::new();
        for (depth, word) in self.place.path.iter().enumerate() {
            let Some(step) = self.step(depth) else { return Vec::new() };
            let key = match step {
                Step::By(level) => self.labels.parse(level, word),
                Step::Frame(_) => word.parse().ok(),
            };
            let Some(key) = key else { return Vec::new() };
            wanted.push((step, key));
        }
        let fold = self.fold;
        let at_place = |walk: &mut Self, site: &Site| {
            let by = |&(step, key): &(Step, u32)| matches!(step, Step::Frame(_)) || walk.key(step, site) == Some(key);
            if !wanted.iter().all(by) {
                return false;
            }
            let mut frames = wanted.iter().filter(|(step, _)| matches!(step, Step::Frame(_))).peekable();
            frames.peek().is_none() || {
                let functions = walk.functions(site);
                frames.all(|(step, key)| matches!(step, Step::Frame(at) if functions.get(*at) == Some(key)))
            }
        };
        fold.selected()
            .filter(|(_, site, _)| at_place(self, site))
            .map(|(index, _, weights)| (index, weights))
            .collect()
    }
}

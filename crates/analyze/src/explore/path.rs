//! Where in a grid something is: its levels, and the keys of the rows that lead there.

use dwell_query::engine::fold::Fold;
use dwell_query::engine::functions::functions;
use dwell_query::engine::grouping::Labels;
use dwell_query::measure::site::Site;
use dwell_query::question::error::QueryError;
use dwell_query::question::level::Level;
use dwell_query::stacks::call_stacks::FunctionId;
use dwell_view::glob;

/// A level of a grid: a grouping level, or at the end a way on through the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridLevel {
    /// Rows by this.
    By(Level),
    /// Every function of the stacks: a part of the time is in the row of each function that it went through.
    AllFunctions,
    /// The function and below it its callers, level by level; after rows of functions, and of a subject, their callers.
    Callers,
    /// The call tree from the threads' entries; of a subject, from what it calls.
    Callees,
}

impl GridLevel {
    /// The grouping level, when it is one.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::By(level) => Some(level),
            Self::AllFunctions | Self::Callers | Self::Callees => None,
        }
    }
}

const ALL_FUNCTIONS: &str = "all-functions";
const CALLERS: &str = "callers";
const CALLEES: &str = "callees";

/// The levels of `a,b,callers`. Fails on an unknown name, and on a way through the stacks that is not the last.
pub fn parse_grid_levels(text: &str) -> Result<Vec<GridLevel>, QueryError> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let level = |(index, word): (usize, &&str)| match *word {
        ALL_FUNCTIONS if words.len() == 1 => Ok(GridLevel::AllFunctions),
        CALLERS if index + 1 == words.len() => Ok(GridLevel::Callers),
        CALLEES if index + 1 == words.len() => Ok(GridLevel::Callees),
        word => Level::parse(word).map(GridLevel::By),
    };
    words.iter().enumerate().map(level).collect()
}

/// A place: levels, and keys of rows, outermost first.
#[derive(Clone, Debug, Default)]
pub struct PathPlace {
    /// The grid's levels.
    pub levels: Vec<GridLevel>,
    /// Keys of the rows from the top to this place.
    pub path: Vec<String>,
    /// Only stacks through this function (a pattern): ways through the stacks begin at it.
    pub subject: Option<String>,
}

/// How the rows at one depth are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// By a level.
    By(Level),
    /// By the function at this place of the stack, leaf first or root first.
    Frame(usize),
    /// By every function of the stack.
    AnyFrame,
}

/// Follows a path through the sites of a fold.
pub struct PathWalk<'f, 't> {
    fold: &'f Fold<'t>,
    place: &'f PathPlace,
    /// Keys and names.
    pub labels: Labels,
}

impl<'f, 't> PathWalk<'f, 't> {
    /// The walk to `place`.
    pub fn new(fold: &'f Fold<'t>, place: &'f PathPlace) -> Self {
        Self { fold, place, labels: Labels::default() }
    }

    /// How rows `depth` levels below the top are told apart; none below the last level.
    pub fn step(&self, depth: usize) -> Option<PathStep> {
        let levels = &self.place.levels;
        match levels.get(depth.min(levels.len().checked_sub(1)?))? {
            GridLevel::By(level) => (depth < levels.len()).then_some(PathStep::By(*level)),
            GridLevel::AllFunctions => (depth == 0).then_some(PathStep::AnyFrame),
            GridLevel::Callers | GridLevel::Callees => {
                let before = levels.len().checked_sub(2).map(|before| levels[before]);
                let after_function = before == Some(GridLevel::By(Level::Function)) && !self.is_from_root();
                Some(PathStep::Frame(depth + 1 - levels.len() + usize::from(after_function)))
            }
        }
    }

    /// Whether stacks are gone through from the threads' entries.
    pub fn is_from_root(&self) -> bool {
        self.place.levels.last() == Some(&GridLevel::Callees)
    }

    /// Functions of a site in the order of the walk. Of a subject that is on the stack several times, its callers are
    /// those of the outermost call, its callees those of the innermost one.
    pub fn functions(&self, site: &Site) -> Vec<FunctionId> {
        let mut functions = functions(self.fold, site.key.stack);
        let from_root = self.is_from_root();
        if let Some(subject) = &self.place.subject {
            let is_subject = |function: &FunctionId| glob(subject, self.fold.sums.stacks.function_name(*function));
            match from_root {
                true => functions.truncate(functions.iter().position(is_subject).unwrap_or(0)),
                false => drop(functions.drain(..functions.iter().rposition(is_subject).map_or(0, |at| at + 1))),
            }
        }
        if from_root {
            functions.reverse();
        }
        functions
    }

    /// The keys of a site's rows at `step`; none when its stack ends before.
    pub fn keys(&mut self, step: PathStep, site: &Site) -> Vec<u32> {
        match step {
            PathStep::By(level) => vec![self.labels.key(self.fold, level, site)],
            PathStep::Frame(index) => self.functions(site).get(index).copied().into_iter().collect(),
            PathStep::AnyFrame => {
                let mut once = self.functions(site);
                once.sort_unstable();
                once.dedup();
                once
            }
        }
    }

    /// The keys of a site's rows more than `depth` levels below the top, as far as their names are worth a search: not of
    /// callers, since an entry's name would find every row.
    pub fn keys_below(&mut self, depth: usize, site: &Site) -> Vec<(PathStep, u32)> {
        let mut below = Vec::new();
        for depth in depth + 1.. {
            match self.step(depth) {
                Some(step @ PathStep::By(_)) => below.extend(self.keys(step, site).into_iter().map(|key| (step, key))),
                Some(PathStep::Frame(at)) if self.is_from_root() => {
                    let callees = self.functions(site).into_iter().skip(at);
                    below.extend(callees.map(|key| (PathStep::AnyFrame, key)));
                    break;
                }
                _ => break,
            }
        }
        below
    }

    /// Whether the time of a site's stack is that of the function `key` itself, not of what it calls.
    pub fn is_own(&self, step: PathStep, site: &Site, key: u32) -> bool {
        match step {
            PathStep::By(_) => false,
            PathStep::Frame(index) => self.is_from_root() && self.functions(site).len() == index + 1,
            PathStep::AnyFrame => functions(self.fold, site.key.stack).first() == Some(&key),
        }
    }

    /// Name of a row.
    pub fn label(&self, step: PathStep, key: u32) -> String {
        match step {
            PathStep::By(level) => self.labels.label(self.fold, level, key),
            PathStep::Frame(_) | PathStep::AnyFrame => self.fold.sums.stacks.function_name(key).to_owned(),
        }
    }

    /// A row's key as the client knows it.
    pub fn word(&self, step: PathStep, key: u32) -> String {
        match step {
            PathStep::By(level) => self.labels.word(level, key),
            PathStep::Frame(_) | PathStep::AnyFrame => key.to_string(),
        }
    }

    /// The selected sites at the place, by number.
    pub fn sites(&mut self) -> Vec<usize> {
        let Some(wanted) = self.wanted() else { return Vec::new() };
        let fold = self.fold;
        let here = fold.selected_sites().filter(|(_, site)| self.is_at_place(site, &wanted));
        here.map(|(index, _)| index).collect()
    }

    /// The steps and keys of the path; none for a path that leads nowhere.
    fn wanted(&mut self) -> Option<Vec<(PathStep, u32)>> {
        let words = self.place.path.iter().enumerate();
        words
            .map(|(depth, word)| {
                let step = self.step(depth)?;
                let key = match step {
                    PathStep::By(level) => self.labels.parse(level, word),
                    PathStep::Frame(_) | PathStep::AnyFrame => word.parse().ok(),
                };
                Some((step, key?))
            })
            .collect()
    }

    /// Names of the rows of the path.
    pub fn path_labels(&mut self) -> Vec<String> {
        let wanted = self.wanted().unwrap_or_default();
        wanted.iter().map(|(step, key)| self.label(*step, *key)).collect()
    }

    fn is_at_place(&mut self, site: &Site, wanted: &[(PathStep, u32)]) -> bool {
        let in_stack = |step: &PathStep| !matches!(step, PathStep::By(_));
        let by_level = |&(step, key): &(PathStep, u32)| in_stack(&step) || self.keys(step, site) == [key];
        if !wanted.iter().all(by_level) {
            return false;
        }
        if let Some(subject) = &self.place.subject {
            let stacks = &self.fold.sums.stacks;
            if !functions(self.fold, site.key.stack)
                .iter()
                .any(|function| glob(subject, stacks.function_name(*function)))
            {
                return false;
            }
        }
        let mut frames = wanted.iter().filter(|(step, _)| in_stack(step)).peekable();
        frames.peek().is_none() || {
            let functions = self.functions(site);
            frames.all(|(step, key)| match step {
                PathStep::Frame(at) => functions.get(*at) == Some(key),
                _ => functions.contains(key),
            })
        }
    }
}

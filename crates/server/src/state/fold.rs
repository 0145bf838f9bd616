//! A fold together with the result and the question that it is of, so that it can outlive one request.

use std::sync::Arc;

use dwell_analyze::{Analysis, Fold, Query};
use self_cell::self_cell;

use crate::problem::Problem;

type Of<'t> = Fold<'t>;

/// What a fold is of.
pub struct Selected {
    analysis: Arc<Analysis>,
    selection: Query,
}

self_cell! {
    /// The fold of one selection.
    pub struct SharedFold {
        owner: Selected,
        #[covariant]
        dependent: Of,
    }
}

impl SharedFold {
    /// Folds a result for the selection of a query. Fails when it has no time in it.
    pub fn of(analysis: Arc<Analysis>, selection: Query) -> Result<Self, Problem> {
        Ok(Self::try_new(Selected { analysis, selection }, |of| Fold::new(of.analysis.trace(), &of.selection))?)
    }

    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        self.borrow_dependent().bytes()
    }

    /// The result.
    pub fn analysis(&self) -> &Analysis {
        &self.borrow_owner().analysis
    }

    /// The fold, with another question of the same selection.
    pub fn asked<'q>(&'q self, query: &'q Query) -> Fold<'q> {
        self.borrow_dependent().asked(query)
    }
}

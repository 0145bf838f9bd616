//! Filters by the length of a wait. The waits of a site are of many lengths: it is cut in two, what the filters take
//! and the rest, which is not selected.

use dwell_model::Reason;
use dwell_store::Trace;

use crate::engine::index::AnswerPlan;
use crate::engine::sites::{NOWHERE, longest_of};
use crate::engine::sums::{DetailKeys, NumberSums, Places};
use crate::measure::site::Site;
use crate::question::length_rules::LengthRules;
use crate::question::windows::Windows;

/// Sites that were cut.
pub struct LengthCut {
    rules: LengthRules,
    /// For each site the one that has the rest of it; [`NOWHERE`] where there is none.
    rest_of: Vec<u32>,
}

impl LengthCut {
    /// Cuts the selected waits among `sites`, whose numbers `site_of` tells, by what `plan` says of them.
    pub fn new(
        rules: LengthRules,
        trace: &Trace,
        (plan, windows): (&AnswerPlan<'_>, &Windows),
        (site_of, details): (&Places, Option<&mut DetailKeys>),
        (sites, class_mask): (&mut Vec<Site>, [bool; 5]),
    ) -> Self {
        // Where keys are numbers, those that other filters leave out need not be looked at.
        let plain = details.is_none() && trace.nesting().is_empty();
        let is_asked = |key: u32| {
            let site = site_of.get(u64::from(key)).filter(|_| plain);
            let is_wait = trace.events().key(key).reason() == Some(Reason::Waiting);
            is_wait && (!plain || site.is_some_and(|site| sites[site as usize].selected))
        };
        let asked: Vec<bool> = (0..trace.events().keys.len() as u32).map(is_asked).collect();
        let takes = |key: u32, wait_ns: u64| asked.get(key as usize) == Some(&true) && rules.take(wait_ns);
        let taken = plan.sum_taken(windows, &takes, details);
        let mut sums_of: Vec<Option<&NumberSums>> = vec![None; sites.len()];
        for (number, sums) in taken.in_order() {
            if let Some(site) = site_of.get(number) {
                sums_of[site as usize] = Some(sums);
            }
        }
        let mut rest_of = vec![NOWHERE; sites.len()];
        for (index, sums) in sums_of.into_iter().enumerate() {
            let site = &mut sites[index];
            if !site.selected || !site.is_wait() {
                continue;
            }
            site.selected = sums.is_some();
            let rest = sums.map(|sums| cut(site, sums, class_mask));
            if let Some(rest) =
                rest.filter(|rest| rest.began != [0; 5] || rest.time != [0; 5] || rest.runnable != [0; 5])
            {
                rest_of[index] = sites.len() as u32;
                sites.push(rest);
            }
        }
        Self { rules, rest_of }
    }

    /// Whether a wait of this length is taken.
    pub fn takes(&self, wait_ns: u64) -> bool {
        self.rules.take(wait_ns)
    }

    /// Which one a wait of this length is of, of a site and its rest.
    pub fn part(&self, site: usize, wait_ns: u64) -> usize {
        let rest = self.rest_of.get(site).filter(|rest| **rest != NOWHERE && !self.takes(wait_ns));
        rest.map_or(site, |rest| *rest as usize)
    }
}

/// Leaves `taken` in a site; returns the rest, whose longest wait is not known: the site's stands for it.
fn cut(site: &mut Site, taken: &NumberSums, class_mask: [bool; 5]) -> Site {
    let mut rest = Site { selected: false, ..site.clone() };
    (site.time, site.runnable, site.began) = (taken.time(), taken.runnable(), taken.began());
    site.longest_ns = longest_of(taken, class_mask);
    for class in 0..5 {
        rest.time[class] = rest.time[class].saturating_sub(site.time[class]);
        rest.runnable[class] = rest.runnable[class].saturating_sub(site.runnable[class]);
        rest.began[class] = rest.began[class].saturating_sub(site.began[class]);
    }
    rest
}

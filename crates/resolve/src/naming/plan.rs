//! Which addresses to look up in which module, and for which sites and waits.

use std::sync::Arc;

use dwell_store::Manifest;

use super::raw::ReplayedTrace;
use crate::code::function::DataSymbol;
use crate::code::jit::Jit;
use crate::code::kernel::is_this_boot;
use crate::code::mappings::Mappings;
use crate::code::modules::{KERNEL, Modules};
use crate::code::sites::Sites;
use crate::code::symbols::{Answer, Request, SymbolPlace};
use crate::hash::FastMap;
use crate::objects::data_addresses;
use crate::replay::threads::ImageId;

/// The look-ups in each module.
pub struct SymbolRequests {
    /// By module.
    pub requests: Vec<Request>,
    /// For each request, the sites of its code addresses.
    pub sites: Vec<Vec<u32>>,
    /// For each request, the images and addresses of its data addresses.
    data: Vec<Vec<(ImageId, u64)>>,
    /// Modules that some code or data lies in.
    pub used: Vec<bool>,
}

impl SymbolRequests {
    /// The addresses of `sites` and of what was waited on, by module.
    pub fn new(raw: &ReplayedTrace<'_>, modules: &Modules, mappings: &Mappings, sites: &Sites, jit: &Arc<Jit>) -> Self {
        let count = modules.all().len();
        let requests = (0..count as u32).map(|number| Request {
            place: place_of(raw.manifest, modules, number, jit),
            code: Vec::new(),
            data: Vec::new(),
            shares: Vec::new(),
        });
        let mut plan = Self {
            requests: requests.collect(),
            sites: vec![Vec::new(); count],
            data: vec![Vec::new(); count],
            used: vec![false; count],
        };
        for (number, site) in sites.sites.keys().iter().enumerate() {
            let Some(request) = plan.requests.get_mut(site.module as usize) else { continue };
            request.code.push(site.lookup());
            plan.sites[site.module as usize].push(number as u32);
            plan.used[site.module as usize] = true;
        }
        for (image, address) in data_addresses(raw.replay.waits.keys(), &raw.replay.annotations.sync.objects) {
            let Some((module, inside)) = mappings.find_data(image, address, modules) else { continue };
            plan.requests[module as usize].data.push(inside);
            plan.data[module as usize].push((image, address));
        }
        plan
    }

    /// Says of each code address which share of the time its stacks have. `shares` is by site.
    pub fn set_shares(&mut self, shares: &[f64]) {
        for (request, sites) in self.requests.iter_mut().zip(&self.sites) {
            request.shares = sites.iter().map(|&site| shares[site as usize]).collect();
        }
    }

    /// The symbol of each data address.
    pub fn data_symbols(&self, answers: &[Answer]) -> FastMap<(ImageId, u64), DataSymbol> {
        let pairs = self.data.iter().zip(answers);
        let found = pairs.flat_map(|(waited, answer)| waited.iter().zip(&answer.data));
        found.filter_map(|(&waited, symbol)| Some((waited, symbol.clone()?))).collect()
    }
}

fn place_of(manifest: &Manifest, modules: &Modules, number: u32, jit: &Arc<Jit>) -> SymbolPlace {
    if number == KERNEL {
        return if is_this_boot(manifest) { SymbolPlace::Kernel } else { SymbolPlace::None };
    }
    if jit.is_module(number) {
        return SymbolPlace::Jit(Arc::clone(jit));
    }
    let module = modules.get(number);
    let file = module.and_then(|module| Some(SymbolPlace::File(module.file.clone()?, module.debug_file.clone())));
    file.unwrap_or(SymbolPlace::None)
}

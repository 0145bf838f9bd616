//! The distinct code addresses of all raw stacks, as places in modules.

use super::jit::Jit;
use super::mappings::Mappings;
use super::modules::{KERNEL, Module, Modules, UNKNOWN};
use crate::hash::FastMap;
use crate::input::meta::{Meta, RawStack};
use crate::interner::Interner;
use crate::replay::threads::ThreadTable;
use crate::replay::waits::StackKey;

/// A code address in a module. `exact` tells an instruction pointer from a return address, which belongs to the call
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Number of the module, `UNKNOWN` for none.
    pub module: u32,
    /// Address in the ELF file; the address itself for the kernel and without a module.
    pub address: u64,
    /// Whether it is an instruction pointer.
    pub exact: bool,
}

impl Site {
    /// The address whose function and line are meant.
    pub fn lookup(self) -> u64 {
        if self.exact { self.address } else { self.address.saturating_sub(1) }
    }
}

/// The sites of every raw stack.
#[derive(Default)]
pub struct Sites {
    /// Distinct sites.
    pub sites: Interner<Site>,
    by_key: FastMap<u64, Vec<u32>>,
    /// Stack keys that no record explains.
    pub missing: u64,
}

impl Sites {
    /// Finds the sites of every stack in `keys`.
    pub fn collect(&mut self, keys: &[StackKey], meta: &Meta, place: &mut dyn FnMut(RawStack, u64) -> (u32, u64)) {
        let parts = keys.iter().flat_map(|key| [key.user, key.kernel, key.asker.stack, key.asker.base]);
        for key in parts.filter(|&key| key != 0) {
            if self.by_key.contains_key(&key) {
                continue;
            }
            let Some(stack) = meta.stack(key) else {
                self.missing += 1;
                self.by_key.insert(key, Vec::new());
                continue;
            };
            let mut sites = Vec::with_capacity(meta.frames(stack).len());
            for (depth, &address) in meta.frames(stack).iter().enumerate() {
                let exact = depth == 0;
                let (module, address) = place(stack, if exact { address } else { address.saturating_sub(1) });
                let address = if exact { address } else { address.saturating_add(1) };
                sites.push(self.sites.intern(Site { module, address, exact }) as u32);
            }
            self.by_key.insert(key, sites);
        }
    }

    /// For each site the sum of the `shares` of the raw stacks `keys` that go through it, a recursive one once.
    pub fn shares(&self, shares: &[f64], keys: &[StackKey]) -> Vec<f64> {
        let mut sums = vec![0.0; self.sites.keys().len()];
        let mut seen = vec![u32::MAX; sums.len()];
        for (number, (key, share)) in keys.iter().zip(shares).enumerate().filter(|(_, (_, share))| **share > 0.0) {
            for &site in self.of(key.user).iter().chain(self.of(key.kernel)) {
                if std::mem::replace(&mut seen[site as usize], number as u32) != number as u32 {
                    sums[site as usize] += share;
                }
            }
        }
        sums
    }

    /// The sites of the stack of `key`, leaf first.
    pub fn of(&self, key: u64) -> &[u32] {
        self.by_key.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// Says where a raw stack's address lies: module and address in it.
pub fn place_in<'a>(
    thread_table: &'a ThreadTable,
    mappings: &'a mut Mappings,
    modules: &'a Modules,
    jit: &'a Jit,
    relative: &'a dyn Fn(u64) -> u64,
) -> impl FnMut(RawStack, u64) -> (u32, u64) + 'a {
    move |stack, address| {
        if stack.kernel {
            return (KERNEL, address);
        }
        let time_ns = relative(stack.time_ns);
        let image = thread_table.image_at(stack.tgid, time_ns);
        let found = image.and_then(|image| mappings.find(image, address, time_ns));
        let in_file = found.and_then(|map| modules.get(map.module)).is_some_and(Module::is_file);
        let made = || image.and_then(|image| jit.find(thread_table, image, address, time_ns));
        if let Some(place) = (!in_file).then(made).flatten() {
            return place;
        }
        let Some(map) = found else { return (UNKNOWN, address) };
        let offset = map.offset(address);
        (map.module, modules.get(map.module).map_or(offset, |module| module.address(offset)))
    }
}

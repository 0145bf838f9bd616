//! The mappings of each image at each time.
//!
//! The kernel tells of a new program's mappings a little before it tells of the exec, so that they are recorded under
//! the image that it replaces; a fork's mappings are its parent's, and nothing tells them. A look-up that finds nothing in an
//! image therefore goes on in the one that it came from.

use std::collections::HashSet;

use crate::code::modules::{Module, Modules};
use crate::hash::FastMap;
use crate::input::meta::RawMap;
use crate::replay::threads::{ImageId, ThreadTable};

const PAGE_BITS: u32 = 12;

/// A file mapped into an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    /// The file.
    pub module: u32,
    time_ns: u64,
}

impl Mapping {
    /// Where in the file `address` lies.
    pub fn offset(&self, address: u64) -> u64 {
        (address - self.start).wrapping_add(self.file_offset)
    }

    fn covers(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// An image and the one that it came from.
#[derive(Default)]
struct Image {
    maps: Vec<Mapping>,
    origin: Option<ImageId>,
    start_ns: u64,
    /// The one mapping over a page, where no second one ever was.
    pages: FastMap<u64, Option<Mapping>>,
}

impl Image {
    /// Leaves out repeated mappings, and counts offsets from the beginning of a whole region. Runtimes map the memory of
    /// their code bit by bit, and again whenever they change who may write to it; an offset in the region is the same from
    /// run to run if the runtime does the same.
    fn settle_anonymous(&mut self, is_anonymous: impl Fn(&Mapping) -> bool) {
        let mut seen = HashSet::new();
        self.maps.retain(|map| {
            if !is_anonymous(map) {
                seen.clear();
                return true;
            }
            seen.insert((map.start, map.end))
        });
        let mut anonymous: Vec<&mut Mapping> = self.maps.iter_mut().filter(|map| is_anonymous(map)).collect();
        anonymous.sort_by_key(|map| map.start);
        let (mut region, mut reach) = (0, 0);
        for map in anonymous {
            if map.start > reach {
                region = map.start;
            }
            reach = map.end.max(reach);
            map.file_offset = map.start - region;
        }
    }
}

/// The mappings of every image.
pub struct Mappings {
    images: Vec<Image>,
}

impl Mappings {
    /// Sorts the recorded mappings by image. `relative` makes a recorded time one of the tables'.
    pub fn new(
        maps: &[RawMap],
        thread_table: &ThreadTable,
        modules: &mut Modules,
        relative: &dyn Fn(u64) -> u64,
    ) -> Self {
        let images = thread_table.images.iter().map(|image| Image {
            origin: image.forked_from,
            start_ns: image.start_ns,
            ..Image::default()
        });
        let mut mappings = Self { images: images.collect() };
        for RawMap { header, path } in maps {
            let time_ns = relative(header.h.time_ns);
            let Some(image) = thread_table.image_at(header.h.tid, time_ns) else { continue };
            let module = modules.of_mapping(header, path);
            let end = header.start.saturating_add(header.length);
            let map = Mapping { start: header.start, end, file_offset: header.file_offset, module, time_ns };
            mappings.images[image as usize].maps.push(map);
        }
        for image in &mut mappings.images {
            image.maps.sort_by_key(|map| map.time_ns);
            image.settle_anonymous(|map| modules.get(map.module).is_some_and(Module::is_anonymous));
        }
        mappings
    }

    /// What was mapped at `address` of `image` at `time_ns`: the latest mapping until then; else the first after it,
    /// since mappings made before the collection are told late; else the same in the image that this one came from.
    pub fn find(&mut self, image: ImageId, address: u64, time_ns: u64) -> Option<Mapping> {
        let page = address >> PAGE_BITS;
        if let Some(&known) = self.images.get(image as usize)?.pages.get(&page) {
            return known.filter(|map| map.covers(address));
        }
        let found = self.search(image, address, time_ns);
        let over_page = |map: &&Mapping| map.start >> PAGE_BITS <= page && map.end > page << PAGE_BITS;
        let image = self.images.get_mut(image as usize)?;
        if image.maps.iter().filter(over_page).count() == 1 {
            image.pages.insert(page, found);
        }
        found
    }

    fn search(&self, mut image: ImageId, address: u64, mut time_ns: u64) -> Option<Mapping> {
        loop {
            let here = self.images.get(image as usize)?;
            let until = here.maps.partition_point(|map| map.time_ns <= time_ns);
            let (before, after) = here.maps.split_at(until);
            let covers = |map: &&Mapping| map.covers(address);
            if let Some(&map) = before.iter().rev().find(covers).or_else(|| after.iter().find(covers)) {
                return Some(map);
            }
            time_ns = time_ns.min(here.start_ns);
            // An image's origin was made before it: this ends.
            image = here.origin.filter(|&origin| origin < image)?;
        }
    }

    /// The module whose data lies at `address` of `image`, and the address in its ELF file.
    pub fn find_data(&self, mut image: ImageId, address: u64, modules: &Modules) -> Option<(u32, u64)> {
        loop {
            let here = self.images.get(image as usize)?;
            for map in here.maps.iter().rev() {
                let Some(module) = modules.get(map.module) else { continue };
                let bias = map.start.wrapping_sub(module.address(map.file_offset));
                let inside = address.wrapping_sub(bias);
                if module.is_data(inside) {
                    return Some((map.module, inside));
                }
            }
            image = here.origin.filter(|&origin| origin < image)?;
        }
    }

    /// The image whose memory `image` shares where both map the same: the first of its forks.
    pub fn fork_root(thread_table: &ThreadTable, mut image: ImageId) -> ImageId {
        while let Some(origin) = thread_table.images.get(image as usize).and_then(|image| image.forked_from) {
            if origin >= image {
                break;
            }
            image = origin;
        }
        image
    }
}

//! Which file the code of an emulated program is from: QEMU maps its files as the kernel would, so that /proc/self/maps
//! tells, when one knows how far a guest address is from the host's.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_itrace::{Message, NO_MODULE};

use crate::api;

/// Whether the program has changed its mappings since they were read.
static CHANGED: AtomicBool = AtomicBool::new(true);

/// System calls that change mappings: mmap, mprotect, munmap, mremap, shmat.
const CHANGING: [i64; 5] = [9, 10, 11, 25, 30];

/// Called when a system call returns.
pub extern "C" fn on_return(_: api::Id, _: c_uint, number: i64, _: i64) {
    if CHANGING.contains(&number) {
        CHANGED.store(true, Ordering::Relaxed);
    }
}

/// The mappings as they were last read.
#[derive(Default)]
pub struct Maps {
    mappings: Vec<Mapping>,
    /// Those that were told, by number.
    told: Vec<(Mapping, u64)>,
}

#[derive(Clone, PartialEq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: Vec<u8>,
}

impl Maps {
    /// The number of the module with the code at a guest address, which is at `place` in this process; tells of it when it is new.
    pub fn module_at(&mut self, address: u64, place: u64, tell: &mut dyn FnMut(Message)) -> u32 {
        if CHANGED.swap(false, Ordering::Relaxed) || self.mapping(place).is_none() {
            self.mappings = std::fs::read("/proc/self/maps").map(|text| parse(&text)).unwrap_or_default();
        }
        let Some(mapping) = self.mapping(place).filter(|it| it.path.first() == Some(&b'/')).cloned() else {
            return NO_MODULE;
        };
        let base = place.wrapping_sub(address);
        if let Some(known) = self.told.iter().position(|it| it.0 == mapping && it.1 == base) {
            return known as u32;
        }
        tell(Message::Module {
            start: mapping.start.wrapping_sub(base),
            end: mapping.end.wrapping_sub(base),
            offset: mapping.offset,
            path: mapping.path.clone(),
        });
        self.told.push((mapping, base));
        self.told.len() as u32 - 1
    }

    fn mapping(&self, place: u64) -> Option<&Mapping> {
        let behind = self.mappings.partition_point(|it| it.start <= place);
        self.mappings.get(behind.checked_sub(1)?).filter(|it| place < it.end)
    }
}

/// The lines of /proc/PID/maps: `start-end access offset device inode  path`.
fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(mapping_of_line).collect()
}

fn mapping_of_line(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |&byte| byte == b' ');
    let range = std::str::from_utf8(words.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = number(std::str::from_utf8(words.nth(1)?).ok()?)?;
    let path = words.nth(2)?.trim_ascii().to_vec();
    Some(Mapping { start: number(start)?, end: number(end)?, offset, path })
}

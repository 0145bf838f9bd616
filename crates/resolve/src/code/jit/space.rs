//! The pieces of code of all maps and logs, laid end to end in one space of addresses: a place there names one piece,
//! whatever lay at its address before and after.

use std::collections::BTreeMap;
use std::io::Read;

use dwell_model::{Notice, notice};
use dwell_store::raw::wire::{JAVA_INTERPRETER, is_interpreted_method};
use dwell_store::{Folder, KeptFile};

use super::dump::parse as parse_dump;
use super::perf_map::parse as parse_perf_map;
use super::piece::{CodePiece, MOST_PIECES};
use crate::code::function::Function;
use crate::code::modules::Modules;
use crate::hash::FastMap;
use crate::replay::threads::{ImageId, ThreadTable};

/// More of a file than this is not read; the collector keeps no larger ones.
const MOST_BYTES: u64 = 256 << 20;
/// Pieces that a look-up passes over at most: overlapping pieces are rare, but a program may write what it likes.
const MOST_STEPS: usize = 1000;

/// One map or log.
struct Table {
    module: u32,
    /// By start.
    codes: Vec<CodePiece>,
    /// The furthest end of the pieces up to each.
    reach: Vec<u64>,
    /// Where each piece is in the space of all.
    bases: Vec<u64>,
    /// The place of a JVM's interpreter in that space.
    interpreter: Option<u64>,
}

/// Every map and log of a result.
#[derive(Default)]
pub struct Jit {
    tables: Vec<Table>,
    of_image: FastMap<ImageId, Vec<usize>>,
    /// First address of each piece in the space of all, ascending, with its table and number.
    space: Vec<(u64, usize, usize)>,
    end: u64,
    /// There are as many pieces as are kept.
    full: bool,
    /// What could not be read, a sentence each.
    pub notices: Vec<Notice>,
}

impl Jit {
    /// Reads what the collector kept, in the result's folder of modules. `relative` makes a recorded time one of the tables'.
    pub fn load(
        kept: Option<&Folder>,
        thread_table: &ThreadTable,
        modules: &mut Modules,
        relative: &dyn Fn(u64) -> u64,
    ) -> Self {
        let mut jit = Self::default();
        let Some(kept) = kept else { return jit };
        // In order: logs before maps, which tell no times.
        let names = kept.names().unwrap_or_default();
        for name in names.into_iter().filter_map(|name| name.into_string().ok()) {
            let (tgid, time_ns) = match KeptFile::parse(&name) {
                Some(KeptFile::PerfMap { tgid, time_ns } | KeptFile::JitDump { tgid, time_ns }) => (tgid, time_ns),
                _ => continue,
            };
            let Some(image) = thread_table.image_at(tgid, relative(time_ns)) else { continue };
            let most_pieces = MOST_PIECES.saturating_sub(jit.space.len());
            let codes = jit.read(kept, &name, most_pieces, relative);
            let process = thread_table.images.get(image as usize).map(|image| thread_table.process_name(image.process));
            let module = modules.of_jit(process.unwrap_or_default());
            jit.add(image, module, codes);
            if jit.full {
                break;
            }
        }
        jit
    }

    /// Adds the pieces that a process of id `tgid` told of, at recorded times. `relative` as above.
    pub fn add_announced(
        &mut self,
        (tgid, codes): (u32, Vec<CodePiece>),
        thread_table: &ThreadTable,
        modules: &mut Modules,
        relative: &dyn Fn(u64) -> u64,
    ) {
        let Some(first_ns) = codes.iter().map(|code| code.from_ns).min() else { return };
        let Some(image) = thread_table.image_at(tgid, relative(first_ns)) else { return };
        let most_pieces = MOST_PIECES.saturating_sub(self.space.len());
        let mut codes = self.first_of(codes, "what a program told through ITT", most_pieces);
        codes.iter_mut().for_each(|code| code.make_relative(relative));
        let process = thread_table.images.get(image as usize).map(|image| thread_table.process_name(image.process));
        let module = modules.of_jit(process.unwrap_or_default());
        self.add(image, module, codes);
    }

    /// How many of some addresses within and beside the pieces have a name.
    pub fn of_codes(codes: Vec<CodePiece>) -> usize {
        let addresses: Vec<u64> =
            codes.iter().flat_map(|code| [code.start, code.end - 1, code.end]).take(1000).collect();
        let mut jit = Self::default();
        jit.add(0, 0, codes);
        let named = |address: &u64| {
            jit.find(&ThreadTable::default(), 0, *address, 5).and_then(|(_, at)| jit.functions_at(at).pop())
        };
        addresses.iter().filter_map(named).count()
    }

    /// The pieces in the file of this name, `most_pieces` of them at most.
    fn read(&mut self, kept: &Folder, name: &str, most_pieces: usize, relative: &dyn Fn(u64) -> u64) -> Vec<CodePiece> {
        let mut bytes = Vec::new();
        let read = kept.read(name).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
        if let Err(error) = read {
            self.notices.push(notice!(CODE_MAP_UNREAD, name = name, error = error));
        }
        if name.ends_with(".map") {
            let codes = parse_perf_map(&bytes).take(most_pieces.saturating_add(1)).collect();
            return self.first_of(codes, &format!("modules/{name}"), most_pieces);
        }
        let dump = parse_dump(&bytes, most_pieces.saturating_add(1));
        if let Some(fault) = dump.fault {
            let count = dump.codes.len();
            self.notices.push(notice!(CODE_MAP_DAMAGED, name = name, fault = fault, pieces = count));
        }
        let mut codes = self.first_of(dump.codes, &format!("modules/{name}"), most_pieces);
        codes.iter_mut().for_each(|code| code.make_relative(relative));
        codes
    }

    fn first_of(&mut self, mut codes: Vec<CodePiece>, name: &str, most_pieces: usize) -> Vec<CodePiece> {
        if codes.len() > most_pieces {
            codes.truncate(most_pieces);
            self.full = true;
            self.notices.push(notice!(CODE_MAP_CUT, name = name, most = MOST_PIECES));
        }
        codes
    }

    /// Adds the pieces that lie in `module`, of the program `image`.
    pub fn add(&mut self, image: ImageId, module: u32, mut codes: Vec<CodePiece>) {
        end_replaced(&mut codes);
        codes.retain(|code| code.from_ns < code.until_ns);
        codes.sort_by_key(|code| (code.start, code.from_ns));
        let number = self.tables.len();
        codes.iter_mut().for_each(CodePiece::sort_calls);
        let mut table = Table { module, codes, reach: Vec::new(), bases: Vec::new(), interpreter: None };
        let mut reach = 0;
        for (index, code) in table.codes.iter().enumerate() {
            reach = code.end.max(reach);
            table.reach.push(reach);
            table.bases.push(self.end);
            if table.interpreter.is_none() && code.function.name == JAVA_INTERPRETER {
                table.interpreter = Some(self.end);
            }
            self.space.push((self.end, number, index));
            self.end = self.end.saturating_add(code.end - code.start);
        }
        self.tables.push(table);
        self.of_image.entry(image).or_default().push(number);
    }

    /// The piece of code at `address` of `image` at `time_ns`: its module, and the address in the space of all pieces. Of an
    /// interpreted method that nothing names, the interpreter.
    pub fn find(
        &self,
        thread_table: &ThreadTable,
        mut image: ImageId,
        address: u64,
        mut time_ns: u64,
    ) -> Option<(u32, u64)> {
        if self.tables.is_empty() {
            return None;
        }
        loop {
            let numbers = self.of_image.get(&image).map_or(&[][..], Vec::as_slice);
            let tables = || numbers.iter().filter_map(|&number| self.tables.get(number));
            let found = tables().find_map(|table| Some((table.module, table.find(address, time_ns)?)));
            let is_method = is_interpreted_method(address);
            let interpreter = || tables().find_map(|table| Some((table.module, table.interpreter?)));
            let found = found.or_else(|| is_method.then(interpreter).flatten());
            if found.is_some() {
                return found;
            }
            // A fork has what its parent had made until then.
            let here = thread_table.images.get(image as usize)?;
            time_ns = time_ns.min(here.start_ns);
            image = here.forked_from.filter(|&origin| origin < image)?;
        }
    }

    /// Whether pieces of code lie in this module.
    pub fn is_module(&self, module: u32) -> bool {
        self.tables.iter().any(|table| table.module == module)
    }

    /// The function at an address that `find` gave, then what is inlined into it there; none where nothing is known.
    pub fn functions_at(&self, place: u64) -> Vec<Function> {
        self.piece_at(place).map(|(code, address)| code.functions_at(address)).unwrap_or_default()
    }

    /// The piece of code at such an address, and where it is in memory.
    fn piece_at(&self, place: u64) -> Option<(&CodePiece, u64)> {
        let after = self.space.partition_point(|&(base, ..)| base <= place);
        let &(base, table, index) = self.space.get(after.checked_sub(1)?)?;
        let code = self.tables.get(table)?.codes.get(index)?;
        let address = code.start.checked_add(place - base).filter(|&address| address < code.end)?;
        Some((code, address))
    }
}

impl Table {
    /// What lived at `address` then; or, when nothing was there before, what came first: some runtimes tell of their
    /// code a little after it began to run.
    fn find(&self, address: u64, time_ns: u64) -> Option<u64> {
        let after = self.codes.partition_point(|code| code.start <= address);
        let mut best: Option<(bool, u64, usize)> = None;
        for index in (0..after).rev().take(MOST_STEPS) {
            if self.reach[index] <= address {
                break;
            }
            let code = &self.codes[index];
            if address >= code.end || code.until_ns <= time_ns {
                continue;
            }
            // Those that lived then first, the latest of them; then those that came later, the first of them.
            let lived = code.from_ns <= time_ns;
            let rank = if lived { code.from_ns } else { u64::MAX - code.from_ns };
            best = best.max(Some((lived, rank, index)));
        }
        let (lived, _, index) = best?;
        if !lived && self.was_used_before(address, time_ns, after) {
            return None;
        }
        Some(self.bases[index] + (address - self.codes[index].start))
    }

    fn was_used_before(&self, address: u64, time_ns: u64, after: usize) -> bool {
        let earlier = self.codes[..after].iter().rev().take(MOST_STEPS);
        earlier.into_iter().any(|code| address < code.end && code.until_ns <= time_ns)
    }
}

/// A piece that is loaded ends those that it covers.
fn end_replaced(codes: &mut [CodePiece]) {
    let mut living: BTreeMap<u64, usize> = BTreeMap::new();
    for index in 0..codes.len() {
        let (start, end, from_ns) = (codes[index].start, codes[index].end, codes[index].from_ns);
        let covers = |codes: &[CodePiece], at: usize| codes[at].end > start;
        while let Some((&key, &at)) = living.range(..end).next_back().filter(|&(_, &at)| covers(codes, at)) {
            codes[at].until_ns = codes[at].until_ns.min(from_ns);
            living.remove(&key);
        }
        living.insert(start, index);
    }
}

#[cfg(test)]
mod tests {
    use dwell_store::raw::wire::INTERPRETED_METHOD;

    use super::*;
    use crate::code::jit::dump;

    fn jit(codes: Vec<CodePiece>) -> Jit {
        let mut jit = Jit::default();
        jit.add(0, 5, codes);
        jit
    }

    fn named(jit: &Jit, address: u64, time_ns: u64) -> Option<String> {
        let (module, place) = jit.find(&ThreadTable::default(), 0, address, time_ns)?;
        assert_eq!(module, 5);
        Some(jit.functions_at(place).pop().expect("a function").name)
    }

    #[test]
    fn the_later_line_of_a_map_holds() {
        let jit = jit(parse_perf_map(b"1000 20 old\n3000 10 kept\n1010 20 new\n").collect());
        let name = |address| named(&jit, address, 7);
        assert_eq!(name(0x1015).as_deref(), Some("new"));
        assert_eq!(name(0x1005), None, "the space of the old one was used again");
        assert_eq!(name(0x300f).as_deref(), Some("kept"));
        assert_eq!(name(0x3010), None);
    }

    #[test]
    fn methods_come_and_go() {
        let mut log = dump::tests::log();
        dump::tests::load(&mut log, 10, 0x1000, 0x20, "first");
        dump::tests::load(&mut log, 50, 0x1000, 0x10, "second");
        dump::tests::load(&mut log, 90, 0x1008, 0x40, "third");
        let jit = jit(parse_dump(&log, 100).codes);
        let name = |address, time_ns| named(&jit, address, time_ns);
        assert_eq!(name(0x1004, 20).as_deref(), Some("first"));
        assert_eq!(name(0x1004, 50).as_deref(), Some("second"));
        assert_eq!(name(0x1018, 60), None, "the first one is gone, the third not there yet");
        assert_eq!(name(0x1018, 95).as_deref(), Some("third"));
        assert_eq!(name(0x1004, 95), None);
        assert_eq!(name(0x1004, 5).as_deref(), Some("first"), "told a little late");
    }

    #[test]
    fn interpreted_methods_have_names_or_are_the_interpreter() {
        let (known, unknown) = (INTERPRETED_METHOD | 0x7f00_1230, INTERPRETED_METHOD | 0x7f00_4560);
        let mut log = dump::tests::log();
        dump::tests::load(&mut log, 10, 0x1000, 0x200, JAVA_INTERPRETER);
        dump::tests::load(&mut log, 20, known - 1, 2, "com.example.Pool.take");
        dump::tests::load(&mut log, 90, known - 1, 2, "com.example.Pool.put");
        let jit = jit(parse_dump(&log, 100).codes);
        let name = |address, time_ns| named(&jit, address, time_ns);
        assert_eq!(name(known, 20).as_deref(), Some("com.example.Pool.take"));
        assert_eq!(name(known - 1, 15).as_deref(), Some("com.example.Pool.take"), "a caller's, told a little late");
        assert_eq!(name(known, 95).as_deref(), Some("com.example.Pool.put"));
        assert_eq!(name(unknown, 50).as_deref(), Some(JAVA_INTERPRETER));
        assert_eq!(name(0x7f00_4560, 50), None, "it is no method");
    }

    #[test]
    fn pieces_of_two_maps_have_places_of_their_own() {
        let mut jit = jit(parse_perf_map(b"1000 20 one\n").collect());
        jit.add(1, 6, parse_perf_map(b"1000 20 two\n").collect());
        let thread_table = ThreadTable::default();
        let (one, two) = (jit.find(&thread_table, 0, 0x1001, 0), jit.find(&thread_table, 1, 0x1001, 0));
        assert_eq!((one, two), (Some((5, 1)), Some((6, 0x21))));
        assert_eq!(jit.functions_at(0x21).pop().map(|function| function.name).as_deref(), Some("two"));
        assert_eq!(jit.functions_at(0x40), []);
    }

    #[test]
    fn many_pieces_over_one_address_take_no_time() {
        let map: String = (0..20_000).map(|size| format!("1000 {:x} f\n", size + 1)).collect();
        let jit = jit(parse_perf_map(map.as_bytes()).collect());
        assert_eq!(named(&jit, 0x1000, 0).as_deref(), Some("f"));
    }

    #[test]
    fn pieces_without_bound_are_cut_off_and_told() {
        let folder = tempfile::tempdir().expect("folder");
        let kept = Folder::open(folder.path()).expect("folder");
        std::fs::write(folder.path().join("perf-1.map"), "1 1 a\n2 1 b\n3 1 c\n4 ffffffffffffffff d\n").expect("map");
        let read = |most_pieces| {
            let mut jit = Jit::default();
            let codes = jit.read(&kept, "perf-1.map", most_pieces, &|time_ns| time_ns);
            (codes.len(), jit.full, jit.notices.len())
        };
        assert_eq!(read(2), (2, true, 1));
        assert_eq!(read(3), (3, false, 0), "a piece over all memory is none");
    }

    #[test]
    fn moves_cost_no_copies() {
        let mut log = dump::tests::log();
        dump::tests::load_and_move(&mut log, 20_000, 5_000);
        let begun = std::time::Instant::now();
        let dump = parse_dump(&log, MOST_PIECES);
        assert_eq!((dump.codes.len(), dump.fault), (5_001, None));
        assert_eq!(dump.codes[5_000].function_at(dump.codes[5_000].start + 7).line, 8);
        assert!(begun.elapsed().as_secs() < 20, "100 million lines were copied");
        assert_eq!(parse_dump(&log, 10).codes.len(), 10);
    }
}

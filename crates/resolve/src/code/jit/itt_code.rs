//! Code made at run time that programs announce through ITT's interface for compilers (`iJIT_NotifyEvent`,
//! `__itt_module_load`, `__itt_module_load_with_sections`).
//!
//! Left out: methods that are inlined into others, and the lines of objects in memory.

use std::collections::HashMap;
use std::sync::Arc;

use dwell_itt_wire::{Lines, Method, Name};
use dwell_store::raw::wire::IttHeader;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};

use super::names::{readable, shown};
use super::piece::{CodePiece, Line, MOST_PIECES, end_of};
use crate::code::demangle::readable as demangled;
use crate::code::function::Function;
use crate::input::ticks::time_ns;

/// Section with code.
const TEXT: u32 = 3;
/// Most bytes of an object in memory.
const MOST_OBJECT_BYTES: u64 = 64 << 20;
/// Most bytes of all of them that are held at once.
const MOST_BYTES_HELD: u64 = 256 << 20;

/// An object file in memory, while it is told of.
#[derive(Default)]
struct Loading {
    module: u64,
    bytes: Vec<u8>,
    sections: Vec<Section>,
}

/// Where a section of it lies.
struct Section {
    name: String,
    address: u64,
    from_ns: u64,
}

/// What one program told of its code.
#[derive(Default)]
pub struct AnnouncedCode {
    /// The pieces, in the order in which they were told.
    pub codes: Vec<CodePiece>,
    /// Where the latest method of each number, and the module at each start, is in `codes`.
    methods: HashMap<u32, usize>,
    modules: HashMap<u64, usize>,
    /// Lines of pieces, by their number: a long table comes in several records.
    lines: HashMap<usize, Vec<(u32, u32)>>,
    objects: HashMap<u32, Loading>,
    /// When an object was unloaded, by its module.
    unloaded: HashMap<u64, u64>,
}

/// What all programs together may still tell.
pub struct AnnouncedBudget {
    /// Bytes of objects in memory.
    bytes: u64,
    /// Pieces of code, sections included.
    pieces: usize,
    /// What had no room.
    pub refused: u64,
}

impl Default for AnnouncedBudget {
    fn default() -> Self {
        Self { bytes: MOST_BYTES_HELD, pieces: MOST_PIECES, refused: 0 }
    }
}

impl AnnouncedBudget {
    /// Takes a piece's, if there is some left.
    fn take_piece(&mut self) -> bool {
        let is_left = self.pieces > 0;
        self.pieces = self.pieces.saturating_sub(1);
        self.refused += u64::from(!is_left);
        is_left
    }
}

impl AnnouncedCode {
    /// Takes what was told at `time_ns`.
    pub fn take(&mut self, time_ns: u64, name: &Name<'_>, budget: &mut AnnouncedBudget) {
        match *name {
            Name::Method(method) if method.parent == 0 => self.method(time_ns, &method, budget),
            Name::MethodLines { id, address, lines } => self.lines(id, address, &lines),
            Name::MethodUnload { id } => {
                let at = self.methods.remove(&id);
                self.end(at, time_ns);
            }
            Name::ModuleLoad { start, end, path } => {
                let function = Function { name: format!("[{}]", base(path)), ..Function::default() };
                self.modules.insert(start, self.codes.len());
                self.push((start, end.saturating_sub(start)), time_ns, function, budget);
            }
            Name::ModuleUnload { start } => {
                let at = self.modules.remove(&start);
                self.end(at, time_ns);
            }
            Name::Object { id, module, .. } => {
                let replaced = self.objects.insert(id, Loading { module, ..Loading::default() });
                budget.bytes += replaced.map_or(0, |object| object.bytes.len() as u64);
            }
            Name::Section { object, kind: TEXT, address, name, .. } => {
                if let Some(loading) = self.objects.get_mut(&object)
                    && budget.take_piece()
                {
                    let name = String::from_utf8_lossy(name).into_owned();
                    loading.sections.push(Section { name, address, from_ns: time_ns });
                }
            }
            Name::ObjectBytes { object, offset, bytes } => self.object_bytes(object, offset, bytes, budget),
            Name::ObjectUnload { module } => {
                self.unloaded.insert(module, time_ns);
            }
            _ => {}
        }
    }

    fn push(&mut self, (start, size): (u64, u64), from_ns: u64, function: Function, budget: &mut AnnouncedBudget) {
        let Some(end) = end_of(start, size).filter(|_| budget.take_piece()) else { return };
        let (function, lines) = (Arc::new(function), Arc::default());
        self.codes.push(CodePiece { start, end, from_ns, until_ns: u64::MAX, function, lines, calls: Vec::new() });
    }

    fn end(&mut self, at: Option<usize>, time_ns: u64) {
        if let Some(code) = at.and_then(|at| self.codes.get_mut(at)) {
            code.until_ns = time_ns;
        }
    }

    fn method(&mut self, time_ns: u64, method: &Method<'_>, budget: &mut AnnouncedBudget) {
        let text = |bytes| String::from_utf8_lossy(bytes);
        let (class, name, source) = (text(method.class), text(method.name), text(method.source));
        let name = if class.is_empty() { name.into_owned() } else { format!("{class}.{name}") };
        let mut function = readable(&demangled(name));
        if function.file.is_empty() {
            function.file = shown(&source);
        }
        self.methods.insert(method.id, self.codes.len());
        self.push((method.address, method.size), time_ns, function, budget);
    }

    fn lines(&mut self, id: u32, address: u64, lines: &Lines<'_>) {
        let of_method = self.methods.get(&id).copied();
        if let Some(at) = of_method.filter(|&at| self.codes.get(at).is_some_and(|code| code.start == address)) {
            self.lines.entry(at).or_default().extend(lines.iter());
        }
    }

    fn add_lines(&mut self) {
        for (at, lines) in std::mem::take(&mut self.lines) {
            let Some(code) = self.codes.get_mut(at) else { continue };
            let file: Arc<str> = code.function.file.as_str().into();
            let length = code.end - code.start;
            let line = |(offset, line): (u32, u32)| Line { offset: u64::from(offset), line, file: Arc::clone(&file) };
            let mut lines: Vec<Line> = lines.into_iter().map(line).filter(|line| line.offset < length).collect();
            lines.sort_by_key(|line| line.offset);
            code.lines = lines.into();
        }
    }

    fn object_bytes(&mut self, object: u32, offset: u64, bytes: &[u8], budget: &mut AnnouncedBudget) {
        let Some(loading) = self.objects.get_mut(&object) else { return };
        let end = offset.saturating_add(bytes.len() as u64);
        let more = end.saturating_sub(loading.bytes.len() as u64);
        if end > MOST_OBJECT_BYTES || more > budget.bytes {
            budget.refused += 1;
            return;
        }
        budget.bytes -= more;
        if more > 0 {
            loading.bytes.resize(end as usize, 0);
        }
        loading.bytes[offset as usize..end as usize].copy_from_slice(bytes);
    }

    /// The pieces, those of the objects in memory included.
    pub fn finish(mut self, budget: &mut AnnouncedBudget) -> Vec<CodePiece> {
        self.add_lines();
        let mut objects: Vec<(u32, Loading)> = std::mem::take(&mut self.objects).into_iter().collect();
        objects.sort_by_key(|(id, _)| *id);
        for (_, loading) in objects {
            self.add_object(&loading, budget);
        }
        self.codes.sort_by_key(|code| code.from_ns);
        self.codes
    }

    fn add_object(&mut self, loading: &Loading, budget: &mut AnnouncedBudget) {
        let Ok(file) = object::File::parse(&*loading.bytes) else { return };
        let until_ns = self.unloaded.get(&loading.module).copied().unwrap_or(u64::MAX);
        // Symbols of an object file lie so far into their section, whatever address LLVM has written into it.
        let relocatable = file.kind() == ObjectKind::Relocatable;
        let mut sections: HashMap<&str, &Section> = HashMap::new();
        for section in &loading.sections {
            sections.entry(&section.name).or_insert(section);
        }
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            let Some(section) = section else { continue };
            let Some(&loaded) = section.name().ok().and_then(|name| sections.get(name)) else { continue };
            let base = if relocatable { 0 } else { section.address() };
            let start = loaded.address.wrapping_add(symbol.address().wrapping_sub(base));
            let name = String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default()).into_owned();
            let function = readable(&demangled(name));
            let at = self.codes.len();
            self.push((start, symbol.size()), loaded.from_ns, function, budget);
            if until_ns > loaded.from_ns {
                self.end(Some(at), until_ns);
            }
        }
    }
}

/// What every program told of its code.
#[derive(Default)]
pub struct AnnouncedCodes {
    /// By the program's file, with the process's id.
    sources: HashMap<u32, (u32, AnnouncedCode)>,
    /// Room for code, and what had none.
    pub budget: AnnouncedBudget,
}

impl AnnouncedCodes {
    /// Takes what an ITT_NAMES record tells of code.
    pub fn take(&mut self, header: &IttHeader, bytes: &[u8]) {
        for named in dwell_itt_wire::names(bytes).filter(|named| is_code(&named.name)) {
            let (_, code) =
                self.sources.entry(header.source).or_insert_with(|| (header.tgid, AnnouncedCode::default()));
            code.take(time_ns(header, named.ticks), &named.name, &mut self.budget);
        }
    }

    /// The code that each process made, by the process's id.
    pub fn take_all(&mut self) -> Vec<(u32, Vec<CodePiece>)> {
        let mut sources: Vec<(u32, (u32, AnnouncedCode))> = std::mem::take(&mut self.sources).into_iter().collect();
        sources.sort_by_key(|(source, _)| *source);
        let budget = &mut self.budget;
        sources.into_iter().map(|(_, (tgid, code))| (tgid, code.finish(budget))).collect()
    }
}

/// Whether the record is about code.
fn is_code(name: &Name<'_>) -> bool {
    use Name::{
        Method, MethodLines, MethodUnload, ModuleLoad, ModuleUnload, Object, ObjectBytes, ObjectUnload, Section,
    };
    matches!(
        name,
        Method(_)
            | MethodLines { .. }
            | MethodUnload { .. }
            | ModuleLoad { .. }
            | ModuleUnload { .. }
            | Object { .. }
            | Section { .. }
            | ObjectBytes { .. }
            | ObjectUnload { .. }
    )
}

fn base(path: &[u8]) -> String {
    let path = shown(&String::from_utf8_lossy(path));
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::jit::Jit;
    use crate::replay::threads::ThreadTable;

    fn jit(told: &[(u64, Name<'_>)]) -> Jit {
        let (mut code, mut budget) = (AnnouncedCode::default(), AnnouncedBudget::default());
        for (time_ns, name) in told {
            code.take(*time_ns, name, &mut budget);
        }
        let mut jit = Jit::default();
        jit.add(0, 5, code.finish(&mut budget));
        assert_eq!(budget.refused, 0);
        jit
    }

    fn at(jit: &Jit, address: u64, time_ns: u64) -> Option<Function> {
        let (_, place) = jit.find(&ThreadTable::default(), 0, address, time_ns)?;
        jit.functions_at(place).pop()
    }

    fn method(id: u32, address: u64, name: &'static [u8]) -> Name<'static> {
        Name::Method(Method { id, address, size: 0x20, name, class: b"Pool", source: b"/a.js", ..Method::default() })
    }

    #[test]
    fn methods_have_names_and_lines_while_they_are_there() {
        let jit = jit(&[
            (10, method(1, 0x1000, b"run")),
            (10, Name::MethodLines { id: 1, address: 0x1000, lines: Lines::Given(&[(0, 7), (0x10, 9)]) }),
            (10, Name::MethodLines { id: 1, address: 0x9999, lines: Lines::Given(&[(0, 1)]) }),
            (20, Name::MethodUnload { id: 1 }),
            (30, method(2, 0x1000, b"stop")),
            (40, Name::ModuleLoad { start: 0x8000, end: 0x9000, path: b"/lib/plugin.bin" }),
        ]);
        let function = |address, time_ns| at(&jit, address, time_ns).map(|it| (it.name, it.file, it.line));
        assert_eq!(function(0x1012, 15), Some(("Pool.run".into(), "/a.js".into(), 9)));
        assert_eq!(function(0x1012, 25), None);
        assert_eq!(function(0x1012, 35), Some(("Pool.stop".into(), "/a.js".into(), 0)));
        assert_eq!(function(0x8123, 50).map(|it| it.0), Some("[plugin.bin]".into()));
    }

    #[test]
    fn an_object_in_memory_names_what_lies_in_its_sections() {
        let mut object = object::write::Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::X86_64,
            object::Endianness::Little,
        );
        let text = object.section_id(object::write::StandardSection::Text);
        for (name, value) in [(&b"first"[..], 0), (b"second", 0x20)] {
            object.add_symbol(object::write::Symbol {
                name: name.to_vec(),
                value,
                size: 0x20,
                kind: SymbolKind::Text,
                scope: object::SymbolScope::Linkage,
                weak: false,
                section: object::write::SymbolSection::Section(text),
                flags: object::SymbolFlags::None,
            });
        }
        object.append_section_data(text, &[0x90; 0x40], 16);
        let mut bytes = object.write().expect("an object");
        // As LLVM does: the first section's address, in its header.
        let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().expect("8 bytes")) as usize;
        bytes[headers + 64 + 16..headers + 64 + 24].copy_from_slice(&0x7000_u64.to_le_bytes());
        let section =
            |kind, name| Name::Section { object: 4, kind, flags: 0, address: 0x7000, size: 0x40, file_offset: 0, name };
        let (first, rest) = bytes.split_at(100);
        let told = [
            (1, Name::Object { id: 4, module: 9, bytes: bytes.len() as u64, name: b"jit" }),
            (1, section(TEXT, b".text")),
            (1, section(2, b".data")),
            (1, Name::ObjectBytes { object: 4, offset: 100, bytes: rest }),
            (1, Name::ObjectBytes { object: 4, offset: 0, bytes: first }),
            (50, Name::ObjectUnload { module: 9 }),
        ];
        let jit = jit(&told);
        assert_eq!(at(&jit, 0x7021, 10).map(|function| function.name), Some("second".into()));
        assert_eq!(at(&jit, 0x7021, 60), None);
    }
}

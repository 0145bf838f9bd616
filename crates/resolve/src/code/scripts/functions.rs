//! Functions of scripts as the collector described them, and the rows of their frames.

use dwell_model::ModuleId;
use dwell_store::raw::wire::{ScriptFrame, ScriptFunctionHeader, script_language};
use dwell_store::tables::FrameRow;

use super::python::line_of;
use super::ruby;
use crate::code::modules::Modules;
use crate::hash::FastMap;
use crate::input::meta::Meta;

/// What a function is called whose record was lost.
pub const NAMELESS: &str = "[unknown] Python function";

/// A function of a script.
struct Function {
    module: ModuleId,
    name: String,
    file: String,
    version: u8,
    language: u8,
    first_line: u32,
    table: Box<[u8]>,
}

impl Function {
    fn line(&self, instruction: i32) -> u32 {
        let line = match self.language {
            script_language::PYTHON => line_of(self.version, &self.table, self.first_line, instruction),
            script_language::RUBY => ruby::line_of(&self.table, instruction),
            _ => u32::try_from(instruction).ok().filter(|line| *line > 0),
        };
        line.unwrap_or(self.first_line)
    }
}

/// All functions of scripts in a trace, and the rows of those of their instructions that were met.
#[derive(Default)]
pub struct Functions {
    by_key: FastMap<u64, Function>,
}

impl Functions {
    /// The functions that `meta` describes; their files become modules.
    pub fn new(meta: &Meta, modules: &mut Modules) -> Self {
        let function = |(&key, (header, table)): (&u64, &(ScriptFunctionHeader, Box<[u8]>))| {
            let file = text(&header.file, header.file_bytes, header.file_kind);
            let number = (!file.is_empty()).then(|| modules.of_scripts(&file));
            let function = Function {
                module: number.map_or(ModuleId::NONE, |number| ModuleId::new(number as usize)),
                name: name_of(header, table),
                file,
                version: header.version,
                language: header.language,
                first_line: header.first_line,
                table: table.clone(),
            };
            (key, function)
        };
        Self { by_key: meta.script_functions().map(function).collect() }
    }

    /// The row of a frame. Its offset tells the function by its first line, and the instruction: the same in every run.
    pub fn row(&self, frame: &ScriptFrame) -> FrameRow {
        let function = self.by_key.get(&frame.code);
        let name = function.map(|function| &function.name).filter(|name| !name.is_empty());
        let first_line = function.map_or(0, |function| function.first_line);
        FrameRow {
            module: function.map_or(ModuleId::NONE, |function| function.module),
            offset: u64::from(first_line) << 32 | u64::from(frame.instruction as u32),
            function: name.cloned().unwrap_or_else(|| NAMELESS.to_owned()),
            file: function.map(|function| function.file.clone()).unwrap_or_default(),
            line: function.map_or(0, |function| function.line(frame.instruction)),
            inlined: false,
            kernel: false,
            after_call: false,
            script: true,
        }
    }
}

/// The name of a function as its language writes it: PHP has it with its class, and none for the outermost code of a file.
fn name_of(header: &ScriptFunctionHeader, table: &[u8]) -> String {
    let name = text(&header.name, header.name_bytes, header.name_kind);
    if header.language != script_language::PHP {
        return name;
    }
    match (String::from_utf8_lossy(table), name.is_empty(), header.file_bytes) {
        (_, true, 0) => name,
        (_, true, _) => "<main>".to_owned(),
        (class, false, _) if class.is_empty() => name,
        (class, false, _) => format!("{class}::{name}"),
    }
}

/// The characters of a text: UTF-8, Latin-1, or two or four bytes each.
fn text(bytes: &[u8], length: u16, kind: u8) -> String {
    let bytes = bytes.get(..usize::from(length)).unwrap_or_default();
    let character = |number: u32| char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    match kind {
        0 => String::from_utf8_lossy(bytes).into_owned(),
        1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
        2 => bytes.chunks_exact(2).map(|pair| character(u32::from(u16::from_le_bytes([pair[0], pair[1]])))).collect(),
        4 => bytes
            .chunks_exact(4)
            .map(|four| character(u32::from_le_bytes([four[0], four[1], four[2], four[3]])))
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_php_have_their_class() {
        let mut header: ScriptFunctionHeader = bytemuck::Zeroable::zeroed();
        header.language = script_language::PHP;
        header.file_bytes = 1;
        assert_eq!(name_of(&header, b""), "<main>");
        header.name[..3].copy_from_slice(b"nap");
        header.name_bytes = 3;
        assert_eq!((name_of(&header, b"Store"), name_of(&header, b"")), ("Store::nap".into(), "nap".into()));
        assert_eq!(text("é".as_bytes(), 2, 0), "é");
    }

    #[test]
    fn texts_of_every_width_are_read() {
        assert_eq!(text(b"caf\xe9 and more", 4, 1), "café");
        assert_eq!(text(&[0x16, 0x04, 0x40, 0x04], 4, 2), "Жр");
        assert_eq!(text(&[0x00, 0xf6, 0x01, 0x00], 4, 4), "\u{1f600}");
        assert_eq!(text(&[0x00, 0xd8], 2, 2), "\u{fffd}");
        assert_eq!(text(b"abc", 200, 1), "");
        assert_eq!(text(b"abc", 3, 7), "");
    }
}

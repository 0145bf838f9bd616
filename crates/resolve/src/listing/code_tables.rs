//! The machine code of the functions that threads were in, with its lines and what is inlined there, as tables.

use std::collections::HashMap;

use dwell_model::{CodeId, InlineId, ModuleId, SourceId};
use dwell_store::CodeTables;
use dwell_store::tables::{CodeRow, InlineRow, LineRow, SourceRow};

use crate::code::machine_code::Listing;
use crate::code::modules::Modules;
use crate::code::symbols::Answer;

/// The listings of every module as tables, with the sources named but not yet read.
pub fn tables(answers: &[Answer], modules: &Modules) -> CodeTables {
    let mut writer = Writer::default();
    for (module, answer) in answers.iter().enumerate() {
        for listing in &answer.listings.functions {
            let nameless = || modules.all().get(module).map_or(String::new(), |file| file.function_name(listing.start));
            let function = if listing.function.is_empty() { nameless() } else { listing.function.clone() };
            writer.add(ModuleId::new(module), function, listing);
        }
    }
    writer.tables
}

#[derive(Default)]
struct Writer {
    tables: CodeTables,
    sources: HashMap<String, SourceId>,
}

impl Writer {
    fn add(&mut self, module: ModuleId, function: String, listing: &Listing) {
        let Listing { start, bytes, places, .. } = listing;
        let row = CodeRow { module, address: *start, function, bytes: bytes.clone() };
        let code = CodeId::new(self.tables.code.push(row));
        let mut inlines = HashMap::new();
        for (offset, chain) in places {
            let mut inline = InlineId::NONE;
            for pair in chain.windows(2) {
                let (caller, callee) = (&pair[0], &pair[1]);
                let call_file = self.source(&caller.file);
                let key = (inline, callee.name.as_str(), call_file, caller.line);
                let row = InlineRow {
                    code,
                    parent: inline,
                    function: callee.name.clone(),
                    call_file,
                    call_line: caller.line,
                };
                inline = *inlines.entry(key).or_insert_with(|| InlineId::new(self.tables.inlines.push(row)));
            }
            let (file, line) = chain.last().map_or((SourceId::NONE, 0), |leaf| (self.source(&leaf.file), leaf.line));
            self.tables.lines.push(LineRow { code, offset: *offset, inline, file, line });
        }
    }

    fn source(&mut self, path: &str) -> SourceId {
        if path.is_empty() {
            return SourceId::NONE;
        }
        if let Some(&known) = self.sources.get(path) {
            return known;
        }
        let row = SourceRow { path: path.to_owned(), text: String::new(), state: 1, newer: false };
        let id = SourceId::new(self.tables.sources.push(row));
        self.sources.insert(path.to_owned(), id);
        id
    }
}

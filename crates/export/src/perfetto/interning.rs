//! What packets name by number: each text, frame and call stack is told once, in the packet that needs it first.

use std::collections::HashMap;

use dwell_analyze::Fold;
use dwell_analyze::selected::frame_rows;
use dwell_model::{ModuleId, StackId};

use super::message::{InternedBytes, InternedCallstack, InternedData, InternedFrame, InternedMapping, InternedName};

/// What a stack without a known frame is called.
const UNKNOWN: &str = "[unknown]";

/// The numbers so far, and what the next packet has to tell.
pub struct Interning<'f, 't> {
    fold: &'f Fold<'t>,
    names: HashMap<String, u64>,
    symbols: HashMap<String, u64>,
    annotation_names: HashMap<&'static str, u64>,
    annotation_texts: HashMap<String, u64>,
    functions: HashMap<String, u64>,
    paths: HashMap<String, u64>,
    mappings: HashMap<ModuleId, u64>,
    frames: HashMap<Option<usize>, u64>,
    callstacks: HashMap<StackId, u64>,
    stack_texts: HashMap<StackId, u64>,
    news: InternedData,
}

impl<'f, 't> Interning<'f, 't> {
    /// Nothing so far.
    pub fn new(fold: &'f Fold<'t>) -> Self {
        Self {
            fold,
            names: HashMap::new(),
            symbols: HashMap::new(),
            annotation_names: HashMap::new(),
            annotation_texts: HashMap::new(),
            functions: HashMap::new(),
            paths: HashMap::new(),
            mappings: HashMap::new(),
            frames: HashMap::new(),
            callstacks: HashMap::new(),
            stack_texts: HashMap::new(),
            news: InternedData::default(),
        }
    }

    /// What the packet that goes out has to tell.
    pub fn take_news(&mut self) -> Option<InternedData> {
        let news = std::mem::take(&mut self.news);
        (news != InternedData::default()).then_some(news)
    }

    /// The function in which a thread was blocked, as the reader has it: here the name of what it waited on.
    pub fn symbol(&mut self, text: &str) -> u64 {
        bytes_row(&mut self.symbols, &mut self.news.kernel_symbols, text)
    }

    /// The name of a slice.
    pub fn name(&mut self, text: &str) -> u64 {
        if let Some(iid) = self.names.get(text) {
            return *iid;
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(text.to_owned(), iid);
        self.news.event_names.push(InternedName { iid, name: text.to_owned() });
        iid
    }

    /// The name of an annotation.
    pub fn annotation_name(&mut self, text: &'static str) -> u64 {
        let next = self.annotation_names.len() as u64 + 1;
        let iid = *self.annotation_names.entry(text).or_insert(next);
        if iid == next {
            self.news.debug_annotation_names.push(InternedName { iid, name: text.to_owned() });
        }
        iid
    }

    /// The text of an annotation.
    pub fn annotation_text(&mut self, text: &str) -> u64 {
        bytes_row(&mut self.annotation_texts, &mut self.news.debug_annotation_string_values, text)
    }

    /// The functions of what the query shows of `stack`, as the text of an annotation: innermost first.
    pub fn stack_text(&mut self, stack: StackId) -> u64 {
        if let Some(iid) = self.stack_texts.get(&stack) {
            return *iid;
        }
        let functions = &self.fold.trace.frames.function;
        let names: Vec<&str> = frame_rows(&self.fold.sums.stacks, stack).map(|row| functions[row].as_str()).collect();
        let text = if names.is_empty() { UNKNOWN.to_owned() } else { names.join(" < ") };
        let iid = self.annotation_text(&text);
        self.stack_texts.insert(stack, iid);
        iid
    }

    /// The call stack of what the query shows of `stack`.
    pub fn callstack(&mut self, stack: StackId) -> u64 {
        if let Some(iid) = self.callstacks.get(&stack) {
            return *iid;
        }
        let mut rows: Vec<Option<usize>> = frame_rows(&self.fold.sums.stacks, stack).map(Some).collect();
        rows.reverse();
        if rows.is_empty() {
            rows.push(None);
        }
        let frame_ids = rows.into_iter().map(|row| self.frame(row)).collect();
        let iid = self.callstacks.len() as u64 + 1;
        self.callstacks.insert(stack, iid);
        self.news.callstacks.push(InternedCallstack { iid, frame_ids });
        iid
    }

    fn frame(&mut self, row: Option<usize>) -> u64 {
        if let Some(iid) = self.frames.get(&row) {
            return *iid;
        }
        let frames = &self.fold.trace.frames;
        let name = row.map_or(UNKNOWN, |row| frames.function[row].as_str());
        let function_name_id = bytes_row(&mut self.functions, &mut self.news.function_names, name);
        let mapping_id = self.mapping(row.map_or(ModuleId::NONE, |row| frames.module[row]));
        let iid = self.frames.len() as u64 + 1;
        self.frames.insert(row, iid);
        let mut frame = InternedFrame { iid, function_name_id, mapping_id, ..InternedFrame::default() };
        if let Some(row) = row {
            frame.rel_pc = if frames.script[row] { 0 } else { frames.offset[row] };
            frame.line_number = frames.line[row];
            if !frames.file[row].is_empty() {
                frame.source_path_iid = bytes_row(&mut self.paths, &mut self.news.source_paths, &frames.file[row]);
            }
        }
        self.news.frames.push(frame);
        iid
    }

    /// Its number is that of its path and of its build id, too.
    fn mapping(&mut self, module: ModuleId) -> u64 {
        let iid = self.mappings.len() as u64 + 1;
        if let Some(known) = self.mappings.get(&module) {
            return *known;
        }
        self.mappings.insert(module, iid);
        let modules = &self.fold.trace.modules;
        let row = module.get().filter(|row| *row < modules.path.len());
        let path = row.map_or(UNKNOWN, |row| modules.path[row].as_str());
        let build_id = row.map_or("", |row| modules.build_id[row].as_str());
        self.news.mapping_paths.push(InternedBytes { iid, text: path.into() });
        self.news.build_ids.push(InternedBytes { iid, text: build_id.into() });
        self.news.mappings.push(InternedMapping { iid, build_id: iid, path_string_ids: vec![iid] });
        iid
    }
}

fn bytes_row(rows: &mut HashMap<String, u64>, news: &mut Vec<InternedBytes>, text: &str) -> u64 {
    if let Some(iid) = rows.get(text) {
        return *iid;
    }
    let iid = rows.len() as u64 + 1;
    rows.insert(text.to_owned(), iid);
    news.push(InternedBytes { iid, text: text.into() });
    iid
}

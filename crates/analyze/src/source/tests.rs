//! Listings made by hand: what `f` does in `app`, with `g` inlined into it.

use dwell_model::{CodeId, InlineId, ModuleId, SourceId};
use dwell_query::question::error::QueryError;
use dwell_query::question::query::Query;
use dwell_store::tables::{CodeRow, InlineRow, LineRow, SourceRow};
use dwell_store::{CodeTables, Trace};

use crate::source::asked::{SourceQuery, Syntax};
use crate::source::source;
use crate::source::view::SourceView;

/// `nop; call +0; syscall; ret`, the third and fourth of `g`, inlined in line 11.
const CODE: &[u8] = &[0x90, 0xe8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3];

fn tables() -> CodeTables {
    let mut tables = CodeTables::default();
    let (module, code, file) = (ModuleId::new(0), CodeId::new(0), SourceId::new(0));
    tables.code.push(CodeRow { module, address: 0x1000, function: "work".into(), bytes: CODE.to_vec() });
    tables.inlines.push(InlineRow {
        code,
        parent: InlineId::NONE,
        function: "g".into(),
        call_file: file,
        call_line: 11,
    });
    let rows = [(0, InlineId::NONE, 10), (1, InlineId::NONE, 11), (6, InlineId::new(0), 3)];
    for (offset, inline, line) in rows {
        tables.lines.push(LineRow { code, offset, inline, file, line });
    }
    let text = (1..=20).map(|line| format!("line {line}\n")).collect();
    tables.sources.push(SourceRow { path: "app.c".into(), text, state: 0, newer: true });
    tables
}

/// A thread that runs `work` for 3 ms at the instruction at `address`.
fn trace(address: u64, after_call: bool) -> Trace {
    let mut trace = dwell_trace_dsl::trace("main: ###");
    let row = trace.frames.function.iter().position(|name| name == "work").expect("work");
    trace.frames.offset[row] = address;
    trace.frames.after_call[row] = after_call;
    trace.frames.line[row] = 11;
    trace
}

fn list(trace: &Trace, name: &str) -> Result<SourceView, QueryError> {
    let asked = SourceQuery { name: name.into(), syntax: Syntax::Intel, ..SourceQuery::default() };
    source(trace, &tables(), &Query::default(), &asked)
}

#[test]
fn time_is_at_the_instruction_that_was_sampled_or_made_the_call() {
    let at = |address, after_call| {
        let view = list(&trace(address, after_call), "work").expect("view");
        let hot = view.instructions.iter().find(|instruction| instruction.cost.cpu_ns > 0).expect("hot");
        assert_eq!(hot.cost.cpu_ns, 3 * dwell_trace_dsl::CELL);
        hot.text.clone()
    };
    assert_eq!(at(0x1000, false), "nop");
    assert_eq!(at(0x1006, true), "call 0x1006");
    assert_eq!(at(0x1006, false), "syscall");
    assert_eq!(at(0x1008, false), "ret");
}

#[test]
fn lines_instructions_and_inlined_code_are_told() {
    let view = list(&trace(0x1000, false), "work").expect("view");
    let numbers: Vec<u32> = view.lines.iter().map(|line| line.line).collect();
    assert_eq!(numbers, (8..=13).collect::<Vec<_>>(), "the lines with code, and two around them");
    let hot = view.lines.iter().find(|line| line.line == 11).expect("line 11");
    assert_eq!((hot.cost.cpu_ns, hot.text.as_deref()), (3 * dwell_trace_dsl::CELL, Some("line 11")));
    let call = &view.instructions[1];
    assert_eq!((call.line, call.target.as_deref()), (11, Some("work+0x6")));
    let inlined = &view.instructions[2];
    assert_eq!((inlined.line, inlined.inlined[0].function.as_str(), inlined.inlined[0].call_line), (3, "g", 11));
    assert!(view.notes.iter().any(|note| note.to_string().contains("newer than the program")), "{:?}", view.notes);
    let inlined = list(&trace(0x1000, false), "g").expect("view");
    assert_eq!(inlined.instructions.len(), 2, "only what is of g");
}

#[test]
fn a_function_is_found_by_its_name_a_glob_or_a_line() {
    let trace = trace(0x1000, false);
    for name in ["work", "wor*", "app.c:11"] {
        assert_eq!(list(&trace, name).expect(name).function, "work");
    }
    assert_eq!(list(&trace, "app.c:3").expect("line").function, "g");
    assert!(matches!(list(&trace, "wrk"), Err(QueryError::Unknown { what: "function", .. })));
    assert!(matches!(list(&trace, "*"), Err(QueryError::Ambiguous { by_module: false, .. })));
    let nothing = source(
        &trace,
        &CodeTables::default(),
        &Query::default(),
        &SourceQuery { name: "nosuch".into(), ..SourceQuery::default() },
    );
    assert!(nothing.is_err());
}

#[test]
fn the_same_name_in_two_modules_has_to_be_told_apart() {
    let mut trace = trace(0x1000, false);
    let row = trace.frames.function.iter().position(|name| name == "main").expect("main");
    trace.frames.function[row] = "work".into();
    trace.frames.module[row] = ModuleId::new(1);
    let error = list(&trace, "work").unwrap_err();
    assert!(matches!(error, QueryError::Ambiguous { by_module: true, .. }), "{error}");
    assert!(error.hint().expect("hint").starts_with("--module /"));
    let asked = SourceQuery { name: "work".into(), module: Some("app".into()), ..SourceQuery::default() };
    assert_eq!(source(&trace, &tables(), &Query::default(), &asked).expect("view").module, "/srv/app");
}

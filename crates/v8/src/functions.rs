//! What functions are called.

use crate::layout::Layout;
use crate::memory::{HeapMemory, object_of, word_at};
use crate::scope_info::{MOST_NAME, ScopeInfo, scope_info};
use crate::scripts::Scripts;
use crate::strings::{is_string, text, type_of};

/// Fields of a `SharedFunctionInfo` behind its name in which its script is looked for: versions differ.
const FIELDS_BEHIND_NAME: u64 = 3;

/// Reads functions of one process.
#[derive(Debug)]
pub struct FunctionReader {
    layout: Layout,
    scripts: Scripts,
}

impl FunctionReader {
    /// Of a process with this layout.
    pub fn new(layout: Layout) -> Self {
        Self { layout, scripts: Scripts::default() }
    }

    /// The name of the function whose `SharedFunctionInfo` lies at an address, as V8 itself tells it to profilers:
    /// `JS:~loadOrder /srv/app.js:12:1`. `None` where there is none (any more).
    pub fn name(&mut self, memory: &mut impl HeapMemory, shared: u64) -> Option<String> {
        let layout = &self.layout;
        if type_of(memory, layout, shared)? != layout.shared_type {
            return None;
        }
        let name_at = shared + u64::from(layout.name_or_scope_info);
        let name_or_scope = word_at(memory, name_at)?;
        let ScopeInfo { name, begins } = if is_string(memory, layout, name_or_scope) {
            ScopeInfo { name: text(memory, layout, name_or_scope, MOST_NAME)?, begins: None }
        } else {
            let scope = object_of(name_or_scope)?;
            let is_scope = type_of(memory, layout, scope)? == layout.scope_info_type;
            is_scope.then(|| scope_info(memory, layout, scope))?.unwrap_or_default()
        };
        let mut script = None;
        for field in 1..=FIELDS_BEHIND_NAME {
            let object = word_at(memory, name_at + 8 * field).and_then(object_of);
            let is_script = |object: &u64| type_of(memory, layout, *object) == Some(layout.script_type);
            script = script.or(object.filter(is_script));
        }
        let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
        let Some(script) = script else { return Some(format!("JS:~{name}")) };
        let script = self.scripts.at(memory, &self.layout, script);
        let line = begins.and_then(|character| script.line_of(character));
        Some(match line {
            Some(line) => format!("JS:~{name} {}:{line}:1", script.name),
            None => format!("JS:~{name} {}", script.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example::{ExampleHeap, NODE_20, small};

    const SOURCE: &str = "'use strict';\n// für alle\nfunction loadOrder(id) {\n}\n";

    fn name(heap: &mut ExampleHeap, function: u64) -> Option<String> {
        FunctionReader::new(NODE_20).name(heap, function)
    }

    #[test]
    fn a_function_has_its_name_and_its_line() {
        let mut heap = ExampleHeap::default();
        let script = heap.script("/srv/app.js", SOURCE);
        let begins = SOURCE.chars().position(|letter| letter == '(').unwrap() as u32;
        for variables in [&[][..], &["id"], &["id", "ordnung", "größe"]] {
            let function = heap.function("loadOrder", script, begins, variables);
            assert_eq!(name(&mut heap, function).as_deref(), Some("JS:~loadOrder /srv/app.js:3:1"), "{variables:?}");
        }
        let nameless = heap.function("", script, 3, &["x"]);
        assert_eq!(name(&mut heap, nameless).as_deref(), Some("JS:~ /srv/app.js:1:1"));
    }

    #[test]
    fn an_inferred_name_stands_for_the_own_one() {
        let mut heap = ExampleHeap::default();
        let (script, own, inferred) = (heap.script("/srv/b.js", SOURCE), heap.string(""), heap.string("Shop.buy"));
        let minus_one = u64::from(u32::MAX) << 32;
        let undefined = heap.object(131, &[0]);
        let mut named = |inferred: u64| {
            let fields = [small(9), small(0), small(0), own, minus_one, inferred, small(30), small(50), script];
            let scope = heap.object(NODE_20.scope_info_type, &fields);
            let function = heap.object(NODE_20.shared_type, &[0, scope, 0, script]) - 1;
            name(&mut heap, function)
        };
        assert_eq!(named(inferred).as_deref(), Some("JS:~Shop.buy /srv/b.js:3:1"));
        assert_eq!(named(undefined).as_deref(), Some("JS:~ /srv/b.js:3:1"));
    }

    #[test]
    fn newer_versions_say_first_where_a_function_begins() {
        let mut heap = ExampleHeap::default();
        let (script, own) = (heap.script("file:///srv/b.mjs", SOURCE), heap.string("run"));
        let fields = [small(9), small(0), small(0), small(30), small(50), own, small(0)];
        let scope = heap.object(NODE_20.scope_info_type, &fields);
        let function = heap.object(NODE_20.shared_type, &[0, scope, 0, script]) - 1;
        assert_eq!(name(&mut heap, function).as_deref(), Some("JS:~run file:///srv/b.mjs:3:1"));
    }

    #[test]
    fn what_is_not_compiled_has_its_name_only() {
        let mut heap = ExampleHeap::default();
        let (first, second) = (heap.string("load"), heap.string("Ördnung"));
        let whole = heap.concatenated(first, second);
        let function = heap.object(NODE_20.shared_type, &[0, whole, 0, 0]) - 1;
        assert_eq!(name(&mut heap, function).as_deref(), Some("JS:~loadÖrdnung"));
    }

    #[test]
    fn what_is_no_function_has_no_name() {
        let mut heap = ExampleHeap::default();
        let script = heap.script("/srv/app.js", SOURCE);
        assert_eq!(name(&mut heap, script - 1), None);
        assert_eq!(name(&mut heap, 0), None);
        let endless = heap.string("a");
        let endless = (0..100).fold(endless, |text, _| heap.concatenated(text, text));
        let function = heap.object(NODE_20.shared_type, &[0, endless, 0, 0]) - 1;
        assert_eq!(name(&mut heap, function), None);
    }

    proptest! {
        /// Memory that a program wrote to deceive ends in a name or in none, soon.
        #[test]
        fn any_memory_is_read(words in prop::collection::vec(prop_oneof![
            any::<u64>(), (0u64..64).prop_map(|word| 0x10_0001 + 8 * word), (0u32..300).prop_map(small)
        ], 8..64)) {
            let mut heap = ExampleHeap::default();
            let shared = heap.object(NODE_20.shared_type, &words) - 1;
            let _ = name(&mut heap, shared);
            let scope = heap.object(NODE_20.scope_info_type, &words);
            let function = heap.object(NODE_20.shared_type, &[0, scope, scope, shared + 1]) - 1;
            let _ = name(&mut heap, function);
        }
    }
}

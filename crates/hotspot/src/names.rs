//! What methods are called: from a method to its class and name, for many methods with one read for each step.

use crate::layout::Layout;
use crate::memory::{RemoteMemory, shorts_at, words_at};

/// Of a class's or method's name, bytes.
const MOST_NAME_BYTES: u16 = 1024;

/// `com.example.Pool.take` for each of `methods`, none where one cannot be read.
pub fn method_names(memory: &mut impl RemoteMemory, layout: &Layout, methods: &[u64]) -> Vec<Option<String>> {
    let constants = words_at(memory, methods, layout.method_constant);
    let pools = words_at(memory, &constants, layout.constant_pool);
    let indices = shorts_at(memory, &constants, layout.constant_name);
    let holders = words_at(memory, &pools, layout.pool_holder);
    let class_names = words_at(memory, &holders, layout.class_name);
    let entries: Vec<u64> =
        pools.iter().zip(indices).map(|(pool, index)| pool.wrapping_add(u64::from(index) * 8)).collect();
    let names = words_at(memory, &entries, layout.pool_bytes);
    let classes = symbols(memory, layout, &class_names);
    let names = symbols(memory, layout, &names);
    let whole = |(class, name): (String, String)| {
        (is_name(&class) && is_name(&name)).then(|| format!("{}.{name}", class.replace('/', ".")))
    };
    classes.into_iter().zip(names).map(whole).collect()
}

/// Whether a class or a method may be called so.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|letter: char| letter.is_control() || letter == '\u{fffd}')
}

/// `java.util.ArrayList` for each of `classes`, empty where one cannot be read.
pub fn class_names(memory: &mut impl RemoteMemory, layout: &Layout, classes: &[u64]) -> Vec<String> {
    let names = words_at(memory, classes, layout.class_name);
    symbols(memory, layout, &names).into_iter().map(|name| name.replace('/', ".")).collect()
}

/// The texts of symbols; empty where there is none.
pub fn symbols(memory: &mut impl RemoteMemory, layout: &Layout, places: &[u64]) -> Vec<String> {
    let lengths = shorts_at(memory, places, layout.symbol_length);
    let lengths: Vec<usize> = lengths.into_iter().map(|length| usize::from(length.min(MOST_NAME_BYTES))).collect();
    let bodies = places.iter().map(|place| place.wrapping_add(layout.symbol_body));
    let pieces: Vec<(u64, usize)> = bodies.zip(lengths.iter().copied()).collect();
    let bytes = memory.read_pieces(&pieces);
    let mut rest = bytes.as_slice();
    let mut take = |length: usize| {
        let (text, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        String::from_utf8_lossy(text).trim_matches('\0').to_owned()
    };
    lengths.into_iter().map(&mut take).collect()
}

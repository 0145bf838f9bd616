//! Prints how large the unwind tables of files are and how long they take to make: `unwind-table FILE…`.

use std::path::Path;
use std::time::Instant;

use dwell_unwind::{Row, Rule, UnwindTable};

fn main() {
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        match UnwindTable::of_file(Path::new(&path)) {
            Ok(table) => {
                let elapsed = start.elapsed();
                let unsupported =
                    table.rows().iter().filter(|word| Row::from_word(**word).step.rule == Rule::Unsupported);
                println!(
                    "{path}: {} rows ({} unsupported), {} blocks, {} entries skipped, {:.1} MB, {:.1} ms",
                    table.rows().len(),
                    unsupported.count(),
                    table.index().len(),
                    table.skipped(),
                    table.words().len() as f64 * 8e-6,
                    elapsed.as_secs_f64() * 1e3
                );
            }
            Err(error) => println!("{path}: {error}"),
        }
    }
}

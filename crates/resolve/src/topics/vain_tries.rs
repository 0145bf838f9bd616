//! What threads tried in vain: a row for each record of a try, with the name of the file or the address.

use dwell_model::VainTry;
use dwell_store::raw::wire::{AF_INET6, HOLDER_BYTES, VainTryRecord};
use dwell_store::tables::{VainTries, VainTryRow};

use crate::input::meta::Meta;
use crate::objects::{file_path, socket_address};
use crate::replay::state::Replay;

/// The rows, ordered by time. Those of unknown threads are left out.
pub fn resolve(meta: &Meta, replay: &Replay) -> VainTries {
    let row = |record: &VainTryRecord| {
        let time_ns = replay.relative(record.h.time_ns);
        let thread = replay.thread_table.find_at(record.h.tid, time_ns)?;
        let object = match VainTry::from_code(record.kind) {
            VainTry::FileLock => meta.object(record.object, record.h.time_ns).map(file_path).unwrap_or_default(),
            VainTry::Connection => {
                format!("TCP {}", socket_address(AF_INET6, &record.remote_address, record.remote_port))
            }
            VainTry::Unknown => String::new(),
        };
        Some(VainTryRow { time_ns, thread, kind: record.kind, object, holder: holder(&record.holder) })
    };
    let mut rows: Vec<VainTryRow> = meta.vain_tries.iter().filter_map(row).collect();
    rows.sort_by_key(|row| row.time_ns);
    let mut table = VainTries::default();
    for row in rows {
        table.push(row);
    }
    table
}

/// A command line as people write it: the program without its folder, and its arguments.
fn holder(line: &[u8]) -> String {
    let is_cut = line.len() == HOLDER_BYTES && line[HOLDER_BYTES - 2] != 0;
    let text = String::from_utf8_lossy(line);
    let mut words = text.trim_end_matches(['\0', '\u{fffd}']).split('\0');
    let program = words.next().map_or("", |program| program.rsplit('/').next().unwrap_or(program));
    let mut command = program.to_owned();
    for word in words {
        command.push(' ');
        command.push_str(word);
    }
    if is_cut {
        command.push('…');
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_told_without_the_folder_of_its_program() {
        let line = |text: &str| {
            let mut line = [0; HOLDER_BYTES];
            line.iter_mut().zip(text.as_bytes()).take(HOLDER_BYTES - 1).for_each(|(to, from)| *to = *from);
            holder(&line)
        };
        assert_eq!(line("/usr/bin/python3\0hold.py\0"), "python3 hold.py");
        assert_eq!(line(""), "");
        assert_eq!(line(&format!("sh\0{}", "x".repeat(99))), format!("sh {}…", "x".repeat(HOLDER_BYTES - 4)));
    }
}

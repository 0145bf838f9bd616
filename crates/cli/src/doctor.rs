//! `dwell doctor`: what this machine offers for profiling, one line each, and the command that gives what is missing.

use std::path::Path;
use std::process::ExitCode;

use dwell_capture::Capability;
use serde_json::json;

use crate::args::{DoctorArgs, Format};
use crate::error::{Result, status};
use crate::output;
use crate::text::style::{Ink, Style, width, wrap};
use crate::text::units;

/// Free space below which a collection is likely to end early.
const LITTLE_SPACE: u64 = 1_000_000_000;

/// Prints the findings. The exit status tells whether a collection can work.
pub fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let mut found = dwell_capture::probe();
    found.extend(free_space(Path::new(".")));
    let text = match args.format {
        Format::Text => text(&found, &Style::of_stdout()),
        Format::Json => json(&found),
        Format::Csv => csv(&found),
    };
    output::print(&text)?;
    let works = found.iter().filter(|capability| is_essential(capability)).all(|capability| capability.available);
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(status::UNAVAILABLE) })
}

/// Whether there is no collection without it.
fn is_essential(capability: &Capability) -> bool {
    matches!(capability.name, "privileges" | "kernel types (BTF)" | "hooks")
}

fn free_space(folder: &Path) -> Option<Capability> {
    let status = rustix::fs::statvfs(folder).ok()?;
    let free = status.f_bavail.saturating_mul(status.f_frsize);
    Some(Capability {
        name: "free disk space",
        available: free >= LITTLE_SPACE,
        detail: format!("{} here", units::bytes(free)),
        remedy: (free < LITTLE_SPACE).then(|| "dwell collect threading --result-dir OTHER-DISK/r000th …".into()),
    })
}

fn text(found: &[Capability], style: &Style) -> String {
    let name_width = found.iter().map(|capability| width(capability.name)).max().unwrap_or(0);
    let indent = " ".repeat(name_width + 6);
    let room = style.width.saturating_sub(indent.len()).max(20);
    let mut text = String::new();
    for capability in found {
        let mark = match (capability.available, is_essential(capability)) {
            (true, _) => style.paint(Ink::Good, "ok"),
            (false, true) => style.paint(Ink::Bad, "no"),
            (false, false) => style.paint(Ink::Warning, "--"),
        };
        let pad = " ".repeat(name_width - width(capability.name));
        text.push_str(&format!("{mark}  {}{pad}  ", capability.name));
        text.push_str(&wrap(&capability.detail, room).join(&format!("\n{indent}")));
        text.push('\n');
        if let Some(remedy) = &capability.remedy {
            text.push_str(&format!("{indent}hint: {remedy}\n"));
        }
    }
    text
}

fn json(found: &[Capability]) -> String {
    let entry = |capability: &Capability| {
        json!({
            "name": capability.name,
            "available": capability.available,
            "essential": is_essential(capability),
            "detail": capability.detail,
            "remedy": capability.remedy,
        })
    };
    format!("{:#}\n", json!({ "rows": found.iter().map(entry).collect::<Vec<_>>() }))
}

fn csv(found: &[Capability]) -> String {
    let mut text = crate::csv::line(&["name", "available", "detail", "remedy"].map(String::from));
    for capability in found {
        let remedy = capability.remedy.clone().unwrap_or_default();
        let fields = [capability.name.into(), capability.available.to_string(), capability.detail.clone(), remedy];
        text.push_str(&crate::csv::line(&fields));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_its_remedy() {
        let capability = |name, available| Capability {
            name,
            available,
            detail: "detail".into(),
            remedy: (!available).then(|| "sudo x".into()),
        };
        let found = [capability("hooks", false), capability("free disk space", true)];
        let text = text(&found, &Style::plain(80));
        assert!(
            text.starts_with("no  hooks            detail\n                     hint: sudo x\nok  free disk"),
            "{text}"
        );
        assert!(json(&found).contains("\"essential\": true"));
        assert!(csv(&found).starts_with("name,available,detail,remedy\r\nhooks,false,detail,sudo x\r\n"));
    }

    #[test]
    fn free_space_is_known_here() {
        assert!(free_space(Path::new(".")).is_some());
        assert!(free_space(Path::new("/no/such/folder")).is_none());
    }
}

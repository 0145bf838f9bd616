//! What a long run shows, as a page and a picture of `docs/`.

use std::fmt::Write;
use std::fs;

use anyhow::Result;

use super::judge::Course;
use super::notes::Note;
use super::{COLLECTIONS, Ended};
use crate::recording::root;

/// Bright and dark enough for both grounds.
const COLOURS: [&str; COLLECTIONS.len()] = ["#3b82c4", "#d9730d", "#2f9e6e", "#b0569e"];
const WIDTH: f64 = 720.0;
/// Of a panel, with its title and its times.
const HEIGHT: f64 = 130.0;
/// Where its curves are.
const LEFT: f64 = 56.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 104.0;

const HEAD: &str = "# Soak

`make soak` makes this page: it runs collections side by side, each of a program that continually creates and drops threads, processes, locks,
files, pipes, connections and Python functions ([samples/mixed_load.c](../samples/mixed_load.c)), and notes each
collector's memory, descriptors, maps and disk use every minute. It fails when, after the first ten minutes, anonymous memory grows by more than 1 MB an hour (the median
slope of all pairs of notes), when descriptors, BPF maps or the data of a bounded recording grow, when a result cannot be finalized, when a report does not
answer, or when running + runnable + waiting is not the lifetime of a thread. `SOAK=24h make soak` takes longer; `make test` has a
half-minute form, which checks everything except memory.

";

/// Writes docs/soak.md and its picture.
pub fn write(notes: &[Note], ended: &[Ended]) -> Result<()> {
    let docs = root().join("docs");
    fs::write(docs.join("images/soak.svg"), picture(notes)?)?;
    let last = notes.last().cloned().unwrap_or_default();
    let mut page = HEAD.to_owned();
    writeln!(
        page,
        "The last run: {} minutes on Linux {}, during which process ids wrapped around {} times.\n",
        last.at_s / 60 + 1,
        fs::read_to_string("/proc/sys/kernel/osrelease")?.trim(),
        last.ids_wrapped
    )?;
    page.push_str("| collection | options | anonymous memory | growth | descriptors | BPF maps | result | switches and samples | lost |\n");
    page.push_str("|---|---|---|---:|---|---|---:|---:|---|\n");
    for ((name, options), ended) in COLLECTIONS.iter().zip(ended) {
        writeln!(page, "{}", row(&Course::of(notes, name), &options.join(" "), ended))?;
    }
    page.push_str(
        "\nMemory, descriptors and maps: medians of the first and the last quarter of the notes after ten minutes.\n",
    );
    page.push_str("\n![Memory, descriptors, BPF maps and disk of the collections, each minute](images/soak.svg)\n");
    Ok(fs::write(docs.join("soak.md"), page)?)
}

fn row(course: &Course<'_>, options: &str, ended: &Ended) -> String {
    let megabytes = |(first, last): (f64, f64)| format!("{:.2} MB, {:.2} MB", first / 1e6, last / 1e6);
    let (first, last) = course.ends(|note| note.descriptors);
    format!(
        "| {} | `{options}` | {} | {:+.2} MB/h | {first}, {last} | {} | {:.0} MB | {} | {} |",
        ended.name,
        megabytes(course.ends(|note| note.anonymous_bytes)),
        course.growth_per_hour() / 1e6,
        megabytes(course.ends(|note| note.map_bytes)),
        course.notes.last().map_or(0.0, |note| note.disk_bytes as f64 / 1e6),
        ended.events,
        if ended.losses.is_empty() { "nothing".to_owned() } else { ended.losses.join(", ") },
    )
}

/// A panel: its title and what it shows.
type Panel = (&'static str, fn(&Note) -> f64);

const PANELS: [Panel; 4] = [
    ("anonymous memory, MB", |note| note.anonymous_bytes as f64 / 1e6),
    ("descriptors", |note| note.descriptors as f64),
    ("BPF maps, MB", |note| note.map_bytes as f64 / 1e6),
    ("disk use of the result, MB", |note| note.disk_bytes as f64 / 1e6),
];

/// One panel below the other, over minutes.
fn picture(notes: &[Note]) -> Result<String> {
    let height = HEIGHT * PANELS.len() as f64 + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>text {{ fill: #57606a }} .axis {{ stroke: #8b949e; stroke-width: .5 }} polyline {{ fill: none; stroke-width: 1.5 }}\n\
         @media (prefers-color-scheme: dark) {{ text {{ fill: #b1bac4 }} }}</style>\n"
    );
    for (at, (name, _)) in COLLECTIONS.iter().enumerate() {
        let x = LEFT + 150.0 * at as f64;
        writeln!(svg, "<rect x=\"{x}\" y=\"6\" width=\"12\" height=\"4\" fill=\"{}\"/>", COLOURS[at])?;
        writeln!(svg, "<text x=\"{}\" y=\"12\">{name}</text>", x + 18.0)?;
    }
    for (at, panel) in PANELS.iter().enumerate() {
        svg.push_str(&draw(notes, *panel, 20.0 + HEIGHT * at as f64)?);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A panel whose top is at `y`.
fn draw(notes: &[Note], (title, value): Panel, y: f64) -> Result<String> {
    let most = notes.iter().map(value).fold(1.0, f64::max) * 1.05;
    let last_s = notes.iter().map(|note| note.at_s).max().unwrap_or(1).max(1) as f64;
    let across = |at_s: u64| LEFT + (WIDTH - LEFT - 10.0) * at_s as f64 / last_s;
    let up = |value: f64| y + BOTTOM - (BOTTOM - TOP) * value / most;
    let mut svg = format!("<text x=\"{LEFT}\" y=\"{}\">{title}</text>\n", y + TOP - 8.0);
    for part in [0.0, 0.5, 1.0] {
        let (value, at) = (most / 1.05 * part, up(most / 1.05 * part));
        writeln!(svg, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - 10.0)?;
        writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.0}</text>", LEFT - 6.0, at + 4.0)?;
    }
    for quarter in 0..=4u64 {
        let at_s = last_s as u64 * quarter / 4;
        let text = format!("{} min", (at_s + 30) / 60);
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            across(at_s).min(WIDTH - 24.0),
            y + HEIGHT - 10.0
        )?;
    }
    for ((name, _), colour) in COLLECTIONS.iter().zip(COLOURS) {
        let of_collection = notes.iter().filter(|note| note.collection == *name);
        let points: Vec<String> =
            of_collection.map(|note| format!("{:.1},{:.1}", across(note.at_s), up(value(note)))).collect();
        writeln!(svg, "<polyline stroke=\"{colour}\" points=\"{}\"/>", points.join(" "))?;
    }
    Ok(svg)
}

//! `dwell report --html`: one file with what matters of a result, to attach to a ticket.
//! It takes an analysis and gives a page: the data as JSON, which a script in the page draws, every text shown as text.
//! The page needs no network and no server.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dwell_analyze::explore::{FlameQuery, FlameWeight, flame};
use dwell_analyze::timeline::{BandKind, BandOrder, TileRequest, TimelineState, bands, tile};
use dwell_analyze::{Analysis, Fold, Query, QueryError, Report, lost, report_of, warnings};
use dwell_store::Trace;
use dwell_view::{Value, View, json};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Letters of one text.
const LONGEST_TEXT: usize = 400;
/// Rows of one table.
const ROWS: usize = 40;
/// Boxes of the flame graph: what a screen can show.
const BOXES: usize = 4000;
/// Threads and columns of the timeline.
const BANDS: usize = 48;
const WIDTH: usize = 1200;

/// The file's text: a few hundred kB, at most about 2 MB however large the result. Fails when the query asks for what
/// is not there.
pub fn render(trace: Trace, query: &Query) -> Result<String, QueryError> {
    let analysis = Analysis::new(trace);
    let query = Query { limit: Some(query.limit.unwrap_or(ROWS)), ..query.clone() };
    let fold = Fold::new(analysis.trace(), &query)?;
    let mut data = json!({
        "title": title(analysis.trace()),
        "about": about(analysis.trace()),
        "warnings": warnings(analysis.trace()),
        "losses": losses(analysis.trace()),
        "summary": json::document(&report_of(Report::Summary, &fold)?),
        "objects": table(&report_of(Report::Waits, &fold)?),
        "hotspots": table(&report_of(Report::Hotspots, &fold)?),
        "threads": table(&report_of(Report::Threads, &fold)?),
        "flame": boxes(&fold),
        "timeline": timeline(&analysis, &query)?,
    });
    for report in [Report::Tasks, Report::Frames, Report::Counters, Report::Correlation] {
        let view = report_of(report, &fold)?;
        if !view.rows.is_empty() {
            data[report.id()] = table(&view);
        }
    }
    dwell_view::cut_texts(&mut data, LONGEST_TEXT);
    Ok(page(&data))
}

fn page(data: &Json) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let title = data["title"].as_str().unwrap_or_default();
    // As in any script element: `</script>` and `<!--` are inside no string. U+2028 is for old parsers.
    let data = data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} – Dwell</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main id=\"page\"></main>\n\
         <noscript>This report draws itself with a script of its own; no network is used.</noscript>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn title(trace: &Trace) -> String {
    let program = trace.manifest.command.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    program.or_else(|| trace.processes.name.first().cloned()).unwrap_or_else(|| "a program".into())
}

fn about(trace: &Trace) -> Json {
    let manifest = &trace.manifest;
    json!({
        "command": manifest.command.join(" "),
        "pids": manifest.target_pids,
        "host": manifest.host,
        "kernel": manifest.kernel,
        "cpu": manifest.cpus.model,
        "version": manifest.dwell_version,
        "started_at": manifest.started_at,
    })
}

fn losses(trace: &Trace) -> Json {
    lost(trace).map(|loss| json!({ "count": loss.count, "doc": loss.doc })).collect()
}

/// A view with its columns, those left out that no page has room for.
fn table(view: &View) -> Json {
    let shown: Vec<usize> = (0..view.columns.len())
        .filter(|&column| {
            let values = || view.rows.iter().filter_map(|row| row.values.get(column));
            let wide = values().any(|value| matches!(value, Value::Rows(_) | Value::Stack(_)));
            !wide && (!view.columns[column].detail || matches!(view.columns[column].id, "first_wait_at" | "source"))
        })
        .collect();
    let columns = shown.iter().map(|&index| {
        let column = &view.columns[index];
        json!({ "id": column.id, "title": column.title, "help": column.help, "kind": json::kind(view, index) })
    });
    let rows = view.rows.iter().map(|row| {
        shown.iter().map(|&column| row.values.get(column).map_or(Json::Null, json::value)).collect::<Vec<_>>()
    });
    json!({ "columns": columns.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>() })
}

/// The flame graph, with as small boxes as the file has room for.
fn boxes(fold: &Fold<'_>) -> Json {
    let mut query = FlameQuery { weight: FlameWeight::Both, inverted: false, by_thread: false, min_share: 0.0005 };
    let mut graph = flame(fold, &query);
    while graph.parent.len() > BOXES && query.min_share < 1.0 {
        query.min_share *= 2.0;
        graph = flame(fold, &query);
    }
    json!({
        "total_ns": graph.total_ns, "parent": graph.parent, "name": graph.name, "total": graph.total,
        "self_ns": graph.self_ns, "wait_share": graph.wait_share.iter().map(|it| (it * 1e3).round() / 1e3)
            .collect::<Vec<_>>(),
        "names": graph.names, "pruned_ns": graph.pruned_ns, "idle_ns": graph.idle_ns,
    })
}

/// What the busiest threads did, as fine as a screen's pixels: of each segment, its start in pixels and its state.
fn timeline(analysis: &Analysis, query: &Query) -> Result<Json, QueryError> {
    let (from, to) = query.range.unwrap_or((0, analysis.elapsed_ns()));
    let to = to.min(analysis.elapsed_ns());
    let mut shown = bands(analysis, query, BandKind::Thread, BandOrder::Metric("switches"))?;
    let threads = shown.len();
    shown.truncate(BANDS);
    shown.sort_by_key(|band| (band.start_ns, band.id));
    let request =
        TileRequest { from, to, width: WIDTH, by: BandKind::Thread, bands: shown.iter().map(|band| band.id).collect() };
    let drawn = tile(analysis, &request);
    let pixel = |ns: u64| {
        let part = ns.saturating_sub(from) as f64 / to.saturating_sub(from).max(1) as f64;
        (part * WIDTH as f64 * 10.0).round() / 10.0
    };
    let band = |(band, drawn): (&dwell_analyze::timeline::Band, &dwell_analyze::timeline::BandTile)| {
        json!({
            "label": band.label,
            "start": drawn.start.iter().map(|ns| pixel(*ns)).collect::<Vec<_>>(),
            "end": drawn.end.iter().map(|ns| pixel(*ns)).collect::<Vec<_>>(),
            "state": drawn.state,
        })
    };
    Ok(json!({
        "from": from, "to": to, "width": WIDTH, "threads": threads,
        "states": TimelineState::ALL.iter().map(|state| [state.id(), state.title()]).collect::<Vec<_>>(),
        "bands": shown.iter().zip(&drawn.bands).map(band).collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script_and_no_handler_is_inline() {
        let page = page(&json!({ "title": "</title><script>alert(1)</script>", "x": "</script><!--\u{2028}" }));
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        assert!(!page.contains("<!--") && !page.contains('\u{2028}') && !page.contains("<script>alert"));
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: Json = serde_json::from_str(data).unwrap();
        assert_eq!(data["x"], "</script><!--\u{2028}");
        for word in ["http:", "https:", " onclick", " onload", " style=", "javascript:", "innerHTML", "eval("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

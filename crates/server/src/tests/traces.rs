//! Instruction traces: the same guard, the numbers of the command line, and files that are not to be trusted.

use dwell_anatomy::annotate::{Annotator, Phases};
use dwell_anatomy::reports::{Asked, report as report_of};
use dwell_anatomy::trace::{Head, TraceWriter, open, replay};
use dwell_anatomy::{Function, Listener};
use dwell_itrace::{Block, Word};
use dwell_machine::Machine;

use super::*;

const TURNS: u64 = 1000;

/// A function with a script for a name that calls another one, whose name is long, again and again.
fn trace() -> Vec<u8> {
    let head = Head { command: vec![SCRIPT.into()], ..Head::default() };
    let mut writer = TraceWriter::new(Vec::new(), &head).unwrap();
    for name in [SCRIPT.to_owned(), "leaf".repeat(10_000)] {
        writer.function(&Function { name, module: SCRIPT.into() });
    }
    // call 0x2000; nop, ret; jmp 0x1000
    writer.block(0, &Block::new(0x1000, &[0xe8, 0xfb, 0x0f, 0, 0], &[5]).unwrap(), 0);
    writer.block(1, &Block::new(0x2000, &[0x90, 0xc3], &[1, 1]).unwrap(), 1);
    writer.block(2, &Block::new(0x1005, &[0xeb, 0xf9], &[2]).unwrap(), 0);
    for _ in 0..TURNS {
        let (pushed, popped) = (Word::access(0x7ff0, 0, 3, true), Word::access(0x7ff0, 1, 3, false));
        writer.words(&[Word::block(0), pushed, Word::block(1), popped, Word::block(2)]);
    }
    writer.finish().unwrap()
}

/// A server over a folder with a result, `t.dwt`, one that is cut off, a file that is no trace, and a link.
fn site() -> Site {
    let site = Site::new();
    let results = site.folder.path().join("results");
    let bytes = trace();
    fs::write(results.join("t.dwt"), &bytes).unwrap();
    fs::write(results.join("cut.dwt"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(results.join("none.dwt"), "DWANAT").unwrap();
    fs::write(site.folder.path().join("outside.dwt"), &bytes).unwrap();
    std::os::unix::fs::symlink(site.folder.path().join("outside.dwt"), results.join("link.dwt")).unwrap();
    site
}

#[tokio::test]
async fn traces_are_listed_beside_results() {
    let site = site();
    let list = site.get("/api/results").await;
    let of = |id: &str| list.as_array().unwrap().iter().find(|it| it["id"] == id).cloned();
    assert_eq!(
        of("t.dwt").map(|it| (it["program"].clone(), it["analysis"].clone())),
        Some((json!(SCRIPT), json!("anatomy")))
    );
    assert!(of("t.dwt").unwrap()["problem"].is_null());
    assert!(of("none.dwt").unwrap()["problem"].is_string());
    assert!(of("r000th").is_some() && of("link.dwt").is_none(), "{list}");
}

#[tokio::test]
async fn a_report_of_a_trace_is_the_command_lines() {
    let site = site();
    let path = site.folder.path().join("results/t.dwt");
    let annotator = Annotator::new(&Machine::named("zen4").unwrap(), Phases::with(None).unwrap()).unwrap();
    let anatomy = replay(open(&path).unwrap(), annotator).unwrap().1;
    for name in ["summary", "phases", "halves", "packets", "buffers", "parts"] {
        let asked = Asked { limit: MOST_ROWS, function: None, depth: u16::MAX };
        let expected = json::render(&report_of(name, &anatomy, &asked).unwrap());
        let (_, served) = site.get_with(&format!("/api/t/t.dwt/report/{name}?machine=zen4"), &[]).await;
        assert_eq!(served, expected, "{name}");
    }
    let compared = site.get("/api/compare-traces?a=t.dwt&b=t.dwt&machine=zen4&second=zen4").await;
    assert!(compared["rows"].as_array().unwrap().iter().all(|row| row["values"][3] == 0), "{compared}");
}

#[tokio::test]
async fn a_chart_has_every_call_and_leads_to_its_instructions() {
    let site = site();
    let info = site.get("/api/t/t.dwt/info").await;
    let sum = |tile: &Json| tile["calls"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum::<u64>();
    let tile = site.get("/api/t/t.dwt/chart?width=100").await;
    assert_eq!((sum(&tile), &info["calls"]), (TURNS + 1, &json!(TURNS + 1)));
    let name = "leaf".repeat(2);
    assert_eq!(site.status(&format!("/api/t/t.dwt/chart?function={name}"), &[]).await, 404);
    let main: String = form_urlencoded::byte_serialize(SCRIPT.as_bytes()).collect();
    let lit = site.get(&format!("/api/t/t.dwt/chart?width=100&function={main}")).await;
    assert_eq!(sum(&lit), 1);
    let call = site.get("/api/t/t.dwt/call?number=7").await;
    assert_eq!((&call["above"][0]["function"], &call["call"]["depth"]), (&json!(SCRIPT), &json!(1)));
    let instructions = site.get("/api/t/t.dwt/report/instructions?call=7").await;
    let texts: Vec<&str> =
        instructions["rows"].as_array().unwrap().iter().map(|it| it["instruction"].as_str().unwrap()).collect();
    assert_eq!(texts, ["nop", "ret"]);
    let code = site.get("/api/t/t.dwt/report/code?function=leaf*").await;
    assert_eq!((code["rows"].as_array().unwrap().len(), &code["rows"][0]["executions"]), (2, &json!(TURNS)));
}

#[tokio::test]
async fn hostile_traces_are_text_or_one_sentence() {
    let site = site();
    for path in ["info", "chart", "view/hotspots?limit=99999999", "report/trace", "call?number=1"] {
        let (status, body) = site.get_with(&format!("/api/t/t.dwt/{path}"), &[]).await;
        assert!(status == 200 && body.len() < 50_000_000, "{path}: {status}");
        assert!(!body.contains(&"leaf".repeat(2000)), "{path}: a name is not cut");
    }
    for (path, status) in [
        ("t/t.dwt/info?machine=%2Fetc%2Fpasswd", 400),
        ("t/t.dwt/chart?phase=nothing", 400),
        ("t/t.dwt/chart?from=5", 400),
        ("t/t.dwt/chart?width=-1", 400),
        ("t/t.dwt/call", 400),
        ("t/t.dwt/call?number=18446744073709551615", 404),
        ("t/t.dwt/calls?function=nothing", 404),
        ("t/t.dwt/nothing", 404),
        ("t/t.dwt/report/nothing", 404),
        ("t/t.dwt/report/instructions", 400),
        ("t/cut.dwt/info", 422),
        ("t/none.dwt/info", 422),
        ("t/link.dwt/info", 404),
        ("t/..%2Foutside.dwt/info", 404),
        ("t/r000th/info", 404),
        ("compare-traces?a=t.dwt", 400),
        ("compare-traces?a=t.dwt&b=t.dwt&by=x", 400),
    ] {
        let (found, body) = site.get_with(&format!("/api/{path}"), &[]).await;
        assert_eq!(found, status, "{path}: {body}");
        let body: Json = serde_json::from_str(&body).unwrap();
        assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{path}");
    }
    for path in [
        "chart?from=0&to=18446744073709551615&width=4294967295",
        "chart?from=18446744073709551614&to=18446744073709551615",
        "progress",
    ] {
        assert_eq!(site.status(&format!("/api/t/t.dwt/{path}"), &[]).await, 200, "{path}");
    }
    assert_eq!(site.send(request("/api/t/t.dwt/info")).await.status(), 401);
}

#[tokio::test]
async fn a_library_of_one_trace_has_nothing_else() {
    let site = site();
    let results = site.folder.path().join("results");
    let library = Library::open(&results.join("t.dwt")).unwrap();
    assert!(library.is_single() && library.results().is_empty() && library.traces().len() == 1);
    assert!(library.trace("cut.dwt").is_err());
    assert!(Library::open(&results.join("none.dwt")).is_err());
}

//! The routes as a browser, another program and another site see them, over results written by the store.

mod access;
mod collections;
mod exports;
mod traces;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use dwell_analyze::{Query, Report, report};
use dwell_model::{FrameId, ModuleId, ObjectId, ProcessId, StackId, ThreadId};
use dwell_store::tables::{FrameRow, ObjectRow, OffCpuRow, ProcessRow, SampleRow, StackRow, ThreadRow};
use dwell_store::{CodeTables, CpuInfo, Manifest, ResultFolder, State, Trace};
use dwell_view::json;
use dwell_work::stop;
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tower::ServiceExt;

use crate::access::{Guard, PeerUser, Secret, Token, serve};
use crate::api::MOST_ROWS;
use crate::problem::Problem;
use crate::state::{App, COMPUTATIONS, Library};

const HOST: &str = "127.0.0.1:8080";
const LONG: usize = 10_000_000;
const SCRIPT: &str = "</script><script>alert(1)</script>";

fn manifest() -> Manifest {
    Manifest {
        state: State::Collected,
        command: vec![SCRIPT.into()],
        cpus: CpuInfo { online: 2, usable: 2, model: String::new() },
        started_at: 1e300,
        end_ns: 1_000,
        exit_status: Some(0),
        ..Manifest::default()
    }
}

/// Whose names are scripts.
fn hostile_process() -> ProcessRow {
    ProcessRow {
        pid: 1,
        parent: ProcessId::NONE,
        name: SCRIPT.into(),
        executable: String::new(),
        command_line: String::new(),
        start_ns: 0,
        end_ns: u64::MAX,
        exit_code: 0,
        cgroup: SCRIPT.into(),
        unit: SCRIPT.into(),
        container: SCRIPT.into(),
        pod: SCRIPT.into(),
    }
}

/// Two threads, one with a script for a name, that wait for a lock with a name of ten million letters.
fn hostile() -> Trace {
    let mut trace = Trace::new(manifest());
    trace.processes.push(hostile_process());
    for name in [SCRIPT, "worker"] {
        trace.threads.push(ThreadRow {
            tid: 1,
            process: ProcessId::new(0),
            parent: ThreadId::NONE,
            name: name.into(),
            start_ns: 0,
            end_ns: 1_000,
            kernel_cpu_ns: 0,
            read_calls: 0,
            read_bytes: 0,
            write_calls: 0,
            write_bytes: 0,
            policy: 0,
            nice: 0,
            cpus_allowed: 0,
            exited: true,
            ignored: false,
        });
    }
    let (module, stack) = (ModuleId::NONE, StackId::new(0));
    let function = "f".repeat(LONG);
    trace.frames.push(FrameRow {
        module,
        offset: 0,
        function,
        file: SCRIPT.into(),
        line: 1,
        inlined: false,
        kernel: false,
        after_call: true,
        script: false,
    });
    trace.stacks.push(StackRow { parent: StackId::NONE, frame: FrameId::new(0), end: 255 });
    trace.objects.push(ObjectRow {
        kind: 1,
        name: "lock".repeat(LONG / 4),
        detail: String::new(),
        process: ProcessId::new(0),
        address: 0,
        first_stack: stack,
        created_stack: StackId::NONE,
    });
    for (thread, start_ns) in [(0, 100), (1, 400)] {
        trace.off_cpu.push(OffCpuRow {
            thread: ThreadId::new(thread),
            start_ns,
            wait_ns: 200,
            runnable_ns: 10,
            cpu: 0,
            reason: 1,
            outcome: 1,
            syscall: 202,
            object: ObjectId::new(0),
            stack,
            waker: ThreadId::new(1 - thread),
            waker_kind: 1,
            waker_stack: stack,
            holder: ThreadId::NONE,
            same_call: false,
        });
    }
    let (thread, cpu) = (ThreadId::new(0), 0);
    trace.samples.push(SampleRow { thread, time_ns: 50, weight_ns: 790, cpu, stack, estimated: false });
    trace
}

fn write(folder: &Path, mut trace: Trace) {
    let result = ResultFolder::create(folder).unwrap();
    trace.write(&result, &CodeTables::default()).unwrap();
}

/// A server over a folder with the result `r000th`, a link to a folder outside, and a file.
struct Site {
    app: Arc<App>,
    router: Router,
    authorization: String,
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        Self::listening_on(Ipv4Addr::LOCALHOST.into(), false)
    }

    fn listening_on(address: IpAddr, https: bool) -> Self {
        Self::with(address, https, Token::new().unwrap())
    }

    fn with(address: IpAddr, https: bool, token: Token) -> Self {
        let folder = TempDir::new().unwrap();
        let results = folder.path().join("results");
        fs::create_dir(&results).unwrap();
        write(&results.join("r000th"), hostile());
        write(&folder.path().join("outside"), hostile());
        std::os::unix::fs::symlink(folder.path().join("outside"), results.join("r001th")).unwrap();
        let authorization = token.authorization();
        let app = Arc::new(App::new(Library::open(&results).unwrap()));
        let guard = Arc::new(Guard::new(address, https, token));
        Self { router: crate::router(app.clone(), guard), app, authorization, folder }
    }

    async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// With the token and these headers; status and body.
    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let mut request = Request::get(path).header("authorization", &self.authorization);
        if headers.iter().all(|(name, _)| *name != "host") {
            request = request.header("host", HOST);
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = self.send(request.body(Body::empty()).unwrap()).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn get(&self, path: &str) -> Json {
        let (status, body) = self.get_with(path, &[]).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn status(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        self.get_with(path, headers).await.0.as_u16()
    }
}

fn request(path: &str) -> Request<Body> {
    Request::get(path).header("host", HOST).body(Body::empty()).unwrap()
}

fn header<'r>(response: &'r Response<Body>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn no_path_leaves_the_folder() {
    let site = Site::new();
    let results = site.get("/api/results").await;
    assert_eq!(results.as_array().unwrap().len(), 1, "links are no results: {results}");
    let outside = site.folder.path().join("outside");
    let outside = outside.to_str().unwrap().replace('/', "%2F");
    for id in ["r001th", "..%2Foutside", "%2e%2e%2Foutside", "..", ".", "%00", &outside] {
        let status = site.status(&format!("/api/r/{id}/info"), &[]).await;
        assert!(status == 404 || status == 400, "{id}: {status}");
    }
    for file in ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "/assets/..%2f..%2fpackage.json", "//etc/passwd"] {
        assert_eq!(site.status(file, &[]).await, 404, "{file}");
    }
    let log = site.folder.path().join("results/r000th/log.txt");
    let _ = fs::remove_file(&log);
    assert_eq!(site.get("/api/r/r000th/log").await["text"], "");
    std::os::unix::fs::symlink("/etc/hostname", &log).unwrap();
    assert_eq!(site.status("/api/r/r000th/log", &[]).await, 404);
}

#[tokio::test]
async fn a_hostile_result_is_text_of_bounded_length() {
    let site = Site::new();
    let results = site.get("/api/results").await;
    assert_eq!((&results[0]["program"], &results[0]["created"]), (&json!(SCRIPT), &json!("")));
    for path in [
        "info",
        "report/waits",
        "view/hotspots",
        "grid?group-by=object,function,callers",
        "stacks?kind=wait",
        "flame",
        "filters?key=function",
        "bands?by=object",
        "interval?thread=0&at=150",
        "chain?thread=0&at=150",
        "arrows",
        "charts?width=10",
        "histogram",
        "report/findings",
        "report/blame?subject=lock*",
    ] {
        let (status, body) = site.get_with(&format!("/api/r/r000th/{path}"), &[]).await;
        assert_eq!(status, 200, "{path}: {body}");
        assert!(body.len() < 100_000, "{path}: {} bytes", body.len());
    }
    let info = site.get("/api/r/r000th/info").await;
    assert_eq!(info["threads"][0]["name"], SCRIPT);
    let waits = site.get("/api/r/r000th/report/waits").await;
    let name = waits["rows"][0]["object"].as_str().unwrap();
    assert!(name.starts_with("locklock") && name.ends_with(" more bytes]"), "{name}");
}

#[tokio::test]
async fn nonsense_gets_one_sentence() {
    let site = Site::new();
    for (path, status) in [
        ("grid?group-by=functoin", 400),
        ("grid", 400),
        ("grid?group-by=object&path=x", 400),
        ("report/wiats", 404),
        ("nothing", 404),
        ("stacks?kind=x", 400),
        ("interval?thread=99&at=1", 404),
        ("interval", 400),
        ("chain?thread=99&at=1", 404),
        ("chain?at=1", 400),
        ("tile?bands=x", 400),
        ("report/waits?from=900&to=900", 400),
        ("report/waits?excluded-range=0-18446744073709551615", 400),
        ("report/caller-callee?subject=none", 400),
        ("charts?from=5&to=1", 400),
    ] {
        let (found, body) = site.get_with(&format!("/api/r/r000th/{path}"), &[]).await;
        assert_eq!(found, status, "{path}: {body}");
        let body: Json = serde_json::from_str(&body).unwrap();
        assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{path}");
    }
    // Numbers without measure are no panic.
    for path in ["tile?width=99999999&bands=4294967295,0&from=0&to=18446744073709551615", "flame?min-share=NaN"] {
        assert_eq!(site.status(&format!("/api/r/r000th/{path}"), &[]).await, 200, "{path}");
    }
}

#[tokio::test]
async fn levels_of_a_grid_add_up_and_lead_to_stacks() {
    let site = Site::new();
    let top = site.get("/api/r/r000th/grid?group-by=thread,function,callers&metrics=wait_ns&sort=name").await;
    assert_eq!((&top["total_rows"], &top["total"]["wait_ns"]), (&json!(2), &json!(400)));
    let row = &top["rows"][1];
    assert_eq!((&row["label"], &row["children"]), (&json!("worker (1)"), &json!(true)));
    let path = format!("%5B%22{}%22%5D", row["key"].as_str().unwrap());
    let below = site.get(&format!("/api/r/r000th/grid?group-by=thread,function,callers&path={path}")).await;
    assert_eq!(below["total"]["wait_ns"], 200);
    assert_eq!(below["rows"][0]["children"], false, "a stack of one frame has no callers");
    let pane = site.get(&format!("/api/r/r000th/stacks?group-by=thread&kind=wait&path={path}")).await;
    assert_eq!((&pane["count"], &pane["weight_ns"], &pane["waits"]), (&json!(1), &json!(200), &json!(1)));
    assert_eq!(pane["frames"][0]["file"], SCRIPT);
    let filtered = site.get("/api/r/r000th/filters?key=thread&filter=thread%3Dworker").await;
    let share: f64 = filtered["values"].as_array().unwrap().iter().map(|it| it["share"].as_f64().unwrap()).sum();
    assert!((share - 1.0).abs() < 1e-9, "{filtered}");
    assert!(filtered["shown"].as_f64().unwrap() < 0.6, "{filtered}");
}

#[tokio::test]
async fn a_flame_graph_adds_up_from_the_leaves_to_its_roots() {
    let site = Site::new();
    for query in ["", "?inverted=1&by-thread=1", "?weight=wait&include-idle=1", "?min-share=1"] {
        let graph = site.get(&format!("/api/r/r000th/flame{query}")).await;
        let numbers = |field: &str| -> Vec<i64> {
            graph[field].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
        };
        let (parent, total, own) = (numbers("parent"), numbers("total"), numbers("self_ns"));
        let whole = graph["total_ns"].as_i64().unwrap();
        let below = |node: i64| -> i64 {
            (0..parent.len()).filter(|child| parent[*child] == node).map(|child| total[child]).sum()
        };
        assert!(parent.iter().enumerate().all(|(node, parent)| *parent < node as i64), "{graph}");
        let pruned = graph["pruned_ns"].as_i64().unwrap();
        assert_eq!(below(-1) + pruned, whole, "{graph}");
        assert!((0..parent.len()).all(|node| own[node] + below(node as i64) == total[node]), "{graph}");
        assert!(whole > 0 && (pruned > 0) == query.contains("min-share"), "{graph}");
    }
}

#[tokio::test]
async fn a_result_compared_with_itself_has_no_difference() {
    let site = Site::new();
    let document = site.get("/api/compare?a=r000th&b=r000th&level=object").await;
    let rows = document["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["object"], &rows[0]["wait_ns_first"]), (2, &json!("[all]"), &json!(400)));
    assert!(rows.iter().all(|row| row["wait_ns_difference"] == 0 && row["wait_ns_ratio"] == 1.0), "{document}");
    for path in ["/api/compare?a=r000th", "/api/compare?a=r000th&b=r000th&level=x"] {
        assert_eq!(site.status(path, &[]).await, 400, "{path}");
    }
    assert_eq!(site.status("/api/compare?a=r000th&b=r001th", &[]).await, 404);
}

#[tokio::test]
async fn a_report_is_the_command_lines_with_its_limit() {
    let mut trace = hostile();
    let row = trace.off_cpu.thread.len() - 1;
    (trace.objects.name[0], trace.frames.function[0]) = ("lock".into(), "f".into());
    trace.threads.end_ns[1] = 100 * MOST_ROWS as u64;
    trace.manifest.end_ns = trace.threads.end_ns[1];
    for number in 0..MOST_ROWS + 10 {
        let name = format!("lock {number}");
        let object = ObjectRow { name, first_stack: StackId::NONE, ..trace.objects.row(0).unwrap() };
        let object = ObjectId::new(trace.objects.push(object));
        let start_ns = 1000 + 50 * number as u64;
        trace.off_cpu.push(OffCpuRow {
            object,
            start_ns,
            wait_ns: 20,
            runnable_ns: 1,
            ..trace.off_cpu.row(row).unwrap()
        });
    }
    let site = Site::new();
    write(&site.folder.path().join("results/r002th"), trace.clone());
    let query = |limit: usize| Query { limit: Some(limit), ..Query::default() };
    for (words, limit) in [("", MOST_ROWS), ("?limit=7", 7), ("?limit=20000", 20_000)] {
        let (_, document) = site.get_with(&format!("/api/r/r002th/report/waits{words}"), &[]).await;
        let expected = json::render(&report(Report::Waits, &trace, &query(limit)).unwrap());
        assert!(document == expected, "{limit}: {} and {} bytes", document.len(), expected.len());
    }
}

/// Work that ends by being stopped only, and what hears that it begins and, by its end, that it has left.
fn endless() -> (impl FnOnce() -> Result<(), Problem> + Send + 'static, UnboundedReceiver<()>) {
    let (begun, heard) = unbounded_channel();
    let work = move || {
        let _ = begun.send(());
        loop {
            stop::check();
        }
    };
    (work, heard)
}

async fn has_left(mut heard: UnboundedReceiver<()>) -> bool {
    tokio::time::timeout(Duration::from_secs(20), heard.recv()).await == Ok(None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_client_has_gone_keeps_no_place() {
    let site = Site::new();
    for _ in 0..3 * COMPUTATIONS {
        let (work, mut heard) = endless();
        let app = site.app.clone();
        let asked = tokio::spawn(async move { app.compute(work).await });
        assert!(heard.recv().await.is_some());
        asked.abort();
        assert!(has_left(heard).await);
    }
    assert_eq!(site.app.compute(|| Ok(7)).await.ok(), Some(7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_closes_stops_what_it_asked_for() {
    let site = Site::new();
    let (work, mut heard) = endless();
    let (app, work) = (site.app.clone(), Arc::new(Mutex::new(Some(work))));
    let answer = async move || {
        let work = work.lock().unwrap().take().unwrap();
        app.compute(work).await
    };
    let router = Router::new().route("/", axum::routing::get(answer));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, None, router, None));
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    assert!(heard.recv().await.is_some());
    drop(client);
    assert!(has_left(heard).await);
}

//! What may be sent, and to whom: collections, where the server starts any.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use super::*;
use crate::collector::Collector;

/// A server that starts collections, and the other end of its socket.
fn site_that_collects() -> (Site, UnixStream) {
    let plain = Site::new();
    let library = Library::open(&plain.folder.path().join("results")).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let app = Arc::new(App::new(library).with_collector(Some(Collector::behind(ours.into()))));
    let token = Token::new().unwrap();
    let authorization = token.authorization();
    let guard = Guard::new(Ipv4Addr::LOCALHOST.into(), false, token).with_collections();
    (Site { router: crate::router(app.clone(), Arc::new(guard)), app, authorization, folder: plain.folder }, theirs)
}

/// Status, and the error.
async fn post(site: &Site, path: &str, body: &Json) -> (u16, String) {
    let request = Request::post(path).header("host", HOST).header("authorization", &site.authorization);
    let response = site.send(request.body(Body::from(body.to_string())).unwrap()).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Json = serde_json::from_slice(&bytes).unwrap_or_default();
    (status, answer["error"].as_str().unwrap_or_default().to_owned())
}

fn wanted() -> Json {
    json!({
        "analysis": "threading", "target": "machine", "duration_s": 1, "sockets": false, "system": false,
        "exact_fibers": false, "start_paused": false,
    })
}

#[tokio::test]
async fn a_server_without_collections_takes_nothing() {
    let site = Site::new();
    for path in ["/api/collections", "/api/collections/plan", "/api/collections/0/stop", "/api/results"] {
        assert_eq!(post(&site, path, &wanted()).await.0, 405, "{path}");
    }
    assert_eq!(site.get("/api/collections").await, json!({ "enabled": false, "collections": [] }));
    assert_eq!(site.status("/api/processes", &[]).await, 403);
    assert_eq!(site.status("/api/collections/0/picture", &[]).await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_is_passed_on_as_it_is_understood() {
    let (site, mut theirs) = site_that_collects();
    let answering = thread::spawn(move || {
        let mut question = String::new();
        BufReader::new(&theirs).read_line(&mut question).unwrap();
        theirs.write_all(b"{\"refused\":{\"error\":\"no\",\"hint\":\"later\"}}\n").unwrap();
        question
    });
    assert_eq!(post(&site, "/api/collections", &wanted()).await, (422, "no".to_owned()));
    let question: Json = serde_json::from_str(&answering.join().unwrap()).unwrap();
    assert_eq!(question, json!({ "start": wanted() }));
    let gone = post(&site, "/api/collections", &wanted()).await;
    assert_eq!(gone, (502, "the process that collects for this page is gone".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_asked_for_by_number() {
    let (site, mut theirs) = site_that_collects();
    let answering = thread::spawn(move || {
        let mut question = String::new();
        BufReader::new(&theirs).read_line(&mut question).unwrap();
        theirs.write_all(b"{\"document\":{\"columns\":\"l\"}}\n").unwrap();
        question
    });
    assert_eq!(site.get("/api/collections/7/picture").await, json!({ "columns": "l" }));
    assert_eq!(answering.join().unwrap(), "{\"picture\":7}\n");
}

#[tokio::test]
async fn what_is_no_request_goes_nowhere() {
    let (site, mut theirs) = site_that_collects();
    for path in ["/api/results", "/api/r/r000th/info", "/api/compare"] {
        assert_eq!(post(&site, path, &json!("")).await.0, 405, "{path}");
    }
    assert_eq!(post(&site, "/api/collections/1/burn", &json!("")).await.0, 404);
    let more = json!({ "user": "root" });
    let with_more: Json = [wanted(), more].iter().flat_map(|it| it.as_object().unwrap().clone()).collect();
    for wrong in [json!({}), json!("threading"), with_more] {
        assert_eq!(post(&site, "/api/collections", &wrong).await.0, 400, "{wrong}");
    }
    assert_eq!(post(&site, "/api/collections", &json!("x".repeat(100_000))).await.0, 414);
    for headers in [[("authorization", "Bearer 0")], [("sec-fetch-site", "cross-site")], [("origin", "http://evil")]] {
        let mut request = Request::post("/api/collections").header("host", HOST);
        if headers[0].0 != "authorization" {
            request = request.header("authorization", &site.authorization);
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let status = site.send(request.body(Body::from(wanted().to_string())).unwrap()).await.status();
        assert!([401, 403].contains(&status.as_u16()), "{headers:?}: {status}");
    }
    theirs.set_nonblocking(true).unwrap();
    let mut line = [0; 16];
    assert!(std::io::Read::read(&mut theirs, &mut line).is_err(), "nothing was asked");
}

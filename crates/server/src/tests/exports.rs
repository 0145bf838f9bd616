//! Files for other tools.

use super::*;

/// Headers and body of an answer.
async fn file(site: &Site, path: &str) -> (StatusCode, String, Vec<u8>) {
    let request = Request::get(path).header("authorization", &site.authorization).header("host", HOST);
    let response = site.send(request.body(Body::empty()).unwrap()).await;
    let (status, name) = (response.status(), header(&response, "content-disposition").to_owned());
    (status, name, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

#[tokio::test]
async fn every_format_is_a_file_with_the_filters_of_the_view() {
    let site = Site::new();
    for (format, ending, begin) in [
        ("speedscope", "speedscope.json", &b"{"[..]),
        ("pprof", "pb.gz", b"\x1f\x8b"),
        ("otlp", "otlp.pb", b"\x0a"),
        ("firefox", "profile.json.gz", b"\x1f\x8b"),
        ("perfetto", "pftrace", b"\x0a"),
    ] {
        let (status, name, bytes) = file(&site, &format!("/api/r/r000th/export/{format}")).await;
        assert_eq!(status, StatusCode::OK, "{format}");
        assert_eq!(name, format!("attachment; filename=\"r000th.{ending}\""));
        assert!(bytes.starts_with(begin), "{format}");
    }
    let sum = |bytes: &[u8]| -> u64 {
        let text = String::from_utf8_lossy(bytes);
        text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    let all = file(&site, "/api/r/r000th/export/folded?weight=wait").await.2;
    let one = file(&site, "/api/r/r000th/export/folded?weight=wait&filter=thread%3Dworker").await.2;
    assert_eq!((sum(&all), sum(&one)), (400, 200));
    let (status, name, bytes) = file(&site, "/api/r/r000th/pack").await;
    assert_eq!((status, name.as_str()), (StatusCode::OK, "attachment; filename=\"r000th.dwell\""));
    assert!(!bytes.is_empty());
}

#[tokio::test]
async fn what_cannot_be_exported_is_said() {
    let site = Site::new();
    for (path, status, said) in [
        ("export/sql", 404, "there is no format `sql` here"),
        ("export/folded?weight=both", 400, "`both` is no weight"),
        ("export/perfetto?filter=utilization%3Dpoor", 400, "this format has events"),
        ("export/pprof?filter=thread%3Dt99", 400, "there is no thread `t99`"),
    ] {
        let (found, body) = site.get_with(&format!("/api/r/r000th/{path}"), &[]).await;
        assert!(found.as_u16() == status && body.contains(said), "{path}: {found} {body}");
    }
    assert_eq!(site.status("/api/r/r009th/pack", &[]).await, 404);
    assert_eq!(site.status("/api/r/r009th/export/pprof", &[]).await, 404);
}

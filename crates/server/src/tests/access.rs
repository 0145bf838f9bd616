//! Who may ask, and what: the token, names, sites, methods, and the headers of every answer.

use super::*;

#[tokio::test]
async fn everyone_gets_the_page_and_only_the_token_gets_data() {
    let site = Site::new();
    assert_eq!(site.send(request("/")).await.status(), 200);
    assert_eq!(site.send(request("/assets/no-such")).await.status(), 404);
    let secret = site.authorization.strip_prefix("Bearer ").unwrap();
    let calls =
        ["results", "compare?a=r000th&b=r000th", "r/r000th/info", "r/r000th/log", "r/r000th/tile", "r/x/report/waits"];
    for call in calls.iter().chain(&["t/x/info", "nothing", ""]) {
        for path in [format!("/api/{call}"), format!("/api/{call}?token={secret}")] {
            let response = site.send(request(&path)).await;
            let refused = if call.is_empty() { 404 } else { 401 };
            assert_eq!(response.status(), refused, "{path}");
        }
    }
    for cookie in ["dwell", "token", "dwell-8080"].map(|name| format!("{name}={secret}")) {
        let asked = Request::get("/api/results").header("host", HOST).header("cookie", cookie);
        assert_eq!(site.send(asked.body(Body::empty()).unwrap()).await.status(), 401, "a cookie is nothing");
    }
    let twice = [("authorization", "Bearer 0")];
    assert_eq!(site.status("/api/results", &twice).await, 401, "one token, not a list to choose from");
    assert_eq!(site.status("/api/results", &[]).await, 200);
}

#[tokio::test]
async fn no_answer_sets_a_cookie() {
    let site = Site::new();
    let secret = site.authorization.strip_prefix("Bearer ").unwrap();
    let entry = format!("/?token={secret}");
    for path in ["/", &entry, "/icon.svg", "/api/results", "/api/r/r000th/info", "/api/nothing", "/nothing"] {
        for authorization in [&*site.authorization, "Bearer 0"] {
            let asked = Request::get(path).header("host", HOST).header("authorization", authorization);
            let response = site.send(asked.body(Body::empty()).unwrap()).await;
            assert_eq!(header(&response, "set-cookie"), "", "{path}");
        }
    }
}

#[tokio::test]
async fn a_link_from_elsewhere_leads_to_the_page_and_to_nothing_else() {
    let site = Site::new();
    let from_elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(site.status("/", &from_elsewhere).await, 200);
    assert_eq!(site.status("/api/results", &from_elsewhere).await, 403);
    assert_eq!(site.status("/icon.svg", &from_elsewhere).await, 403);
    assert_eq!(site.status("/", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")]).await, 403);
}

#[tokio::test]
async fn other_names_sites_and_methods_are_refused() {
    let site = Site::new();
    let path = "/api/results";
    assert_eq!(site.status(path, &[]).await, 200);
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"] {
        assert_eq!(site.status(path, &[("host", host)]).await, 200, "{host}");
    }
    for host in ["evil.example:8080", "127.0.0.1.evil.example", "192.168.0.7:8080", "", "localhost.evil.example"] {
        assert_eq!(site.status(path, &[("host", host)]).await, 421, "{host}");
    }
    assert_eq!(site.status(path, &[("host", HOST), ("host", "evil.example")]).await, 421);
    assert_eq!(site.status("http://evil.example/api/results", &[]).await, 421);
    assert_eq!(site.status(path, &[("origin", "http://127.0.0.1:8080")]).await, 200);
    for origin in ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:9090"] {
        assert_eq!(site.status(path, &[("origin", origin)]).await, 403, "{origin}");
    }
    for (from, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
        assert_eq!(site.status(path, &[("sec-fetch-site", from)]).await, status, "{from}");
    }
    assert_eq!(site.status(&format!("/api/results?x={}", "x".repeat(9000)), &[]).await, 414);
    let post = Request::post(path).header("host", HOST).header("authorization", &site.authorization);
    assert_eq!(site.send(post.body(Body::empty()).unwrap()).await.status(), 405);
}

#[tokio::test]
async fn a_server_for_others_takes_addresses_but_no_foreign_names() {
    let site = Site::listening_on(Ipv4Addr::UNSPECIFIED.into(), false);
    assert_eq!(site.status("/", &[("host", "192.168.0.7:8080")]).await, 200);
    assert_eq!(site.status("/", &[("host", "evil.example")]).await, 421);
    let site = Site::listening_on(Ipv4Addr::UNSPECIFIED.into(), true);
    let named = [("host", "profiler.example"), ("origin", "https://profiler.example")];
    assert_eq!(site.status("/", &named).await, 200, "its certificate answers for the name");
}

#[tokio::test]
async fn every_answer_forbids_what_it_can() {
    let site = Site::new();
    for (path, may) in [("/", true), ("/api/results", true), ("/no/such/file", true), ("/api/results", false)] {
        let mut request = Request::get(path).header("host", HOST);
        if may {
            request = request.header("authorization", &site.authorization);
        }
        let response = site.send(request.body(Body::empty()).unwrap()).await;
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("-inline"), "{path}: {policy}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        assert_eq!(header(&response, "referrer-policy"), "no-referrer");
        assert_eq!(header(&response, "cross-origin-opener-policy"), "same-origin");
        assert_eq!(header(&response, "cross-origin-resource-policy"), "same-origin");
        assert!(!header(&response, "content-type").is_empty(), "{path}");
    }
}

/// What a program of `user` is answered by a server of this process.
async fn status_for(site: &Site, path: &str, user: Option<u32>) -> u16 {
    let mut asked = Request::get(path).header("host", HOST).header("authorization", &site.authorization);
    asked = asked.extension(PeerUser(user));
    site.send(asked.body(Body::empty()).unwrap()).await.status().as_u16()
}

#[tokio::test]
async fn only_programs_of_its_user_and_of_root_are_answered() {
    let own = rustix::process::geteuid().as_raw();
    let lasting = Token::lasting(&Secret::new().unwrap(), "host", "http://127.0.0.1:8080");
    for (site, unknown) in [(Site::new(), 200), (Site::with(Ipv4Addr::LOCALHOST.into(), false, lasting), 403)] {
        for path in ["/", "/api/results"] {
            assert_eq!(status_for(&site, path, Some(own)).await, 200, "{path}");
            assert_eq!(status_for(&site, path, Some(0)).await, 200, "{path}");
            assert_eq!(status_for(&site, path, Some(54_321)).await, 403, "{path}, with the right token");
            assert_eq!(status_for(&site, path, None).await, unknown, "{path}, when nobody knows who asks");
        }
    }
}

//! Who is answered, and with which headers.

use serde_json::json;

use super::{Server, shop};

#[test]
fn pages_of_others_neither_read_nor_change_anything() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let port = server.host.rsplit(':').next().unwrap().to_owned();
    let evil = format!("evil.example:{port}");
    let refused = server.send("GET", "/api/runs", &[("host", &evil)], "");
    assert_eq!(refused.refusal(), "403 FORBIDDEN");
    assert_eq!(server.send("GET", "/", &[("host", &evil)], "").refusal(), "403 FORBIDDEN");
    let body = json!({"suite": "shop"}).to_string();
    let from = [("origin", "http://evil.example")];
    assert_eq!(server.send("POST", "/api/runs", &from, &body).refusal(), "403 FORBIDDEN");
    let reply = server.get("/");
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
    ] {
        assert!(reply.headers.contains(header), "{}", reply.headers);
    }
    assert!(!reply.headers.contains("unsafe-inline") && !reply.headers.contains("access-control"));
    let large =
        format!("{{\"grader\": \"exact_match\", \"submission\": \"{}\"}}", "x".repeat(3 << 20));
    assert_eq!(server.send("POST", "/api/grade", &[], &large).refusal(), "413 TOO_LARGE");
}

#[test]
fn members_of_a_query_that_mean_nothing_are_refused() {
    let server = Server::new(shop(), &["suite.yaml"]);
    for path in ["/api/meta?bogus=1", "/api/runs?limt=1", "/api/suites/shop?limit=1"] {
        assert_eq!(server.get(path).refusal(), "400 BAD_REQUEST", "{path}");
    }
    let said = server.get("/api/runs?limt=1").json()["error"]["message"].to_string();
    assert!(said.contains("did you mean `limit`?"), "{said}");
    server.get("/api/runs?limit=1&skip=0&suite=shop").data();
    assert_eq!(server.get("/?bogus=1").status, 200);
}

#[test]
fn a_server_that_only_reads_changes_nothing() {
    let server = Server::new(shop(), &["suite.yaml", "--read-only"]);
    assert_eq!(server.post("/api/runs", &json!({"suite": "shop"})).refusal(), "403 FORBIDDEN");
    let label = server.put("/api/suites/shop/labels/paris", &json!({"label": true}));
    assert_eq!(label.refusal(), "403 FORBIDDEN");
    assert_eq!(server.send("DELETE", "/api/runs/latest", &[], "").refusal(), "403 FORBIDDEN");
    assert!(!server.space.path("suite.labels.jsonl").exists());
    assert_eq!(server.get("/api/meta").data()["read_only"], true);
}

#[test]
fn others_need_a_token() {
    let refused = shop().run(&["serve", "--bind", "0.0.0.0", "--port", "0"]);
    insta::assert_snapshot!(refused.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `--bind 0.0.0.0` is reachable from other machines and needs a token
      help: set a variable to at least 16 characters that nobody can guess, and name it: `--token-env EVALRS_TOKEN`
    ");
    let short = shop().run(&["serve", "--token-env", "NOTHING_HERE", "--port", "0"]);
    insta::assert_snapshot!(short.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the environment variable `NOTHING_HERE` has no token of at least 16 characters
      help: for example `export EVALRS_TOKEN=$(openssl rand -hex 16)`
    ");
    let token = "a-token-that-nobody-can-guess";
    let server = Server::with(shop(), &["--token-env", "TOKEN"], &[("TOKEN", token)]);
    let reply = server.get("/api/runs");
    assert_eq!(reply.refusal(), "401 UNAUTHORIZED");
    assert!(reply.headers.contains("www-authenticate: Basic"), "{}", reply.headers);
    let health = server.get("/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
    let bearer = format!("Bearer {token}");
    server.send("GET", "/api/runs", &[("authorization", &bearer)], "").data();
    let other = server.send(
        "GET",
        "/api/runs",
        &[("authorization", "Bearer a-token-that-nobody-can-gues")],
        "",
    );
    assert_eq!(other.refusal(), "401 UNAUTHORIZED");
}

#[test]
fn what_cannot_be_served_is_said() {
    let space = shop();
    space.write("other/evalrs.toml", "");
    space.write("other/suite.yaml", super::SUITE);
    space.write("other/data.jsonl", super::ROWS);
    space.write("again.yaml", super::SUITE);
    let wrong =
        [&["suite.yaml", "again.yaml"][..], &["suite.yaml", "other/suite.yaml"], &["none.yaml"]];
    let shown: Vec<String> = wrong
        .iter()
        .map(|suites| {
            let args: Vec<&str> = ["serve", "--port", "0"].iter().chain(*suites).copied().collect();
            format!("--- {suites:?}\n{}\n", space.run(&args).shown())
        })
        .collect();
    let shown = shown.concat();
    insta::assert_snapshot!(shown, @r#"
    --- ["suite.yaml", "again.yaml"]
    exit: 2
    --- stdout
    --- stderr
    error: two suites have the name `shop`
      help: addresses and records know suites by their names

    --- ["suite.yaml", "other/suite.yaml"]
    exit: 2
    --- stdout
    --- stderr
    error: `other/suite.yaml` and `suite.yaml` are in different workspaces
      help: serve the suites of one workspace; another server with another `--port` can serve the rest

    --- ["none.yaml"]
    exit: 2
    --- stdout
    --- stderr
    error: the file `none.yaml` does not exist
     --> none.yaml
    "#);
}

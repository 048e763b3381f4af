//! What an import must not write: live keys, however they are escaped or folded, and files outside of its folder.
#![cfg_attr(unix, expect(clippy::disallowed_methods, reason = "tests remove their own links"))]

use crate::space::Space;

const YAML: &str = r#"prompts: ['Answer: {{q}} {{x}}']
providers: [echo]
tests:
  - vars:
      q: a
      x: |
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEA1234567890abcdefghij
        klmnopqrstuvwxyz0123456789ABCDEFGHIJ
        -----END RSA PRIVATE KEY-----
  - vars: {q: b, x: "\x73k-proj-4fJ29aQ0x8LmZt73vbN1"}
  - vars:
      q: c
      x: "sk-proj-9zJ29a\
        Q0x8LmZt73vbN1zz"
  - vars: {q: d, x: '{"token": "sk\u002dproj-7aJ29aQ0x8LmZt73vbN1"}'}
"#;

const JSON: &str = r#"{"prompts": ["{{x}}"], "providers": ["echo"], "tests": [
{"vars": {"x": "sk\u002dproj-4fJ29aQ0x8LmZt73vbN1"}},
{"vars": {"x": "Bearer abcdefgh12345678\/ijklmnop12345"}},
{"vars": {"x": "first\nsk-proj-9zJ29aQ0x8LmZt73vbN1\nlast"}}]}
"#;

/// Halves of a key that only the prompt puts together.
const HALVES: &str = "prompts: ['{{a}}{{b}}']\nproviders: [echo]\ndescription: sk-proj-4fJ29aQ0x8LmZt73vbN1\ntests:\n  - vars: {a: ghp_0123456789abcdefghij, b: ABCDEFGHIJ012345}\n";

#[test]
fn no_key_is_written_however_it_is_escaped_or_folded() {
    let space = Space::new(&[("c.yaml", YAML), ("c.json", JSON), ("halves.yaml", HALVES)]);
    let mut told = Vec::new();
    for source in ["c.yaml", "c.json", "halves.yaml"] {
        let ran = space.run(&["import", source, "-o", "out", "--force"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let out = ran.stdout();
        let secrets = out.lines().filter(|line| line.contains("removed a secret"));
        told.extend(secrets.map(|line| line.trim().replace("removed a secret: ", "")));
        let names = ["suite.yaml", "dataset.jsonl", "IMPORT.md"];
        let written: String = names.iter().map(|name| space.read(&format!("out/{name}"))).collect();
        let parts = ["MIIE", "klmnop", "4fJ29a", "9zJ29a", "7aJ29a", "ijklmnop", "hijABCD"];
        for part in parts {
            assert!(!written.contains(part), "{part} of {source}: {written}");
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    c.yaml:7: a private key
    c.yaml:11: a key that begins with sk-
    c.yaml:14: a key that begins with sk-
    c.yaml:16: a key that begins with sk-
    c.json:2: a key that begins with sk-
    c.json:3: a bearer token
    c.json:4: a key that begins with sk-
    dataset.jsonl:1: a token of GitHub
    halves.yaml:3: a key that begins with sk-
    ");
}

#[cfg(unix)]
#[test]
fn links_lead_neither_reads_nor_writes_out_of_their_folder() {
    use std::os::unix::fs::symlink;
    let config = "prompts: [file://p.txt]\nproviders: [echo]\ntests: [{vars: {a: b}}]\n";
    let files = [
        ("in/c.yaml", config),
        ("in/near.txt", "near"),
        ("hidden/p.txt", "hidden words"),
        ("hidden/c.yaml", config),
        ("victim.txt", "kept"),
    ];
    let space = Space::new(&files);
    let link = |to: &str, from: &str| symlink(to, space.path(from)).unwrap();
    let unlink = |path: &str| std::fs::remove_file(space.path(path)).unwrap();
    link("../hidden/p.txt", "in/p.txt");
    let mut said = Vec::new();
    let mut import = |source: &str| {
        let ran = space.run(&["import", source, "-o", "out", "--force"]);
        let folder = space.path("").canonicalize().unwrap();
        said.push(ran.stderr().replace(folder.to_str().unwrap(), "SPACE"));
        ran.code()
    };
    import("in/c.yaml");
    let report = space.read("out/IMPORT.md");
    assert!(report.contains("a link leads it to"), "{report}");
    assert!(!space.read("out/suite.yaml").contains("hidden words"));
    // A link that stays in the folder is followed.
    unlink("in/p.txt");
    link("near.txt", "in/p.txt");
    assert_eq!(import("in/c.yaml"), 0);
    assert!(space.read("out/dataset.jsonl").contains("near"));
    link("../hidden/c.yaml", "in/link.yaml");
    assert_eq!(import("in/link.yaml"), 2);
    unlink("out/suite.yaml");
    link("../victim.txt", "out/suite.yaml");
    assert_eq!(import("in/c.yaml"), 2);
    assert_eq!(space.read("victim.txt"), "kept");
    insta::assert_snapshot!(said.join(""), @r"
    error: cannot read `in/link.yaml`: a link leads it to `SPACE/hidden/c.yaml`, outside `SPACE/in`; `--root DIR` allows more
      help: name a file or folder that is there
    error: `out/suite.yaml` is a link; nothing was written
      help: an import does not write outside its folder: remove the link, or name another folder
    ");
}

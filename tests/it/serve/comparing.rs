//! Two runs compared on a page: what programs are told is what `evalrs diff --json` prints.

use serde_json::Value;

use super::Server;
use crate::diff_labels::{people, unlabelled, worse};

/// The ids of the two runs, the older one first.
fn runs(server: &Server) -> Vec<String> {
    let list = server.get("/api/runs").data();
    let ids = list["runs"].as_array().unwrap().iter().rev();
    ids.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_api_answers_what_diff_prints_with_rationales_and_labels() {
    // The suite is served, is found by the record, or the labels are those that the command line names.
    for (served, labels) in [
        (&["suite.yaml"][..], &[][..]),
        (&[], &[]),
        (&["suite.yaml", "--labels", "other.jsonl"], &["--labels", "other.jsonl"]),
    ] {
        let space = worse(&unlabelled());
        space.write("suite.labels.jsonl", people());
        space.write("other.jsonl", people().lines().take(5).collect::<Vec<_>>().join("\n"));
        let server = Server::new(space, served);
        let ids = runs(&server);
        let [old, new] = [&ids[0], &ids[1]];
        let printed = server.space.run(&[&["diff", "--json", old, new], labels].concat()).stdout();
        let answered = server.get(&format!("/api/diff?old={old}&new={new}")).data();
        assert_eq!(serde_json::to_string_pretty(&answered).unwrap() + "\n", printed, "{served:?}");
        let moved = answered["moved"].as_array().unwrap();
        let words: Vec<&Value> =
            moved.iter().flat_map(|one| [&one["before"], &one["now"]]).collect();
        assert!(words.iter().all(|grade| grade["rationale"] == "as asked"), "{answered}");
        assert!(answered["graders"]["quality"]["agreement"]["n"].is_number(), "{answered}");
    }
}

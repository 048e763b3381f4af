//! The agents of the workspace: programs that say all that they know, and servers that do.
//!
//! None looks at the id unless the suite says that answers rest on it: what it answers to one sample stands for all that are
//! told the same.

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::letta_server::{LettaServer, SyntaxReply};

/// How inputs begin that an agent answers in one way, whatever else it is told.
pub(super) const SHARED: &str = "shared";

/// Says what stands in the folder it works in, and what its script there says.
const LOOKS_AROUND: &str = r#"here=none; tool=none
if [ ! -e suite.yaml ]; then
  here=$(find . -path ./.git -prune -o -print | LC_ALL=C sort | tr '\n' ' ')
  tool=$(./tool.sh 2>/dev/null || echo broken)
fi
[ -d .git ] && here="$here git""#;

/// The script of a command.
pub(super) fn command(sees_id: bool) -> String {
    let unseen = if sees_id { "" } else { r#"s/"id":"[^"]*"//; "# };
    format!(
        r#"read -r asked
case $asked in *'"{SHARED}'*) echo {SHARED} command; exit;; esac
{LOOKS_AROUND}
told=$(printf '%s' "$asked" | sed '{unseen}s/"workspace":"[^"]*"//')
echo "told $told in $here, tool $tool""#
    )
}

/// The agent whose command line an adapter knows.
pub(super) fn headless() -> String {
    format!(
        r#"#!/bin/sh
read -r line
{LOOKS_AROUND}
case $line in *{SHARED}*) said="{SHARED} headless";; *) said="$1 $line in $here, tool $tool";; esac
printf '{{"said":"%s"}}' "$said""#
    )
}

/// The Python file of a function.
pub(super) fn function(sees_id: bool) -> String {
    let unseen = if sees_id { "" } else { "    sample.pop('id')\n" };
    format!(
        "\
import json, os, subprocess

from words import WORD


def run(sample):
    if sample['input'].startswith('{SHARED}'):
        return '{SHARED} function'
    place = sample.pop('workspace', None)
{unseen}    told = f'{{WORD}} {{json.dumps(sample, sort_keys=True)}}'
    return told + (f' in {{around(place)}}' if place else '')


def around(place):
    found = []
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name != '.git']
        found += [os.path.relpath(os.path.join(folder, name), place) for name in folders + files]
    tool = os.path.join(place, 'tool.sh')
    return sorted(found), os.access(tool, os.X_OK), os.path.isdir(os.path.join(place, '.git'))
"
    )
}

/// The servers that agents and judges are.
pub(in crate::differential) struct LiveServers {
    pub(in crate::differential) judge: Judge,
    letta: [LettaServer; 2],
}

impl LiveServers {
    pub(in crate::differential) fn new() -> Self {
        let judge = Judge::new(|_, asked| {
            if asked.path.starts_with("/agent") {
                return Answer::Http(200, Vec::new(), deployed(asked).to_string());
            }
            let sum: u32 = asked.question().bytes().map(u32::from).sum();
            Answer::score(f64::from(sum % 5) / 4.0)
        });
        let letta = ["one", "two"].map(|name| {
            LettaServer::new(move |_, text| match text {
                _ if text.starts_with(SHARED) => SyntaxReply::Text(format!("{SHARED} letta")),
                _ => SyntaxReply::Text(format!("{name} {text}")),
            })
        });
        Self { judge, letta }
    }

    /// The address of the deployed agent.
    pub(super) fn agent_url(&self) -> String {
        format!("{}/agent", self.judge.root())
    }

    /// The address of a Letta server.
    pub(super) fn letta_url(&self, server: usize) -> String {
        self.letta[server].url()
    }
}

/// What the deployed agent replies: what it was sent. Without a body of its own it is told the id whatever the suite says.
fn deployed(asked: &Asked) -> Value {
    let mut body = asked.body.clone();
    if body["turns"].is_array() {
        body.as_object_mut().unwrap().remove("id");
    }
    if body.to_string().contains(SHARED) {
        return json!({"output": format!("{SHARED} http")});
    }
    let who = asked.header("x-who").unwrap_or_default();
    json!({"output": format!("{} {who} {body}", asked.path)})
}

//! The part of a sample that a target gets, or that its requests contain: that of a row is in keys, and
//! nothing else.
//!
//! The id is a case of its own. It is in keys where the suite says that answers rest on it, and programs are told it without
//! that too: then samples that are otherwise alike share a conversation.

use serde_json::{Map, Value};

use super::placeholders;
use evalrs_model::spec::{AgentKind, HttpTarget, LettaAgentSource, LiveTarget, SampleMember};

/// What a target knows of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownOfSample {
    /// Its input besides the id.
    pub handed: HandedInput,
    /// What the id is to it.
    pub id: IdUse,
}

/// The input of a target from a sample, besides its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandedInput {
    /// Everything.
    All,
    /// These members, or values within them, each by its path.
    Only(Vec<String>),
}

/// What the id of a sample is to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdUse {
    /// It does not get the id.
    Untold,
    /// It gets the id, and the suite does not declare that answers depend on it.
    Told,
    /// Answers rest on it: it is in keys.
    InKeys,
}

impl KnownOfSample {
    /// What a target knows.
    pub fn of(target: &LiveTarget) -> Self {
        let handed = HandedInput::of(&target.kind);
        let is_named = match &target.kind {
            AgentKind::Http(http) => placeholders::names(http).contains(&"id"),
            _ => false,
        };
        let program = &target.program;
        let is_told = match &target.kind {
            // Who answers calls of tools is told.
            AgentKind::Chat(_) => program.has_text() || program.runtime.is_some(),
            _ => handed == HandedInput::All,
        };
        let id = if is_named || program.sees.contains(&SampleMember::Id) {
            IdUse::InKeys
        } else if is_told {
            IdUse::Told
        } else {
            IdUse::Untold
        };
        Self { handed, id }
    }
}

impl HandedInput {
    fn of(kind: &AgentKind) -> Self {
        match kind {
            AgentKind::Command | AgentKind::Function => Self::All,
            AgentKind::LettaAgent(letta) if letta.agent == LettaAgentSource::Script => Self::All,
            AgentKind::Http(http) => Self::of_requests(http),
            AgentKind::Headless(_)
            | AgentKind::Chat(_)
            | AgentKind::LettaAgent(_)
            | AgentKind::LettaCode(_) => Self::Only(vec!["turns".to_owned()]),
        }
    }

    fn of_requests(http: &HttpTarget) -> Self {
        if placeholders::has_plain_body(http) {
            return Self::All;
        }
        let has_turns = http.session.is_some();
        let is_of_sample = |name: &&str| match *name {
            // In a session it is a turn.
            "input" => !has_turns,
            "session" | "id" | "model" | "trial" => false,
            _ => true,
        };
        let named = placeholders::names(http).into_iter().filter(is_of_sample);
        let turns = has_turns.then_some("turns");
        Self::Only(named.chain(turns).map(str::to_owned).collect())
    }

    /// Whether a part of a member is passed.
    pub fn has(&self, member: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(paths) => paths.iter().any(|path| placeholders::member_of(path) == member),
        }
    }

    /// The passed parts of these members. What is null is not there.
    pub(crate) fn of_members(&self, members: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::All => members,
            Self::Only(paths) => {
                let value = |path: &String| {
                    Some((path.clone(), placeholders::handed_at(&members, path)?.clone()))
                };
                paths.iter().filter_map(value).filter(|(_, value)| !value.is_null()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::HandedInput;

    #[test]
    fn of_a_sample_what_is_named_is_handed_over() {
        let members = json!({"input": "hi", "turns": ["hi"], "metadata": {"a": {"b": 1}, "c.d": 2, "n": null}});
        let Value::Object(members) = members else { panic!("it is an object") };
        for (paths, expected) in [
            ("turns", json!({"turns": ["hi"]})),
            ("input metadata.a", json!({"input": "hi", "metadata.a": {"b": 1}})),
            ("metadata.a.b metadata.c.d", json!({"metadata.a.b": 1, "metadata.c.d": 2})),
            ("metadata.n metadata.x agent_args", json!({})),
            ("", json!({})),
        ] {
            let wanted = HandedInput::Only(paths.split_whitespace().map(str::to_owned).collect());
            let cut: Map<String, Value> = wanted.of_members(members.clone());
            assert_eq!(Value::Object(cut), expected, "{paths}");
            assert_eq!(wanted.has("metadata"), paths.contains("metadata"), "{paths}");
        }
        assert_eq!(HandedInput::All.of_members(members.clone()), members);
    }
}

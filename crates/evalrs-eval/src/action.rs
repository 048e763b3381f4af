//! Actions: effects described completely by data.
//!
//! An action is kept under its key, which [`key`] makes of what the action's walk visits.

use super::judge::{self, JudgeAction};
use super::program::{DependenciesAction, ProgramAction};
use super::target::{TargetAction, answer};
use evalrs_base::price::{Cost, Prices};
use evalrs_model::key::{self, ActionKey, Ingredient, Ingredients};
use evalrs_model::outcome::{Outcome, TARGET};
use evalrs_model::spec::Repeat;

/// An effect, described completely by data.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A judge is called.
    Judge(JudgeAction),
    /// A program of the user is called.
    Program(ProgramAction),
    /// It is found out which files such a program loads.
    Dependencies(DependenciesAction),
    /// The target talks with a sample.
    Target(TargetAction),
}

impl Action {
    /// Its content address.
    pub fn key(&self) -> ActionKey {
        key::hashed(|to| self.walk(to))
    }

    /// The key of an action that was rendered as it was in the version before.
    pub fn superseded_key(&self) -> ActionKey {
        key::hashed_before(|to| self.walk(to))
    }

    /// What its key is made of, for people.
    pub fn ingredients(&self) -> Vec<Ingredient> {
        key::explained(|to| self.walk(to))
    }

    /// The whole texts of those ingredients that hold the beginning of one, by name.
    pub fn long_texts(&self) -> Vec<(&'static str, String)> {
        key::long_texts(|to| self.walk(to))
    }

    /// The model that is called, if it is one.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Judge(action) => Some(&action.model),
            Self::Target(action) => action.model_name(),
            Self::Program(_) | Self::Dependencies(_) => None,
        }
    }

    /// What its outcome costs, as reports say it: its tokens by `prices`, whatever was paid for them.
    pub fn cost(&self, outcome: &Outcome, prices: &Prices) -> Option<Cost> {
        match self {
            Self::Judge(action) => outcome.list_cost(prices, Some(&action.model)),
            Self::Target(action) => action.cost(outcome, prices),
            Self::Program(_) | Self::Dependencies(_) => None,
        }
    }

    /// Whether it runs on this machine and costs nothing.
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Dependencies(_))
    }

    /// Says what is wrong with a reply, if anything.
    pub fn check_reply(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Judge(action) => action.verdict(text).map(drop),
            Self::Program(action) => super::program::reply::check(&action.identity.spec, text),
            Self::Dependencies(_) => Ok(()),
            Self::Target(_) => answer::check(text),
        }
    }

    /// Whether it is executed in every evaluation, and nothing of it is kept.
    pub fn is_repeated(&self) -> bool {
        match self {
            Self::Program(action) => action.identity.spec.repeat == Repeat::Always,
            Self::Target(action) => action.identity.program.spec.repeat == Repeat::Always,
            Self::Judge(_) | Self::Dependencies(_) => false,
        }
    }

    fn walk(&self, to: &mut dyn Ingredients) {
        let kind = match self {
            Self::Judge(_) => judge::KIND,
            Self::Program(_) => "program",
            Self::Dependencies(_) => "dependencies",
            Self::Target(_) => TARGET,
        };
        to.text("kind", kind);
        match self {
            Self::Judge(action) => action.walk(to),
            Self::Program(action) => action.walk(to),
            Self::Dependencies(action) => action.walk(to),
            Self::Target(action) => action.walk(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::Action;
    use crate::judge::question::Question;
    use crate::judge::template::Placeholders;
    use crate::judge::{Judge, JudgeAction, JudgeAgent, JudgeProgram};
    use crate::program::ProgramIdentity;
    use evalrs_base::path::Row;
    use evalrs_model::key::{self, ActionKey, Ingredient, KEY_CONTEXT, KEY_VERSION, KeyVersion};
    use evalrs_model::spec::{
        AgentSpec, Combine, CompareTo, EmbeddingSpec, HeaderSpec, HeaderValue, JudgeProgramSpec,
        JudgeSpec, Language, ProgramSpec, ReplyFormat, ReplyLimit, Role, RubricSpec, SandboxKind,
        Scale,
    };

    fn action() -> JudgeAction {
        JudgeAction {
            provider: "openai".to_owned(),
            endpoint: "https://judge.example/v1".to_owned(),
            model: "judge-1".to_owned(),
            system: "You judge.".to_owned(),
            user: "Is «é» kind?".to_owned(),
            quotable: Vec::new(),
            shared: 0,
            temperature: Some(0.25),
            seed: Some(-7),
            max_tokens: Some(64),
            top_p: None,
            extra_body: r#"{"a":1}"#.to_owned(),
            headers: "x-a: b".to_owned(),
            response_format: ReplyFormat::Auto,
            question: Question::Score(Scale { min: 1.0, max: 5.0 }),
            vote: 2,
            agent: None,
            program: None,
        }
    }

    fn key_of(action: JudgeAction) -> ActionKey {
        Action::Judge(action).key()
    }

    /// A store is worth as much as its keys are stable. If this must change, so must the version in the context.
    #[test]
    fn a_key_stays_what_it_is() {
        assert_eq!(KEY_CONTEXT, "evalrs action v3");
        assert!(KEY_CONTEXT.ends_with(&format!(" v{KEY_VERSION}")));
        // Computed with Python's blake3 from the layout that `KeyHasher::field` describes.
        let expected = "ff0465666705c023b2ee3786319539bb50e74b8b4c534754cc8c4cbd9e33105d";
        let key = key_of(action());
        assert_eq!(key.to_string(), expected);
        assert_eq!(ActionKey::parse(expected), Some(key));
        assert_eq!(ActionKey::parse(&expected[1..]), None);
    }

    type Change = fn(&mut JudgeAction);

    /// Every ingredient with a change of it.
    const CHANGES: &[(&str, Change)] = &[
        ("provider", |action| action.provider = "other".to_owned()),
        ("endpoint", |action| action.endpoint.push('/')),
        ("model", |action| action.model.push('2')),
        ("system", |action| action.system.push(' ')),
        ("user", |action| action.user.push('\n')),
        ("user", |action| action.user = "Is «e\u{301}» kind?".to_owned()),
        ("user", |action| action.user.clear()),
        ("temperature", |action| action.temperature = Some(0.250_000_000_000_000_1)),
        ("temperature", |action| action.temperature = Some(0.0)),
        ("temperature", |action| action.temperature = None),
        ("seed", |action| action.seed = Some(7)),
        ("seed", |action| action.seed = Some(i64::MAX)),
        ("seed", |action| action.seed = Some(i64::MAX - 1)),
        ("seed", |action| action.seed = None),
        ("max_tokens", |action| action.max_tokens = Some(u32::MAX)),
        ("max_tokens", |action| action.max_tokens = None),
        ("top_p", |action| action.top_p = Some(0.25)),
        ("top_p", |action| action.top_p = Some(0.0)),
        ("extra_body", |action| action.extra_body.clear()),
        ("extra_body", |action| action.extra_body = r#"{"a":"1"}"#.to_owned()),
        ("headers", |action| action.headers.clear()),
        ("headers", |action| action.headers.push('c')),
        ("response_format", |action| action.response_format = ReplyFormat::JsonSchema),
        ("response_format", |action| action.response_format = ReplyFormat::JsonObject),
        ("response_format", |action| action.response_format = ReplyFormat::Text),
        ("response_schema", |action| {
            action.question = Question::Score(Scale { min: 0.0, max: 5.0 });
        }),
        ("response_schema", |action| {
            action.question = Question::Score(Scale { min: 1.0, max: 1.5 });
        }),
        ("response_schema", |action| action.question = Question::Compare),
        ("vote", |action| action.vote = 0),
        ("vote", |action| action.vote = 3),
    ];

    type AgentChange = fn(&mut JudgeAgent);

    /// The same for what only judges that are agents have.
    const AGENT_CHANGES: &[(&str, AgentChange)] = &[
        ("agent_file", |agent| agent.file.push('0')),
        ("judge_tool_name", |agent| agent.tool.push('2')),
        ("agent_model", |agent| agent.model = None),
        ("agent_model", |agent| agent.model = Some("openai/n".to_owned())),
    ];

    /// Keys of judges that are models are what they were before there were others.
    #[test]
    fn an_agent_adds_to_the_key_what_only_it_has() {
        let agent = JudgeAgent {
            file: "d1".to_owned(),
            tool: "submit_grade".to_owned(),
            model: Some("openai/m".to_owned()),
        };
        let of = |agent: &JudgeAgent| {
            Action::Judge(JudgeAction { agent: Some(Box::new(agent.clone())), ..action() })
        };
        let base = of(&agent);
        let plain = Action::Judge(action()).ingredients();
        assert_eq!(base.ingredients()[..plain.len()], plain);
        let mut keys = BTreeSet::from([base.key(), key_of(action())]);
        for (name, change) in AGENT_CHANGES {
            let mut changed = agent.clone();
            change(&mut changed);
            let changed = of(&changed);
            assert!(keys.insert(changed.key()), "{name}");
            let pairs = base.ingredients().into_iter().zip(changed.ingredients());
            let differing: Vec<String> =
                pairs.filter(|(left, right)| left != right).map(|(left, _)| left.name).collect();
            assert_eq!(differing, [*name]);
        }
    }

    fn program(name: &str) -> ProgramIdentity {
        let mut spec = ProgramSpec::new(String::new(), Language::Executable, "", Role::Judge);
        spec.runtime = Some(name.to_owned());
        let mut identity = ProgramIdentity::as_written(spec);
        identity.known.inputs = vec![("rules.txt".to_owned(), "d1".to_owned())];
        identity.known.env = vec![("MODE".to_owned(), Some("d2".to_owned()))];
        identity
    }

    type ProgramChange = fn(&mut ProgramIdentity, &mut Option<String>);

    /// The same for what only judges that are commands have.
    const PROGRAM_CHANGES: &[(&str, ProgramChange)] = &[
        ("program", |it, _| it.known.program.push('2')),
        ("runtime", |it, _| it.known.runtime.push('2')),
        ("inputs", |it, _| it.known.inputs[0].1.push('2')),
        ("env", |it, _| it.known.env[0].1 = Some("d3".to_owned())),
        ("env", |it, _| it.known.env[0].1 = None),
        ("sandbox", |it, _| it.spec.sandbox.kind = SandboxKind::Auto),
        ("arguments", |it, _| it.spec.arguments = vec!["{prompt}".to_owned()]),
        ("version", |_, version| *version = None),
        ("version", |_, version| *version = Some("2".to_owned())),
    ];

    /// What decides how a command is run but not what it says.
    const NO_PROGRAM_CHANGES: &[ProgramChange] = &[
        |it, _| it.spec.timeout_ms = 1,
        |it, _| it.spec.inputs = vec!["rules.*".to_owned()],
        |it, _| it.known.path = "moved".to_owned(),
        |it, _| it.spec.sandbox.memory = Some(1),
    ];

    #[test]
    fn a_command_adds_to_the_key_what_only_it_has() {
        let of = |change: ProgramChange| {
            let mut identity = program("claude");
            let mut version = Some("1".to_owned());
            change(&mut identity, &mut version);
            let program = JudgeProgram { identity: Arc::new(identity), version };
            Action::Judge(JudgeAction { program: Some(Box::new(program)), ..action() })
        };
        let base = of(|_, _| ());
        let plain = Action::Judge(action()).ingredients();
        assert_eq!(base.ingredients()[..plain.len()], plain);
        assert_eq!(key::key_of(&base.ingredients(), KeyVersion::Current), Some(base.key()));
        let mut keys = BTreeSet::from([base.key(), key_of(action())]);
        for (name, change) in PROGRAM_CHANGES {
            let changed = of(*change);
            assert!(keys.insert(changed.key()), "{name}");
            let before = base.ingredients();
            let now = changed.ingredients();
            let names = now.iter().filter(|part| !before.contains(part)).map(|part| &part.name);
            assert_eq!(names.collect::<Vec<_>>(), [name]);
        }
        for (at, change) in NO_PROGRAM_CHANGES.iter().enumerate() {
            assert_eq!(of(*change).key(), base.key(), "{at}");
        }
        let judge = |name: &str, retries: u32| {
            let program = JudgeProgramSpec { program: program(name).spec, version: None };
            let mut spec = JudgeSpec { program: Some(Box::new(program)), ..JudgeSpec::default() };
            spec.patience.max_retries = retries;
            Judge::new(RubricSpec::new("x", spec), &|_| None).seats.remove(0)
        };
        assert!(judge("a", 1).is_same_judge(&judge("a", 2)));
        assert!(!judge("a", 1).is_same_judge(&judge("b", 1)));
    }

    #[test]
    fn every_ingredient_changes_the_key_and_says_so() {
        let base = Action::Judge(action());
        let mut keys = BTreeSet::from([base.key()]);
        for (name, change) in CHANGES {
            let mut changed = action();
            change(&mut changed);
            let changed = Action::Judge(changed);
            assert!(keys.insert(changed.key()), "{name}: the key of another action");
            let pairs = base.ingredients().into_iter().zip(changed.ingredients());
            let differing: Vec<String> =
                pairs.filter(|(left, right)| left != right).map(|(left, _)| left.name).collect();
            assert_eq!(differing, [*name]);
        }
        let walked: BTreeSet<String> =
            base.ingredients().into_iter().map(|ingredient| ingredient.name).collect();
        let changed = CHANGES.iter().map(|(name, _)| (*name).to_owned());
        // This one is the same in every action so far.
        let constant = ["kind"].map(str::to_owned);
        assert_eq!(walked, changed.chain(constant).collect(), "every ingredient has a change");
        assert_eq!(walked.len(), base.ingredients().len(), "each is visited once");
    }

    #[test]
    fn a_key_is_made_again_from_what_is_kept() {
        let long = "é".repeat(200) + "a";
        for (_, change) in CHANGES {
            for user in ["", "short", &long] {
                let mut action = JudgeAction { user: user.to_owned(), ..action() };
                change(&mut action);
                let action = Action::Judge(action);
                let text = serde_json::to_string(&action.ingredients()).unwrap();
                let kept: Vec<Ingredient> = serde_json::from_str(&text).unwrap();
                assert_eq!(key::key_of(&kept, KeyVersion::Current), Some(action.key()));
            }
        }
        let kept = |preview: &str, digest: Option<&str>, number| Ingredient {
            name: "x".to_owned(),
            preview: Some(preview.to_owned()),
            digest: digest.map(str::to_owned),
            number,
        };
        assert_eq!(key::key_of(&[], KeyVersion::Current), None);
        assert_eq!(key::key_of(&[kept("x", Some("no digest"), false)], KeyVersion::Current), None);
        assert_eq!(key::key_of(&[kept("no number", None, true)], KeyVersion::Current), None);
        assert_eq!(
            key::key_of(&[kept(&long, None, false)], KeyVersion::Current),
            None,
            "a text without its digest"
        );
    }

    #[test]
    fn equal_actions_have_equal_keys() {
        assert_eq!(key_of(action()), key_of(action()));
        let zero = |zero| key_of(JudgeAction { temperature: Some(zero), ..action() });
        assert_eq!(zero(0.0), zero(-0.0), "both zeros are one number");
    }

    #[test]
    fn no_text_moves_between_ingredients() {
        let with = |system: &str, user: &str| {
            key_of(JudgeAction { system: system.to_owned(), user: user.to_owned(), ..action() })
        };
        let keys = [
            with("ab", "c"),
            with("a", "bc"),
            with("abc", ""),
            with("", "abc"),
            with("a", "b\u{0}c"),
            with("a\u{0}b", "c"),
            with("ab\u{1}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}user", "c"),
        ];
        assert_eq!(BTreeSet::from(keys).len(), keys.len());
    }

    #[test]
    fn long_ingredients_are_shown_by_beginning_and_digest() {
        let shown = |user: String| {
            let ingredients = Action::Judge(JudgeAction { user, ..action() }).ingredients();
            ingredients.into_iter().find(|ingredient| ingredient.name == "user").unwrap()
        };
        let whole = shown("é".repeat(200));
        assert_eq!((whole.preview, whole.digest), (Some("é".repeat(200)), None));
        let [left, right] = ["a", "b"].map(|last| shown("é".repeat(200) + last));
        assert_eq!(left.preview, right.preview);
        assert!(left.digest.is_some() && left.digest != right.digest, "{left:?} {right:?}");
    }

    fn rubric() -> RubricSpec {
        let judge = JudgeSpec {
            model: "judge-1".to_owned(),
            endpoint: Some("test".to_owned()),
            ..JudgeSpec::default()
        };
        RubricSpec::new("Is {submission} kind?", judge)
    }

    type Edit = fn(&mut RubricSpec);

    /// The key of the first vote on one submission.
    fn key_with(change: impl Fn(&mut RubricSpec), environment_base_url: Option<&str>) -> ActionKey {
        let mut rubric = rubric();
        change(&mut rubric);
        let template = rubric.prompt.clone();
        let placeholders = Placeholders {
            input: "q",
            submission: "s",
            other: None,
            ground_truth: None,
            vars: &Map::new(),
            row: Row::new("{}"),
        };
        let base_url = |_: &str| environment_base_url.map(str::to_owned);
        let judge = Judge::new(rubric, &base_url);
        let asked = judge.asked(&template, None, &placeholders, 0).unwrap();
        let key = asked.key();
        assert_eq!(key, key_of(asked.action()));
        key
    }

    #[test]
    fn a_planned_key_is_that_of_its_action() {
        let agent = AgentSpec {
            path: "judge.af".to_owned(),
            text: "{}".into(),
            tool: "submit".to_owned(),
            model: Some("m".to_owned()),
            keep: false,
        };
        let command =
            JudgeProgramSpec { program: program("python3").spec, version: Some("2".to_owned()) };
        let seats: &[Edit] =
            &[|_| (), |rubric| rubric.compare_to = Some(CompareTo::Field("b".to_owned()))];
        let placeholders = Placeholders {
            input: "q",
            submission: "s",
            other: Some("o"),
            ground_truth: Some("t"),
            vars: &Map::new(),
            row: Row::new("{}"),
        };
        for change in seats {
            let mut rubric = RubricSpec { votes: 2, confirm_fails: 1, ..rubric() };
            let base = rubric.judges[0].clone();
            rubric.judges.push(JudgeSpec { agent: Some(agent.clone()), ..base.clone() });
            rubric.judges.push(JudgeSpec { program: Some(Box::new(command.clone())), ..base });
            change(&mut rubric);
            let judge = Judge::new(rubric, &|_| None);
            let template = "Is {submission} kind?";
            for at in 0..judge.first_ballots() + judge.confirming_ballots() {
                let asked = judge.asked(template, None, &placeholders, at).unwrap();
                assert_eq!(asked.key(), key_of(asked.action()), "{at}");
            }
        }
        let embedding = EmbeddingSpec { dimensions: Some(8), value: None };
        let judge = Judge::new(RubricSpec { embedding: Some(embedding), ..rubric() }, &|_| None);
        let asked = judge.embedded("text").unwrap();
        assert_eq!(asked.key(), key_of(asked.action()));
    }

    #[test]
    fn what_changes_no_answer_is_in_no_key() {
        let base = key_with(|_| (), None);
        let changes: &[(&str, Edit)] = &[
            ("base_url under an endpoint", |rubric| {
                rubric.judges[0].base_url = Some("http://b".to_owned());
            }),
            ("api_key_env", |rubric| rubric.judges[0].api_key_env = Some("OTHER".to_owned())),
            ("max_retries", |rubric| rubric.judges[0].patience.max_retries = 0),
            ("prompt_caching", |rubric| {
                rubric.judges[0].prompt_caching = evalrs_model::spec::CachingChoice::On;
            }),
            ("service_tier", |rubric| {
                rubric.judges[0].service_tier = evalrs_model::spec::TierChoice::Flex;
            }),
            ("batch", |rubric| rubric.judges[0].batch = Some(true)),
            ("timeout", |rubric| rubric.judges[0].patience.timeout = 0.5),
            ("rubric_vars", |rubric| rubric.rubric_vars = vec!["tone".to_owned()]),
            ("deadline", |rubric| rubric.judges[0].patience.deadline = 1.0),
            ("requests", |rubric| rubric.judges[0].patience.max_requests_per_minute = Some(1)),
            ("tokens", |rubric| rubric.judges[0].patience.max_tokens_per_minute = Some(1)),
            ("a secret header", |rubric| {
                let value = HeaderValue::Variable("KEY".to_owned());
                rubric.judges[0].headers = vec![HeaderSpec { name: "x-key".to_owned(), value }];
            }),
            ("confirm_fails", |rubric| rubric.confirm_fails = 2),
            ("a further judge", |rubric| rubric.judges.push(JudgeSpec::default())),
            ("votes", |rubric| rubric.votes = 3),
            ("combine", |rubric| rubric.combine = Combine::Mean),
            ("the scale that is none", |rubric| rubric.scale = Some(Scale { min: 0.0, max: 1.0 })),
        ];
        for (what, change) in changes {
            assert_eq!(key_with(change, None), base, "{what}");
        }
        assert_eq!(key_with(|_| (), Some("http://elsewhere/v1")), base);
    }

    #[test]
    fn what_may_change_an_answer_is_in_the_key() {
        let changes: &[(&str, Edit)] = &[
            ("nothing", |_| ()),
            ("prompt", |rubric| rubric.prompt.push_str(" Really?")),
            ("model", |rubric| rubric.judges[0].model = "judge-2".to_owned()),
            ("provider", |rubric| rubric.judges[0].provider = "other".to_owned()),
            ("endpoint", |rubric| rubric.judges[0].endpoint = Some("other".to_owned())),
            ("temperature", |rubric| rubric.judges[0].temperature = Some(1.0)),
            ("seed", |rubric| rubric.judges[0].seed = Some(0)),
            ("max_tokens", |rubric| rubric.judges[0].max_tokens = ReplyLimit::Tokens(1)),
            ("top_p", |rubric| rubric.judges[0].top_p = Some(1.0)),
            ("response_format", |rubric| rubric.judges[0].response_format = ReplyFormat::Text),
            ("headers", |rubric| {
                let value = HeaderValue::Text("on".to_owned());
                rubric.judges[0].headers = vec![HeaderSpec { name: "x-beta".to_owned(), value }];
            }),
            ("comparing", |rubric| rubric.compare_to = Some(CompareTo::Field("b".to_owned()))),
            ("scale", |rubric| rubric.scale = Some(Scale { min: 1.0, max: 5.0 })),
            ("extra_body", |rubric| {
                rubric.judges[0].extra_body.insert("top_k".to_owned(), json!(1));
            }),
        ];
        let mut keys = BTreeSet::new();
        for (what, change) in changes {
            assert!(keys.insert(key_with(change, None)), "{what}");
        }
        let no_endpoint: Edit = |rubric| rubric.judges[0].endpoint = None;
        for base_url in [None, Some("http://one/v1"), Some("http://two/v1")] {
            assert!(keys.insert(key_with(no_endpoint, base_url)), "{base_url:?}");
        }
        // The usual limit is as good as the same in the suite, and none is another request.
        let no_limit = key_with(|rubric| rubric.judges[0].max_tokens = ReplyLimit::Unlimited, None);
        assert!(keys.insert(no_limit));
        let usual =
            key_with(|rubric| rubric.judges[0].max_tokens = ReplyLimit::Tokens(1_000), None);
        assert_eq!(usual, key_with(|_| (), None));
        let slash = key_with(no_endpoint, Some("http://one/v1/"));
        assert_eq!(slash, key_with(no_endpoint, Some("http://one/v1")));
    }

    #[test]
    fn the_order_of_further_members_is_in_no_key() {
        let with = |text: &str| {
            let body = serde_json::from_str(text).unwrap();
            key_with(move |rubric| rubric.judges[0].extra_body = Map::clone(&body), None)
        };
        let base = with(r#"{"a": 1, "b": {"c": [1, 2], "d": null}}"#);
        assert_eq!(with(r#"{"b": {"d": null, "c": [1, 2]}, "a": 1}"#), base);
        assert_ne!(with(r#"{"b": {"d": null, "c": [2, 1]}, "a": 1}"#), base);
    }

    #[test]
    fn a_password_in_the_base_url_is_in_no_key() {
        let no_endpoint: Edit = |rubric| rubric.judges[0].endpoint = None;
        let bare = key_with(no_endpoint, Some("https://judge.example/v1"));
        for base_url in ["https://user:pass@judge.example/v1", "https://t%40ken@judge.example/v1/"]
        {
            assert_eq!(key_with(no_endpoint, Some(base_url)), bare, "{base_url}");
        }
        let with_at = key_with(no_endpoint, Some("https://judge.example/v1/@me"));
        assert_ne!(with_at, key_with(no_endpoint, Some("https://me")), "an @ of the path stays");
    }
}

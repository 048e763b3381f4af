//! Executes judges' actions with one executor and programs with another.
//!
//! To the outside they are one: the endpoints of judges have even ordinals, those of programs odd ones.

use std::sync::Arc;

use futures_util::future::select;

use super::limit::LimitSettings;
use super::program::ProgramExecutor;
use super::{
    Changed, Discovered, Endpoint, EndpointId, Executing, Executor, Launch, Loading, Notice,
    PROGRAMS, Room, Start,
};
use crate::pipeline::key::ActionKey;
use crate::pipeline::program::Identity;

/// An executor for each kind of action.
pub(crate) struct Executors {
    /// Asks judges.
    pub judges: Box<dyn Executor>,
    /// Runs programs.
    pub programs: ProgramExecutor,
}

/// Which of the two knows an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Judges,
    Programs,
}

impl Side {
    /// The side of an endpoint, and what it is called there.
    fn of(EndpointId(ordinal): EndpointId) -> (Self, EndpointId) {
        let side = if ordinal.is_multiple_of(2) { Self::Judges } else { Self::Programs };
        (side, EndpointId(ordinal / 2))
    }

    /// What an endpoint of this side is called outside.
    fn outside(self, EndpointId(ordinal): EndpointId) -> EndpointId {
        EndpointId(2 * ordinal + usize::from(self == Self::Programs))
    }

    /// A notice as it is said outside.
    fn said(self, notice: Notice) -> Notice {
        match notice {
            Notice::Waiting { endpoint, what, is_new } => {
                Notice::Waiting { endpoint: self.outside(endpoint), what, is_new }
            }
            Notice::Going(endpoint) => Notice::Going(self.outside(endpoint)),
            Notice::Line(line) => Notice::Line(line),
        }
    }
}

impl Executors {
    fn on(&self, side: Side) -> &dyn Executor {
        match side {
            Side::Judges => &*self.judges,
            Side::Programs => &self.programs,
        }
    }
}

impl Executor for Executors {
    fn execute(&self, mut launch: Launch) -> Executing<'_> {
        let (side, endpoint) = match &mut launch {
            Launch::Judge(launch) => (Side::Judges, &mut launch.endpoint),
            Launch::Program(launch) => (Side::Programs, &mut launch.endpoint),
        };
        *endpoint = Side::of(*endpoint).1;
        self.on(side).execute(launch)
    }

    fn load(&self, start: Arc<Start>, base: ActionKey) -> Loading<'_> {
        self.programs.load(start, base)
    }

    fn take_discovered(&self) -> Vec<(Arc<Identity>, Discovered)> {
        self.programs.take_discovered()
    }

    fn begin(&self) {
        self.judges.begin();
        self.programs.begin();
    }

    fn halt(&self, reason: &str) {
        self.judges.halt(reason);
        self.programs.halt(reason);
    }

    fn open(&self, endpoint: &Endpoint, limits: LimitSettings) -> EndpointId {
        let side = if endpoint.provider == PROGRAMS { Side::Programs } else { Side::Judges };
        side.outside(self.on(side).open(endpoint, limits))
    }

    fn room(&self, endpoint: EndpointId) -> Room {
        let (side, endpoint) = Side::of(endpoint);
        self.on(side).room(endpoint)
    }

    fn closed_model(&self, endpoint: EndpointId, model: &str) -> Option<String> {
        let (side, endpoint) = Side::of(endpoint);
        self.on(side).closed_model(endpoint, model)
    }

    fn changed(&self) -> Changed<'_> {
        let either = select(self.judges.changed(), self.programs.changed());
        Box::pin(async {
            either.await;
        })
    }

    fn take_notices(&self) -> Vec<Notice> {
        let of = |side: Side| {
            let notices = self.on(side).take_notices().into_iter();
            notices.map(move |notice| side.said(notice))
        };
        of(Side::Judges).chain(of(Side::Programs)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::{Executors, Side};
    use crate::effects::exec::limit::LimitSettings;
    use crate::effects::exec::program::{ProgramExecutor, ProgramSettings};
    use crate::effects::exec::{
        Endpoint, EndpointId, Executing, Executor, Launch, Notice, PROGRAMS, Room,
    };
    use crate::pipeline::outcome::{Failure, FailureKind, Outcome};

    /// Knows two endpoints, and notes which it is asked for.
    #[derive(Default)]
    struct Judges(Arc<RefCell<Vec<EndpointId>>>);

    impl Executor for Judges {
        fn execute(&self, launch: Launch) -> Executing<'_> {
            self.0.borrow_mut().push(launch.endpoint());
            let failure = Failure::new(FailureKind::Refused, "no");
            Box::pin(std::future::ready(Outcome::Failure(failure)))
        }

        fn open(&self, endpoint: &Endpoint, _limits: LimitSettings) -> EndpointId {
            EndpointId(endpoint.base_url.len())
        }

        fn room(&self, endpoint: EndpointId) -> Room {
            self.0.borrow_mut().push(endpoint);
            Room::Later
        }

        fn take_notices(&self) -> Vec<Notice> {
            vec![Notice::Going(EndpointId(3)), Notice::Line("a".to_owned())]
        }
    }

    #[test]
    fn endpoints_of_both_are_told_apart() {
        let judges = Judges::default();
        let asked = Arc::clone(&judges.0);
        let programs = ProgramExecutor::new(ProgramSettings::of_machine(4));
        let both = Executors { judges: Box::new(judges), programs };
        let endpoint = |provider: &str, url: &str| Endpoint {
            provider: provider.to_owned(),
            base_url: url.to_owned(),
            api_key: None,
        };
        let limits = LimitSettings {
            most: 4,
            requests_per_minute: None,
            tokens_per_minute: None,
            identical_failures: 9,
        };
        let ids = [endpoint("openai", "x"), endpoint(PROGRAMS, ""), endpoint("openai", "xy")]
            .map(|endpoint| both.open(&endpoint, limits));
        assert_eq!(ids, [EndpointId(2), EndpointId(1), EndpointId(4)]);
        assert_eq!(ids.map(|id| both.room(id)), [Room::Later, Room::Now, Room::Later]);
        assert_eq!(*asked.borrow(), [EndpointId(1), EndpointId(2)]);
        let notices = [Notice::Going(EndpointId(6)), Notice::Line("a".to_owned())];
        assert_eq!(both.take_notices(), notices);
        for side in [Side::Judges, Side::Programs] {
            for at in 0..5 {
                assert_eq!(Side::of(side.outside(EndpointId(at))), (side, EndpointId(at)));
            }
        }
    }
}

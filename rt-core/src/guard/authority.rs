//! Who may loosen what. Limits have three owners: what the **rig** states can only be tightened; what a **bench** states
//! may be widened by a **session** inside the rig's, and that is told. Limits on one channel live beside each other.

use super::limit::{Limit, LimitSpec};

/// Whose a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The rig file: protects machine, specimen and people.
    Rig,
    /// The bench: what it is made for.
    Bench,
    /// The session.
    Session,
}

impl Owner {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Rig => "rig",
            Owner::Bench => "bench",
            Owner::Session => "session",
        }
    }
}

/// A limit and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// The limit.
    pub limit: Limit,
    /// Its owner.
    pub owner: Owner,
    /// The bench's limit that a session has put this one in place of, if it allows more.
    pub widens: Option<Limit>,
}

/// A limit of a session that would loosen what its rig states.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the session's limit on '{}' ({session}) would loosen the rig's ({rig}): a session may only tighten what its rig file \
     states. Narrow it, or leave it out; what the rig allows is changed in its file",
    session.channel
)]
pub struct Loosened {
    /// What the session states.
    pub session: Limit,
    /// What the rig states.
    pub rig: Limit,
}

impl Limit {
    /// Whether it allows more than another on the same channel in any respect.
    fn allows_more_than(&self, other: &Limit) -> bool {
        self.low < other.low
            || self.high > other.high
            || self.for_cycles > other.for_cycles
            || self.action < other.action
    }

    /// Whether it protects from nothing that another does not protect from as well, as soon and as hard.
    fn is_idle_beside(&self, other: &Limit) -> bool {
        self.low <= other.low
            && self.high >= other.high
            && self.for_cycles >= other.for_cycles
            && self.action <= other.action
    }

    /// Whether it is meant in place of another: the same action, or nothing of its own.
    fn restates(&self, other: &Limit) -> bool {
        self.channel == other.channel && (self.action == other.action || self.is_idle_beside(other))
    }
}

/// All limits in force.
pub fn combine(
    bench: &[LimitSpec],
    rig: &[Limit],
    session: &[Limit],
) -> Result<Vec<Owned>, Loosened> {
    for wished in session {
        let loosens = |of_rig: &&Limit| wished.restates(of_rig) && wished.allows_more_than(of_rig);
        // Of several of the rig's with one action the widest is what it lets pass: narrower ones stay in force anyway.
        if let Some(of_rig) = rig.iter().find(loosens) {
            return Err(Loosened {
                session: wished.clone(),
                rig: of_rig.clone(),
            });
        }
    }
    let bench: Vec<Limit> = bench.iter().map(Limit::from).collect();
    let replaced = |of_bench: &&Limit| !session.iter().any(|wished| wished.restates(of_bench));
    let owned = |limit: &Limit, owner| Owned {
        limit: limit.clone(),
        owner,
        widens: None,
    };
    let of_session = session.iter().map(|wished| Owned {
        widens: bench
            .iter()
            .find(|of_bench| wished.restates(of_bench) && wished.allows_more_than(of_bench))
            .cloned(),
        ..owned(wished, Owner::Session)
    });
    Ok(rig
        .iter()
        .map(|limit| owned(limit, Owner::Rig))
        .chain(
            bench
                .iter()
                .filter(replaced)
                .map(|limit| owned(limit, Owner::Bench)),
        )
        .chain(of_session)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Action;

    fn limit(channel: &str, high: f64, for_cycles: u32, action: Action) -> Limit {
        Limit {
            channel: channel.into(),
            low: -high,
            high,
            for_cycles,
            action,
        }
    }

    fn force(high: f64, for_cycles: u32, action: Action) -> Limit {
        limit("force", high, for_cycles, action)
    }

    #[test]
    fn a_session_adds_to_what_the_rig_states_and_never_takes_from_it() {
        let rig = [force(500.0, 1, Action::Retreat)];
        for tighter in [
            force(125.0, 1, Action::Warn),
            force(400.0, 1, Action::Retreat),
            force(500.0, 1, Action::Retreat),
            force(900.0, 3, Action::PowerOff),
        ] {
            let all = combine(&[], &rig, std::slice::from_ref(&tighter)).unwrap();
            assert_eq!(all.len(), 2, "{tighter}");
            assert_eq!(
                (all[0].limit.clone(), all[0].owner),
                (rig[0].clone(), Owner::Rig)
            );
            assert_eq!(all[1].widens, None);
        }
        for looser in [
            force(5000.0, 1, Action::Retreat),
            force(500.0, 2, Action::Retreat),
            force(600.0, 1, Action::Warn),
            Limit {
                low: -400.0,
                ..force(501.0, 1, Action::Retreat)
            },
            Limit {
                low: -501.0,
                ..force(300.0, 1, Action::Retreat)
            },
        ] {
            let refused = combine(&[], &rig, std::slice::from_ref(&looser)).unwrap_err();
            let text = refused.to_string();
            assert!(
                text.contains(&looser.to_string()) && text.contains(&rig[0].to_string()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_bench_states_may_be_widened_inside_the_rigs_and_that_is_told() {
        let bench = [LimitSpec {
            channel: "tracking_error",
            low: -5e-3,
            high: 5e-3,
            for_cycles: 1,
            action: Action::Retreat,
        }];
        let error = |high, action| limit("tracking_error", high, 1, action);
        let all = |session: &[Limit]| combine(&bench, &[], session).unwrap();
        let wider = all(&[error(7e-3, Action::Retreat)]);
        assert_eq!(wider.len(), 1);
        assert_eq!(wider[0].widens.as_ref().map(|l| l.high), Some(5e-3));
        let weaker = all(&[error(7e-3, Action::Warn)]);
        assert_eq!((weaker.len(), weaker[0].widens.is_some()), (1, true));
        let beside = all(&[error(3e-3, Action::Warn)]);
        assert_eq!((beside.len(), beside[1].widens.is_some()), (2, false));
        let narrower = all(&[error(4e-3, Action::Retreat)]);
        assert_eq!((narrower.len(), narrower[0].widens.is_some()), (1, false));
        let rig = [error(6e-3, Action::PowerOff)];
        assert!(combine(&bench, &rig, &[error(7e-3, Action::Retreat)]).is_err());
    }
}

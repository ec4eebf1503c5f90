//! Dreams that no turn sets off: when nothing has happened for a while, and at a time of the day. Both only if the
//! settings say so; without them no clock runs.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use jiff::{Timestamp, Zoned, civil::Time};
use settings::{Settings, TimeOfDay};
use tokio_util::task::AbortOnDropHandle;

use super::{Trigger, Wanted, begin_if_open};
use crate::{session::Session, shared::Shared, wall_clock::WallClock};

/// The clock on the wall may jump, and the machine may sleep: it is looked at this often at least.
const LOOK: Duration = Duration::from_secs(5 * 60);
/// In daily-log mode the night is set.
const NIGHT: Time = Time::constant(3, 0, 0, 0);

/// What the settings want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    idle: Option<Duration>,
    at: Option<Time>,
}

impl Plan {
    fn of(settings: &Settings, shared: &Shared) -> Self {
        let features = settings.features(&shared.environment);
        let Some(dream) = features.dream else { return Self { idle: None, at: None } };
        let idle = dream.idle_minutes.map(|minutes| Duration::from_secs(u64::from(minutes) * 60));
        Self {
            idle: idle.filter(|_| !features.daily_log),
            at: dream.at.and_then(time).or(features.daily_log.then_some(NIGHT)),
        }
    }

    fn is_empty(self) -> bool {
        self.idle.is_none() && self.at.is_none()
    }
}

fn time(of_day: TimeOfDay) -> Option<Time> {
    let [hour, minute] = [of_day.hour(), of_day.minute()].map(|number| i8::try_from(number).ok());
    Time::new(hour?, minute?, 0, 0).ok()
}

/// Starts the clock where one is wanted, and has it look. May be called often.
pub(in super::super) fn keep(session: &Arc<Session>) {
    let shared = &session.shared;
    let settings = shared.settings(&session.cwd).settings;
    if Plan::of(&settings, shared).is_empty() {
        return;
    }
    let (weak, clock) = (Arc::downgrade(shared), shared.faults.clock().clone());
    let begun = clock.now();
    shared.dreams.clock.get_or_init(|| AbortOnDropHandle::new(tokio::spawn(run(weak, clock, begun))));
    shared.dreams.woken.notify_one();
}

/// For the session that was used last.
async fn run(shared: Weak<Shared>, mut clock: WallClock, mut looked: Zoned) {
    loop {
        let Some(here) = shared.upgrade() else { return };
        let woken = Arc::clone(&here.dreams.woken);
        let Some(session) = latest(&here) else {
            drop(here);
            woken.notified().await;
            continue;
        };
        let settings = here.settings(&session.cwd).settings;
        let plan = Plan::of(&settings, &here);
        let now = clock.now();
        let active = here.dreams.last_activity();
        let is_quiet = here.open_sessions().iter().all(|session| session.state().running.is_none());
        let is_idle = is_quiet && is_idle(plan.idle, active);
        let trigger = match plan.at.and_then(|at| struck(at, &looked, &now)) {
            Some(strike) => Some(Trigger::Schedule(strike)),
            None => is_idle.then_some(Trigger::Idle),
        };
        looked = now;
        if let Some(trigger) = trigger {
            let folder = session.cwd.clone();
            // Where nothing was said yet, the first prompt is to find it untouched.
            let session = Some(session).filter(|session| !session.state().thread.is_empty());
            let wanted = Wanted { shared: Arc::clone(&here), folder, session, trigger, dry_run: false };
            begin_if_open(wanted).await;
        } else {
            drop(session);
        }
        // Whoever is at work, or has been idle for long, is looked at again later.
        let wait = next(plan, active.filter(|_| is_quiet && !is_idle), &looked);
        // A server that ends is not held up by its clock.
        drop(here);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = woken.notified() => {}
            () = clock.moved() => {}
        }
    }
}

/// The session that something was last said in.
fn latest(shared: &Shared) -> Option<Arc<Session>> {
    let said = |session: &Arc<Session>| session.state().thread.last().map(|message| message.timestamp);
    shared.open_sessions().into_iter().filter(|session| !session.is_ephemeral).max_by_key(said)
}

fn is_idle(idle: Option<Duration>, active: Option<Instant>) -> bool {
    idle.zip(active).is_some_and(|(idle, active)| active.elapsed() >= idle)
}

/// The time of the day that lies between two looks at the clock. One that was set back has not struck.
fn struck(at: Time, before: &Zoned, now: &Zoned) -> Option<Timestamp> {
    let on = |day: &Zoned| day.with().time(at).build().ok().filter(|time| before < time && time <= now);
    on(now).or_else(|| on(before)).map(|time| time.timestamp())
}

/// How long nothing can be due.
fn next(plan: Plan, active: Option<Instant>, now: &Zoned) -> Duration {
    let idle = plan.idle.zip(active).map(|(idle, active)| idle.saturating_sub(active.elapsed()));
    let strikes = plan.at.and_then(|at| {
        let today = now.with().time(at).build().ok()?;
        Duration::try_from(now.duration_until(&today)).ok()
    });
    [idle, strikes].into_iter().flatten().chain([LOOK]).min().unwrap_or(LOOK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Zoned {
        text.parse::<jiff::Timestamp>().unwrap().to_zoned(jiff::tz::TimeZone::UTC)
    }

    #[test]
    fn a_time_of_the_day_strikes_once_between_two_looks() {
        let three = jiff::civil::time(3, 0, 0, 0);
        let struck = |before: &str, now: &str| struck(three, &at(before), &at(now)).is_some();
        assert!(struck("2026-03-01T02:59:00+00:00", "2026-03-01T03:00:00+00:00"));
        assert!(!struck("2026-03-01T03:00:00+00:00", "2026-03-01T03:05:00+00:00"));
        // Asleep from before midnight.
        assert!(struck("2026-02-28T22:00:00+00:00", "2026-03-01T08:00:00+00:00"));
        // Set back by ten years, and forward again.
        assert!(!struck("2026-03-01T08:00:00+00:00", "2016-03-01T08:00:00+00:00"));
        assert!(struck("2016-03-01T08:00:00+00:00", "2026-03-01T08:00:00+00:00"));
    }

    #[test]
    fn it_waits_until_something_can_be_due() {
        let plan = |idle: Option<u64>, hour: Option<i8>| Plan {
            idle: idle.map(Duration::from_secs),
            at: hour.map(|hour| jiff::civil::time(hour, 0, 0, 0)),
        };
        let now = at("2026-03-01T02:59:00+00:00");
        assert_eq!(next(plan(None, Some(3)), None, &now), Duration::from_secs(60));
        assert_eq!(next(plan(None, Some(1)), None, &now), LOOK);
        assert_eq!(next(plan(Some(1), None), None, &now), LOOK);
        assert!(next(plan(Some(1), None), Some(Instant::now()), &now) <= Duration::from_secs(1));
        assert!(is_idle(Some(Duration::ZERO), Some(Instant::now())));
        assert!(!is_idle(Some(Duration::from_secs(60)), Some(Instant::now())));
        assert!(!is_idle(None, Some(Instant::now())));
    }
}

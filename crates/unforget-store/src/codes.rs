//! Numbers for enums, and conversion of integers to and from the signed 64 bits of databases.

use unforget_core::digest::Digest;
use unforget_core::entry::{Origin, Role, Status};
use unforget_core::id::Timestamp;

use crate::port::{JobState, OpenedBy};

/// For a database. Numbers beyond `i64::MAX` become `i64::MAX`, which exceeds every stored number.
pub fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The key that a page begins after: a number below all keys for the first page.
pub fn after(key: Option<u64>) -> i64 {
    key.map_or(-1, int)
}

/// Most rows of a page.
pub fn limit(rows: usize) -> i64 {
    int(rows as u64)
}

/// From a database. A negative number can only be damage and becomes a value that matches nothing.
pub fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// 32 bytes from a database; `None` for another length.
pub fn digest(bytes: &[u8]) -> Option<Digest> {
    <[u8; 32]>::try_from(bytes).ok().map(Digest)
}

/// The number of a role.
pub fn role_code(role: Role) -> i64 {
    match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
        Role::None => 4,
    }
}

/// The role of a number; `None` for an unknown one.
pub fn role(code: i64) -> Option<Role> {
    [Role::System, Role::User, Role::Assistant, Role::Tool, Role::None]
        .get(usize::try_from(code).ok()?)
        .copied()
}

/// The number of an origin.
pub fn origin_code(origin: Origin) -> i64 {
    match origin {
        Origin::Human => 0,
        Origin::Model => 1,
        Origin::Tool => 2,
        Origin::Injected => 3,
        Origin::HostSummary => 4,
        Origin::Copy => 5,
        Origin::Bookkeeping => 6,
        Origin::Opaque => 7,
        Origin::Volatile => 8,
        Origin::Overtaken => 9,
    }
}

/// The origin of a number; `None` for an unknown one.
pub fn origin(code: i64) -> Option<Origin> {
    const ALL: [Origin; 10] = [
        Origin::Human,
        Origin::Model,
        Origin::Tool,
        Origin::Injected,
        Origin::HostSummary,
        Origin::Copy,
        Origin::Bookkeeping,
        Origin::Opaque,
        Origin::Volatile,
        Origin::Overtaken,
    ];
    ALL.get(usize::try_from(code).ok()?).copied()
}

/// The number of a status.
pub fn status_code(status: Status) -> i64 {
    match status {
        Status::Complete => 0,
        Status::Aborted => 1,
        Status::Error => 2,
    }
}

/// The status of a number; `None` for an unknown one.
pub fn status(code: i64) -> Option<Status> {
    [Status::Complete, Status::Aborted, Status::Error].get(usize::try_from(code).ok()?).copied()
}

/// The number of the reason for opening a generation.
pub fn opened_by_code(opened_by: OpenedBy) -> i64 {
    match opened_by {
        OpenedBy::FirstSight => 0,
        OpenedBy::Branch => 1,
        OpenedBy::Rotation => 2,
    }
}

/// The reason for opening a generation, of a number; `None` for an unknown one.
pub fn opened_by(code: i64) -> Option<OpenedBy> {
    [OpenedBy::FirstSight, OpenedBy::Branch, OpenedBy::Rotation].get(usize::try_from(code).ok()?).copied()
}

/// The stored number of a job's state. Its time is stored beside it.
pub const fn job_state_code(state: JobState) -> i64 {
    match state {
        JobState::Waiting { .. } => 0,
        JobState::Leased { .. } => 1,
        JobState::Done { .. } => 2,
        JobState::GivenUp { .. } => 3,
    }
}

/// The state of a stored number and its time; `None` for an unknown number.
pub const fn job_state(code: i64, time: Timestamp) -> Option<JobState> {
    Some(match code {
        0 => JobState::Waiting { due: time },
        1 => JobState::Leased { until: time },
        2 => JobState::Done { at: time },
        3 => JobState::GivenUp { at: time },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn codes_go_there_and_back() {
        for code in 0..5 {
            assert_eq!(role_code(role(code).unwrap()), code);
        }
        for code in 0..9 {
            assert_eq!(origin_code(origin(code).unwrap()), code);
        }
        for code in 0..3 {
            assert_eq!(status_code(status(code).unwrap()), code);
            assert_eq!(opened_by_code(opened_by(code).unwrap()), code);
        }
        for code in 0..4 {
            let state = job_state(code, Timestamp(7)).unwrap();
            assert_eq!((job_state_code(state), state.time()), (code, Timestamp(7)));
        }
        assert_eq!(job_state(4, Timestamp(7)), None);
        assert_eq!((role(5), origin(-1), status(3), opened_by(9)), (None, None, None, None));
    }
}

//! Our own faults as HTTP responses.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use unforget_engine::EngineError;
use unforget_engine::host::HostError;
use unforget_wire::Dialect;
use unforget_wire::exchange::{CallFault, Fault};

/// The response for a fault, in the dialect's form.
///
/// * `request` - our id of the request.
pub(super) fn response(fault: &Fault, dialect: Dialect, request: &str) -> Response {
    let status = StatusCode::from_u16(fault.status(dialect)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = fault.body(dialect, request);
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body).into_response();
    if let Some(seconds) = fault.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// A defect of ours, or a failure of the machine: the log has the details.
pub(super) fn internal(what: &str, error: &dyn std::fmt::Display) -> Fault {
    tracing::error!(%error, "{what}");
    Fault::Internal
}

/// The disk refused data that must be stored: the log has the reason.
pub(super) fn not_stored(what: &str, error: &dyn std::fmt::Display) -> Fault {
    tracing::error!(%error, "{what}");
    Fault::NotStored
}

/// Why a call is not sent.
#[derive(Debug)]
pub(super) enum CallProblem {
    /// A fault of the client or the machine.
    Fault(Fault),
    /// An error of the engine.
    Host(HostError),
}

impl From<Fault> for CallProblem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<CallFault> for CallProblem {
    fn from(fault: CallFault) -> Self {
        Self::Fault(Fault::Call(fault))
    }
}

impl From<HostError> for CallProblem {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<CallProblem> for Fault {
    /// A call that fits no prompt is for the client to fix, like an unreadable message; all other errors are ours.
    fn from(problem: CallProblem) -> Self {
        match problem {
            CallProblem::Fault(fault) => fault,
            CallProblem::Host(HostError::BadMessage { index, what }) => {
                Self::BadRequest { what: format!("message {index}: {what}") }
            }
            CallProblem::Host(HostError::Refused { what }) => Self::BadRequest { what },
            CallProblem::Host(HostError::Engine(EngineError::Irreducible(irreducible))) => {
                Self::Irreducible {
                    needed: irreducible.sections.total().upper,
                    budget: irreducible.budget,
                    fixed: 0,
                }
            }
            CallProblem::Host(HostError::Engine(EngineError::Store(error))) => {
                not_stored("a call is not stored", &error)
            }
            CallProblem::Host(error) => internal("the engine failed", &error),
        }
    }
}

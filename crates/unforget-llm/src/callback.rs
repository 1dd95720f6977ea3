//! Models implemented by functions: the host's own model, and scripted ones for tests.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::fault::{Account, Cause, Fault};
use crate::port::{Answer, Model, Request, Stop, Usage};

/// A model implemented by a function, such as the host's own model, called through the engine protocol.
///
/// The function must return within `request.within`: nothing else can end it.
pub struct Callback<F> {
    account: Account,
    name: String,
    function: F,
}

impl<F: Fn(&Request<'_>) -> Result<Answer, Cause> + Send + Sync> Callback<F> {
    /// A model called `name`. `provider` names the breaker, such as `host:openclaw`.
    pub fn new(provider: impl Into<String>, name: impl Into<String>, function: F) -> Self {
        let account = Account { provider: provider.into(), credential: "none".to_owned() };
        Self { account, name: name.into(), function }
    }
}

impl<F: Fn(&Request<'_>) -> Result<Answer, Cause> + Send + Sync> Model for Callback<F> {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        (self.function)(request).map_err(|cause| Fault {
            cause,
            account: Box::new(self.account.clone()),
            model: self.name.clone(),
            detail: String::new(),
        })
    }
}

/// A request received by a scripted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// Instructions.
    pub system: String,
    /// The content that the instructions apply to.
    pub user: String,
    /// The longest answer.
    pub output_tokens_max: u64,
    /// The time limit.
    pub within: std::time::Duration,
}

/// A model for tests: returns scripted answers in order, and records its requests.
///
/// After its last answer it fails with [`Cause::Unknown`], so that a superfluous call is noticed.
pub struct Scripted {
    account: Account,
    name: String,
    lines: Mutex<VecDeque<Result<Answer, Cause>>>,
    heard: Mutex<Vec<Heard>>,
}

impl Scripted {
    /// A model with scripted answers. Models of one provider share its breaker.
    pub fn new(provider: &str, name: &str, lines: impl IntoIterator<Item = Result<Answer, Cause>>) -> Self {
        Self {
            account: Account { provider: provider.to_owned(), credential: "none".to_owned() },
            name: name.to_owned(),
            lines: Mutex::new(lines.into_iter().collect()),
            heard: Mutex::default(),
        }
    }

    /// A complete answer.
    pub fn text(text: &str) -> Result<Answer, Cause> {
        Self::stopped(text, Stop::End)
    }

    /// An answer with another stop reason.
    pub fn stopped(text: &str, stop: Stop) -> Result<Answer, Cause> {
        Ok(Answer { text: text.to_owned(), stop, usage: Usage::default(), model: None })
    }

    /// The requests so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Scripted {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(Heard {
            system: request.system.to_owned(),
            user: request.user.to_owned(),
            output_tokens_max: request.output_tokens_max,
            within: request.within,
        });
        let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        line.unwrap_or(Err(Cause::Unknown { status: None })).map_err(|cause| Fault {
            cause,
            account: Box::new(self.account.clone()),
            model: self.name.clone(),
            detail: String::new(),
        })
    }
}

//! Figures, checks and upkeep of the whole store.

use std::path::Path;
use unforget_store::read_all;

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::asked::{Asked, Sent};
use super::problem::{Done, Problem, Problems};
use super::scope::{Owned, Seen};
use super::tag::Shown;
use super::tasks::{Report, Task};
use crate::json::{BackupJson, ConfigJson, DoctorJson, ReindexJson, StatsJson, VerifyJson};

/// Shows how much is stored. Only the owner sees the database and the sizes of tables.
#[utoipa::path(get, path = "/stats", tag = "store", responses((status = 200, description = "Done", body = StatsJson), Problems))]
pub(super) async fn stats(seen: Seen, headers: HeaderMap) -> Done<Response> {
    let is_owner = seen.is_owner();
    seen.with(move |engine, api| {
        let all = read_all(|page| engine.store().conversations(page))?;
        let tables = if engine.is_writer() { engine.store().sizes()? } else { Vec::new() };
        Ok(Shown::new(&StatsJson::new(is_owner.then(|| api.settings.db.clone()), &all, tables))?
            .answer(&headers))
    })
    .await
}

/// Looks for problems without reading everything.
#[utoipa::path(get, path = "/doctor", tag = "store", responses((status = 200, description = "Done", body = DoctorJson), Problems))]
pub(super) async fn doctor(Owned(seen): Owned, headers: HeaderMap) -> Done<Response> {
    seen.with(move |engine, _| {
        Ok(Shown::new(&DoctorJson::from(engine.doctor()?.as_slice()))?.answer(&headers))
    })
    .await
}

/// Shows the settings and their sources, without secrets.
#[utoipa::path(get, path = "/config", tag = "store", responses((status = 200, description = "Done", body = ConfigJson), Problems))]
pub(super) async fn config(Owned(seen): Owned, headers: HeaderMap) -> Done<Response> {
    seen.with(move |_, api| Ok(Shown::new(&api.settings.config)?.answer(&headers))).await
}

/// Reads everything back, in a task; its result is the output of `unforget verify`.
#[utoipa::path(post, path = "/verify", tag = "store",
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn verify(Owned(seen): Owned) -> Done<Response> {
    let tenant = seen.tenant.clone();
    let task = seen.with(move |engine, api| {
        let engine = engine.clone();
        api.tasks.begin(&tenant, "verify", None, move |progress| {
            let verified = engine.verify(&mut |done, total| progress.at(done, total))?;
            Report::of(&VerifyJson::from(&verified))
        })
    });
    Ok((StatusCode::ACCEPTED, task.await?).into_response())
}

/// A copy to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Copy {
    /// Name of the file in the folder for backups: letters, digits, `.`, `_` and `-`, not beginning with `.`.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    name: String,
}

/// Longest name of a backup.
const NAME_MAX: usize = 100;

/// Whether a name can only denote a file directly in a folder, on every system.
fn is_plain(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_MAX && !name.starts_with('.') && name.bytes().all(is_fit)
}

/// Writes a verified copy of the database into the configured folder for backups, in a task.
#[utoipa::path(post, path = "/backups", tag = "store", request_body = Copy,
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn backup(Owned(seen): Owned, Sent(copy): Sent<Copy>) -> Done<Response> {
    let tenant = seen.tenant.clone();
    let task = seen.with(move |engine, api| {
        let folder = api.settings.backups.clone().ok_or_else(|| {
            let next = "name one as serve.backups in the settings file, or run unforget backup";
            Problem::new(409, "no-backups", "no folder of backups is configured", next)
        })?;
        if !is_plain(&copy.name) {
            let what = format!("name: 1 to {NAME_MAX} letters, digits, '.', '_' and '-', '.' not first");
            return Err(Problem::bad(what));
        }
        let path = folder.join(&copy.name);
        if path.symlink_metadata().is_ok() {
            let what = format!("there is a backup called {}", copy.name);
            return Err(Problem::new(409, "exists", what, "name another"));
        }
        let engine = engine.clone();
        api.tasks.begin(&tenant, "backup", None, move |_| {
            engine.store().backup(&path)?;
            let bytes = length(&path)?;
            Report::of(&BackupJson { path: copy.name, bytes })
        })
    });
    Ok((StatusCode::ACCEPTED, task.await?).into_response())
}

fn length(path: &Path) -> Done<u64> {
    let file = std::fs::metadata(path).map_err(|error| Problem::ours("looking at a backup", &error))?;
    Ok(file.len())
}

/// The conversations to index.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only this conversation; by default all.
    conversation: Option<String>,
}

/// Rebuilds the search index, in a task; its result is the output of `unforget reindex`.
#[utoipa::path(post, path = "/reindex", tag = "store", params(Which),
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn reindex(seen: Seen, Asked(which): Asked<Which>) -> Done<Response> {
    let tenant = seen.tenant.clone();
    let task = seen.with(move |engine, api| {
        let all = match &which.conversation {
            Some(name) => vec![engine.resolve(name)?.conversation],
            None => read_all(|page| engine.store().conversations(page))?,
        };
        let (engine, key) =
            (api.engine().clone(), which.conversation.and(all.first().map(|one| one.key.0.clone())));
        api.tasks.begin(&tenant, "reindex", key, move |progress| {
            for (done, conversation) in (1..).zip(&all) {
                engine.reindex(conversation.id)?;
                progress.at(done, all.len() as u64);
            }
            let entries = all.iter().map(|conversation| conversation.entries).sum();
            Report::of(&ReindexJson { conversations: all.len() as u64, entries })
        })
    });
    Ok((StatusCode::ACCEPTED, task.await?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_backups_table() {
        let table = [
            ("monday.db", true, "a name"),
            ("", false, "nothing"),
            ("../unforget.db", false, "another folder"),
            ("/etc/passwd", false, "another place"),
            ("a/b", false, "a folder in it"),
            ("a\\b", false, "the same on Windows"),
            ("c:b", false, "another drive"),
            (".hidden", false, "hidden, or a folder above"),
            ("..", false, "the folder above"),
            ("a\0b", false, "a name that ends early"),
            ("a\nb", false, "two lines"),
        ];
        for (name, want, why) in table {
            assert_eq!(is_plain(name), want, "{why}: {name:?}");
        }
        assert!(!is_plain(&"a".repeat(NAME_MAX + 1)), "too long");
    }
}

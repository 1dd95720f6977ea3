//! Uploads of transcripts.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use axum::Extension;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, HeaderMap};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use tempfile::NamedTempFile;
use unforget_engine::EngineError;
use unforget_engine::import::ReceivedTranscript;
use utoipa::IntoParams;

use super::asked::Asked;
use super::problem::{Done, Problem, Problems};
use super::scope::{CommandLine, Owned};
use super::tasks::{Report, Task};
use crate::json::ImportedJson;

/// Longest name of an upload.
const NAME_MAX: usize = 4_096;

/// The source of a transcript.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// A name for people, such as that of the file. No such file is opened.
    name: Option<String>,
    /// Modification time of this file in ns since 1970, if it was settled when the file was read. Counts only from the command
    /// line of the database's owner, which then need not send an unchanged file again.
    modified: Option<i64>,
}

/// Imports a transcript: the body, byte for byte. The task shows the progress; its result is the output of `unforget
/// import`.
///
/// Uploading it again changes nothing; uploading a grown transcript adds its new records.
#[utoipa::path(post, path = "/imports", tag = "conversations", params(From),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn import(
    Owned(seen): Owned,
    owner: Option<Extension<CommandLine>>,
    Asked(from): Asked<From>,
    headers: HeaderMap,
    body: Body,
) -> Done<Response> {
    let name = name(from.name, owner.is_some())?;
    let modified_ns = from.modified.filter(|_| owner.is_some()).unwrap_or(0);
    let told =
        headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let tenant = seen.tenant.clone();
    let (folder, most) =
        seen.clone().with(|_, api| Ok((api.settings.uploads.clone(), api.settings.upload_max))).await?;
    if told.is_some_and(|told: u64| told > most) {
        return Err(too_large(most));
    }
    let (file, size) = receive(body, &folder, most).await?;
    let task = seen
        .with(move |engine, api| {
            let engine = engine.clone();
            api.tasks.begin(&tenant, "import", None, move |progress| {
                let input = File::open(file.path()).map_err(|error| unwritten(&error))?;
                let mut at = |at: unforget_engine::import::Progress<'_>| progress.at(at.bytes, at.total);
                let imported = engine.import_sent(
                    BufReader::new(input),
                    ReceivedTranscript { name: &name, bytes: size, modified_ns },
                    &mut at,
                );
                // A file that is no transcript is a defect of the upload, not of the store.
                let imported = imported.map_err(|error| match error {
                    EngineError::Read { source, .. } => EngineError::Read { path: (&name).into(), source },
                    other => other,
                })?;
                engine.store().maintain()?;
                if imported.added > 0 {
                    // Derived: the next reader makes it again.
                    let kept = engine.keep_memory(&imported.conversation);
                    kept.unwrap_or_else(|error| tracing::warn!(%error, "what a session left is not kept"));
                }
                progress.at(size, size);
                Report::of(&ImportedJson::from(&imported))
            })
        })
        .await?;
    Ok((StatusCode::ACCEPTED, task).into_response())
}

/// * `is_path` - whether the owner's command line asks, which sends paths of files as they are.
fn name(asked: Option<String>, is_path: bool) -> Done<String> {
    let name = asked.unwrap_or_else(|| "upload".to_owned());
    let is_plain = is_path || !name.contains(char::is_control);
    if name.is_empty() || name.len() > NAME_MAX || !is_plain {
        return Err(Problem::bad(format!("name: 1 to {NAME_MAX} bytes without control characters")));
    }
    Ok(name)
}

/// Receives a body as a temporary file, deleted when dropped. Returns it with its length.
async fn receive(body: Body, folder: &Path, most: u64) -> Done<(NamedTempFile, u64)> {
    let mut file = {
        let mut make = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.recursive(true).create(folder).map_err(|error| unwritten(&error))?;
        NamedTempFile::new_in(folder).map_err(|error| unwritten(&error))?
    };
    let (mut size, mut pieces) = (0_u64, body.into_data_stream());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Problem::bad(format!("the upload broke off: {error}")))?;
        size += piece.len() as u64;
        if size > most {
            return Err(too_large(most));
        }
        let write = move || {
            let written = file.write_all(&piece);
            (file, written)
        };
        let done = tokio::task::spawn_blocking(write).await;
        let (back, written) = done.map_err(|error| Problem::ours("writing an upload", &error))?;
        written.map_err(|error| unwritten(&error))?;
        file = back;
    }
    Ok((file, size))
}

fn too_large(most: u64) -> Problem {
    let next = "import the file on the daemon's machine: unforget import";
    Problem::new(413, "too-large", format!("an upload may have {most} bytes"), next)
}

fn unwritten(error: &io::Error) -> Problem {
    if error.kind() == io::ErrorKind::StorageFull {
        return Problem::new(
            507,
            "full",
            "the disk has no room for the upload",
            "free some space on the disk and send the upload again",
        );
    }
    Problem::ours("keeping an upload", error)
}

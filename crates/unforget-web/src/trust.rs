//! Whether what is stored can be trusted, and the settings with who said them. For the owner only.

use maud::html;
use unforget_text::numbers::{count, plural};

use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::Visit;
use crate::words::shown;

fn owner(visit: &Visit) -> Result<(), Trouble> {
    if visit.is_owner {
        return Ok(());
    }
    Err(Trouble::new(
        403,
        "this view is about all conversations, also those of others",
        "ask the owner of the daemon",
    ))
}

/// Shows what is known about the store, without reading all of it.
pub(crate) fn trust(visit: &Visit) -> Viewed {
    owner(visit)?;
    let findings = visit.engine.doctor()?;
    let (lost, broken) = (visit.engine.store().lost_entries()?, visit.engine.store().broken_rows());
    let body = html! {
        h1 class="quiet" { "Trust" }
        p { "Every entry extends a chain of digests, so that a changed or missing byte shows. " code { "unforget verify" } " reads everything back and checks it; this view tells what is known without that." }
        h2 { "Lost and damaged" }
        @if lost.is_empty() && broken.is_empty() {
            p { span class="good" { "✓" } " No acknowledged entry is missing, and no damaged row was met since the daemon started." }
        } @else {
            ul {
                @for one in &lost { li class="bad" { (shown(&one.to_string())) } }
                @for one in &broken { li class="bad" { (plural(one.rows, "damaged row")) ": " (shown(one.what)) } }
            }
            p { "Next: " code { "unforget verify" } " names them all, and says which can be made again." }
        }
        h2 { "Findings of doctor" }
        @if findings.is_empty() {
            (empty("Nothing to mend.", &html! { code { "unforget doctor FILE" } " looks at transcripts of agents." }))
        } @else {
            table class="list" {
                caption class="dim" { (plural(findings.len() as u64, "finding")) }
                thead { tr { th scope="col" { "What" } th scope="col" { "Where" } th scope="col" { "What mends it" } } }
                tbody { @for one in findings.iter().take(500) { tr data-row { td { (shown(&one.what)) } td class="code" { (shown(&one.place)) } td { code { (shown(&one.command)) } } } } }
            }
            @if findings.len() > 500 { p class="dim" { (count((findings.len() - 500) as u64)) " more: " code { "unforget doctor" } } }
        }
        h2 { "Copies" }
        p { code { "unforget backup FILE" } " writes a verified copy while the daemon runs. " code { "unforget purge" } " is the only deletion there is, in two steps." }
    };
    Ok(Reply::page(frame(visit, &Frame { title: "Trust", here: Here::Trust, of: None }, &body)))
}

/// Shows every setting, and who said it.
pub(crate) fn settings(visit: &Visit) -> Viewed {
    owner(visit)?;
    let settings = &visit.site.settings;
    let file = settings.config.file.as_deref().unwrap_or("none");
    let body = html! {
        h1 class="quiet" { "Settings" }
        p { "Read at the start of this daemon; secrets are not shown. Change them in the file, and start the daemon again." }
        dl class="facts" {
            (crate::words::fact("settings file", shown(file)))
            (crate::words::fact("database", shown(&settings.db)))
        }
        table class="list" {
            thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "Said by" } } }
            tbody {
                @for one in &settings.config.settings {
                    tr data-row { td class="code" { (one.name) } td class="code" { @if let Some(value) = &one.value { (shown(value)) } @else { span class="dim" { "–" } } } td { (shown(&one.from)) } }
                }
            }
        }
        @if settings.config.settings.is_empty() { (empty("This daemon told no settings.", &html! { code { "unforget config" } " prints them." })) }
    };
    Ok(Reply::page(frame(visit, &Frame { title: "Settings", here: Here::Settings, of: None }, &body)))
}

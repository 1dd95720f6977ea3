//! Another machine, through ssh: both ends of the pipe.

use std::io::{BufReader, BufWriter, stdin};
use std::process::{Child, Command, Stdio};

use unforget_sync::{LocalHistory, PipeHistory, TakeReport, serve_history, take};

use super::{HereEnd, SyncJson, ToldEvents, failed, say};
use crate::app::App;
use crate::args::SyncArgs;
use crate::failure::{Exit, Failure, Outcome};

/// The command that reaches other machines: no terminal there, since bytes go through it.
const SSH: &str = "ssh -T";

/// Takes from another machine, and lets it take from this one.
pub(super) fn run(app: &mut App, args: &SyncArgs, host: &str) -> Outcome {
    if args.encrypt.is_some() {
        return Err(Failure::usage("--encrypt is for a folder", "ssh encrypts by itself: leave it out"));
    }
    let mut child = reach(args, host)?;
    let mut heard = ToldEvents::default();
    let met = meet(app, args, &mut child, &mut heard);
    let ended = child.wait();
    let Meeting { taken, given, lanes } = met?;
    if !ended.is_ok_and(|status| status.success()) {
        let hint = format!("what it wrote stands above; run `unforget sync` at {host} too");
        return Err(Failure::input("other-machine", "the other machine ended with an error", hint));
    }
    let ToldEvents { lines, left, is_peer_old: peer_is_old } = heard;
    let given = Some(given);
    let done = SyncJson {
        place: host,
        taken,
        put: None,
        given,
        left,
        damaged: Vec::new(),
        peer_is_old,
        lanes,
        dry_run: args.dry_run,
    };
    say(app, &done, &lines)
}

/// Starts the program at the other machine.
fn reach(args: &SyncArgs, host: &str) -> Outcome<Child> {
    let mut words = args.ssh.as_deref().unwrap_or(SSH).split_whitespace();
    let program = words.next().unwrap_or(SSH);
    let mut there = format!("{} sync --serve", args.program.as_deref().unwrap_or("unforget"));
    for (is_asked, option) in [(args.purges, " --purges"), (args.dry_run, " --dry-run")] {
        there.push_str(if is_asked { option } else { "" });
    }
    let mut command = Command::new(program);
    command.args(words).arg(host).arg(there).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().map_err(|error| {
        let hint = "install ssh, or name the command that reaches the machine: --ssh COMMAND";
        Failure::usage(format!("{program} cannot be started: {error}"), hint)
    })
}

/// What two machines took from each other.
struct Meeting {
    taken: TakeReport,
    given: TakeReport,
    lanes: u64,
}

/// The pipe is closed at the end, so that the other side ends too.
fn meet(app: &App, args: &SyncArgs, child: &mut Child, heard: &mut ToldEvents) -> Outcome<Meeting> {
    let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(Failure::usage("the other machine has no pipe", "run it again"));
    };
    let (input, output) = (BufReader::new(input), BufWriter::new(output));
    let here = HereEnd::open(app, args.dry_run)?;
    let mut there = PipeHistory::begin(input, output).map_err(failed)?;
    let mut intake = here.intake();
    let into = intake.as_mut().map(|intake| intake as _);
    let mut hear = |event: unforget_sync::SyncEvent<'_>| heard.hear(&event);
    let taken = take(&here.reader(app)?, &mut there, into, args.purges, &mut hear).map_err(failed)?;
    let (mut input, mut output) = there.end(taken).map_err(failed)?;
    let reader = here.reader(app)?;
    let mut local = LocalHistory::new(&reader);
    let given = serve_history(&mut local, &mut input, &mut output, false).map_err(failed)?.taken;
    Ok(Meeting { taken, given, lanes: local.lanes().map_err(failed)? })
}

/// Answers a machine that began, and then asks it.
pub(super) fn serve(app: &mut App, args: &SyncArgs) -> Outcome {
    let here = HereEnd::open(app, args.dry_run)?;
    let reader = here.reader(app)?;
    let (mut input, mut output) = (BufReader::new(stdin()), app.out.bytes());
    let served =
        serve_history(&mut LocalHistory::new(&reader), &mut input, &mut output, true).map_err(failed)?;
    let mut there = PipeHistory::turned(input, output, served.peer);
    let mut heard = ToldEvents::default();
    let mut intake = here.intake();
    let into = intake.as_mut().map(|intake| intake as _);
    let mut hear = |event: unforget_sync::SyncEvent<'_>| heard.hear(&event);
    let taken = take(&reader, &mut there, into, args.purges, &mut hear).map_err(failed)?;
    there.end(taken).map_err(failed)?;
    for left in heard.left {
        // Stderr arrives at the machine that began, where a person reads it.
        app.out.note(format_args!("{}  passed over there: {}", left.conversation, left.why));
    }
    Ok(Exit::Done)
}

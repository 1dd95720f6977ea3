//! Imports transcripts into a database and reports the result: `import DB FILE|FOLDER…`.

use std::path::PathBuf;
use std::time::Instant;

use unforget_engine::import::Found;
use unforget_engine::{Engine, EngineError};

fn main() -> Result<(), EngineError> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(db) = arguments.next() else { return Ok(()) };
    let engine = Engine::open(&db)?;
    let start = Instant::now();
    engine.import_paths(&arguments.collect::<Vec<_>>(), false, &mut |_| (), &mut |path, found| match found {
        Found::Imported(done) => println!(
            "{} {} {} entries {} added {} bytes {} warnings {}",
            path.display(),
            done.conversation,
            done.plan.name(),
            done.entries,
            done.added,
            done.bytes,
            done.warnings.count,
        ),
        Found::Skipped(why) => println!("{} skipped: {why}", path.display()),
        Found::Failed(error) => println!("{} failed: {error:?}", path.display()),
    });
    println!("{:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}

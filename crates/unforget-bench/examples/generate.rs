//! Writes a workload to standard output: `generate MESSAGES [SEED]`. Figures go to standard error.

use std::io::{BufWriter, Write};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let messages = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(20_250_615);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let workload = unforget_bench::write_workload(&mut out, messages, seed)?;
    out.flush()?;
    eprintln!("{} messages, {} turns, {} bytes", workload.messages, workload.turns, workload.bytes);
    Ok(())
}

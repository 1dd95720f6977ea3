//! Measures the speed of reading a transcript: `cargo run --release --example read_speed -- FILE`.
#![allow(clippy::print_stdout, reason = "a measuring program")]

use std::io::BufReader;
use std::time::Instant;

use unforget_wire::Reader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: read_speed FILE")?;
    for _ in 0..3 {
        let start = Instant::now();
        let mut reader = Reader::open(BufReader::with_capacity(1 << 18, std::fs::File::open(&path)?))?;
        let (mut records, mut bytes, mut parts) = (0u64, 0u64, 0usize);
        while let Some(record) = reader.next_record()? {
            records += 1;
            bytes += (record.lead.len() + record.body.len()) as u64;
            parts += record.entry.parts.len();
        }
        let seconds = start.elapsed().as_secs_f64();
        let rate = bytes as f64 / seconds / 1e6;
        println!("{records} records, {parts} parts, {bytes} bytes, {seconds:.3} s, {rate:.0} MB/s");
    }
    Ok(())
}

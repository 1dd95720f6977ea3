//! Runs the targets on mutated seeds without libFuzzer: `smoke [ROUNDS] [SEED] [TARGET]`. A panic names the round.

use std::path::Path;

use unforget_testkit::Random;
use unforget_testkit::mutate::{mutate, mutate_lines};
use unforget_wire::Format;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| arguments.next().map_or(usual, |text| text.parse().unwrap_or_default());
    let (rounds, seed) = (number(2_000), number(0));
    let only = arguments.next();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for target in std::fs::read_dir(root)? {
        let target = target?;
        let name = target.file_name().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let mut worst = std::time::Duration::ZERO;
        for file in std::fs::read_dir(target.path())? {
            let bytes = std::fs::read(file?.path())?;
            for round in 0..rounds {
                let mut random = Random::new(seed.wrapping_mul(1_000_003) + round);
                let input = if round % 2 == 0 {
                    mutate(&bytes, &mut random)
                } else {
                    mutate_lines(&bytes, 3, &mut random)
                };
                let start = std::time::Instant::now();
                let run = std::panic::catch_unwind(|| one(&name, &input));
                worst = worst.max(start.elapsed());
                if run.is_err() {
                    eprintln!("{name}: round {round}, seed {seed}");
                    std::process::exit(1);
                }
            }
        }
        println!("{name}: {rounds} rounds per seed, slowest {} us", worst.as_micros());
    }
    Ok(())
}

fn one(target: &str, bytes: &[u8]) {
    let format = match target {
        "grep" => return unforget_fuzz::grep(bytes),
        "segment" => return unforget_fuzz::segment(bytes),
        "estimate" => return unforget_fuzz::estimate(bytes),
        "protocol" => return unforget_fuzz::protocol(bytes),
        "call" => return unforget_fuzz::call(bytes),
        "sse" => return unforget_fuzz::sse(bytes),
        "answer" => return unforget_fuzz::answer(bytes),
        "join" => return unforget_fuzz::join(bytes),
        "refusal" => return unforget_fuzz::refusal(bytes),
        "read_rows" => return unforget_fuzz::rows(bytes),
        "read_pi" => Format::Pi,
        "read_claude_code" => Format::ClaudeCode,
        "read_codex" => Format::Codex,
        "read_openai_chat" => Format::OpenAiChat,
        "read_openai_responses" => Format::OpenAiResponses,
        "read_anthropic" => Format::AnthropicMessages,
        "read_gemini_cli" => Format::GeminiCli,
        "read_copilot_cli" => Format::CopilotCli,
        "read_amp" => Format::Amp,
        "read_claude_stream" => Format::ClaudeStream,
        "read_cline" => Format::Cline,
        "read_codex_exec" => Format::CodexExec,
        "read_continue_dev" => Format::ContinueDev,
        "read_qwen_code" => Format::QwenCode,
        "read_swe_agent" => Format::SweAgent,
        "read_openhands" => Format::OpenHands,
        "read_tau_bench" => Format::TauBench,
        _ => Format::Unknown,
    };
    unforget_fuzz::transcript(format, bytes);
}

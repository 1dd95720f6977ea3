//! Compares what providers got of two conversations that were held one after the other.

use unforget_testkit::upstream::Came;

/// The bodies that a provider got.
fn bodies(came: &[Came]) -> Vec<String> {
    came.iter().map(|came| String::from_utf8(came.body.clone()).unwrap()).collect()
}

/// Compares what two providers got, of which some has to be prompts of ours. Summaries say in which minute their entries
/// came, so minutes count as equal.
pub(crate) fn compare(want: &[Came], got: &[Came]) -> Result<(), String> {
    let (want, got) = (bodies(want), bodies(got));
    for (n, (want, got)) in want.iter().zip(&got).enumerate() {
        let (want, got) = (without_minutes(want), without_minutes(got));
        if want != got {
            let at = want.chars().zip(got.chars()).take_while(|(one, other)| one == other).count();
            let around = |body: &str| body.chars().skip(at.saturating_sub(200)).take(600).collect::<String>();
            return Err(format!("call {n} differs at {at}:\n{}\n---\n{}", around(&want), around(&got)));
        }
    }
    assert_eq!(got.len(), want.len());
    assert!(got.windows(2).any(|two| two[1].len() < two[0].len()), "some prompts are ours");
    Ok(())
}

fn without_minutes(body: &str) -> String {
    let minute = r"\d{4}-\d\d-\d\d \d\d:\d\d";
    let times = regex::Regex::new(&format!("{minute}(?: to {minute})? UTC")).unwrap();
    times.replace_all(body, "TIME").into_owned()
}

/// Runs a comparison until its outcome is none of the clock's: a span over two minutes takes more tokens than one within a
/// minute, and so may cut a prompt elsewhere.
pub(crate) async fn within_a_minute(mut run: impl AsyncFnMut() -> Result<(), String>) {
    let minute = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 60;
    for left in (0..5).rev() {
        let begun = minute();
        let Err(differs) = run().await else { return };
        assert!(left > 0 && begun != minute(), "{differs}");
    }
}

//! The host's own summary beside ours: its room, and the room left for our summaries.

use crate::policy::{HOST_SUMMARY_MAX, HOST_SUMMARY_PART, Policy};

/// Room for the host's newest summary in a prompt, in tokens.
pub fn host_tokens_max(policy: &Policy) -> u64 {
    (policy.zone / HOST_SUMMARY_PART).min(HOST_SUMMARY_MAX)
}

/// The policy for our summaries beside host's words of this many tokens. Both share the zone, so that the prompt is no
/// larger than one without host's words.
#[must_use]
pub fn beside_host(policy: &Policy, tokens: u64) -> Policy {
    Policy { zone: policy.zone.saturating_sub(tokens), ..*policy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_shared() {
        for window in [1, 1_024, 8_192, 32_768, 200_000, 1_000_000] {
            let policy = Policy::for_window(window);
            let most = host_tokens_max(&policy);
            assert!(most <= HOST_SUMMARY_MAX && most * HOST_SUMMARY_PART <= policy.zone, "{window}");
            let beside = beside_host(&policy, most);
            assert_eq!(beside.zone + most, policy.zone, "{window}: nothing is added");
            assert_eq!(Policy { zone: policy.zone, ..beside }, policy, "{window}: nothing else changes");
            assert_eq!(beside_host(&policy, u64::MAX).zone, 0, "{window}: no underflow");
        }
    }
}

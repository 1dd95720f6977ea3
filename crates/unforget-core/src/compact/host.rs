//! The host's own summary beside ours: what it may take, and what is left for them.

use crate::policy::Policy;

/// Largest share of the zone of summaries that the host's words take, as one over this.
const SHARE: u64 = 2;

/// Most tokens of the host's words: longer summaries of hosts are not known.
const TOKENS_MAX: u64 = 6_000;

/// What the words of the host's newest summary may take in a prompt, in tokens.
pub fn host_tokens_max(policy: &Policy) -> u64 {
    (policy.zone / SHARE).min(TOKENS_MAX)
}

/// The policy for our summaries beside host's words of so many tokens: both share the zone, so that a prompt with them
/// is no larger than one without.
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
            assert!(most <= TOKENS_MAX && most * SHARE <= policy.zone, "{window}");
            let beside = beside_host(&policy, most);
            assert_eq!(beside.zone + most, policy.zone, "{window}: nothing is added");
            assert_eq!(Policy { zone: policy.zone, ..beside }, policy, "{window}: nothing else changes");
            assert_eq!(beside_host(&policy, u64::MAX).zone, 0, "{window}: no underflow");
        }
    }
}

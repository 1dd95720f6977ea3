//! Small word lists of general English.

/// Whether a lower-case word says little about a query's subject. Such words weigh less; none is left out.
pub(crate) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Whether a lower-case word asks for something that failed.
pub(crate) fn is_failure(word: &str) -> bool {
    FAILURE.binary_search(&word).is_ok()
}

/// Sorted.
const FAILURE: &[&str] = &[
    "broke",
    "broken",
    "crash",
    "crashed",
    "crashes",
    "crashing",
    "error",
    "errors",
    "exception",
    "exceptions",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "panic",
    "panicked",
    "refused",
    "rejected",
];

/// Sorted. Function words, question words, and the contractions without their apostrophe.
const STOP: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "arent", "as", "at",
    "be", "because", "been", "before", "being", "but", "by", "can", "cant", "could", "couldnt", "did",
    "didnt", "do", "does", "doesnt", "doing", "dont", "during", "each", "ever", "few", "for", "from",
    "further", "had", "hadnt", "has", "hasnt", "have", "havent", "having", "he", "her", "here", "hers",
    "herself", "him", "himself", "his", "how", "i", "if", "im", "in", "into", "is", "isnt", "it", "its",
    "itself", "ive", "just", "like", "many", "may", "me", "might", "more", "most", "much", "must", "my",
    "myself", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours",
    "out", "over", "own", "please", "same", "shall", "she", "should", "so", "some", "such", "tell", "than",
    "that", "thats", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "us", "very", "was", "wasnt", "we", "were", "what",
    "whats", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would",
    "you", "your", "yours", "yourself",
];

#[cfg(test)]
mod tests {
    #[test]
    fn lists_are_sorted_for_binary_search() {
        assert!(super::STOP.is_sorted_by(|a, b| a < b));
        assert!(super::FAILURE.is_sorted_by(|a, b| a < b));
    }
}

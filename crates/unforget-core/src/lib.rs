//! The rules of Unforget, as pure functions on plain values.
//!
//! Data flows in the order of the modules:
//!
//! ```text
//! transcript ─▶ wire ─▶ reconcile ─▶ store ─▶ compact ─▶ assemble ─▶ admit ─▶ wire ─▶ provider
//! ```
//!
//! Nothing here reads a clock, a file, the environment or random order, and nothing here looks into
//! text to guess a fact: same input, same output. Effects are carried out by `unforget-engine`.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `id`, `entry`, `message` | names of things; an entry and its parts; a request as plain values |
//! | `digest` | BLAKE3 digests, the raw chain, the content digest |
//! | `tokens`, `estimate` | counts as pairs; the estimator for models whose tokeniser is not known |
//! | `policy` | every number that shapes a prompt, derived from the window |
//! | `reconcile` | what is new in a delivered transcript, as a plan |
//! | `deliver` | what is new in an array that a live host delivers, as a plan; `exact`: an array that is the path itself |
//! | `caller` | which lane a request of a provider's client is of |
//! | `inherit` | whether a lane that begins like another one takes over its journal, and what of its contexts and pins |
//! | `loop_view` | the prompt of a tool loop, kept while it is the right one |
//! | `media` | images and documents of a request: counted, and left out where a provider does not take them |
//! | `group`, `pair` | exchange groups; calls and results in together or out together |
//! | `compact`, `compact/break_timing` | which leaves and merges a break needs, and the cover; whether it happens now or waits for a cold cache; what the host's own summary may take beside ours (`compact/host`) |
//! | `gate` | whether a draft of a summary may stand for its source, and what is tried if not |
//! | `ledger/*` | what was done with tools, folded from facts: files, commands, tests, failures, addresses, commits, tasks; which results are superseded |
//! | `pin/*` | rules that stand verbatim in every prompt, and the proof that they do (`shown`); which files they follow (`file`) |
//! | `raised` | entries that a person put back: which of them a prompt shows, and how many fit |
//! | `left` | which entries a prompt does not show word for word, since which break, and what a break took out |
//! | `assemble` | pieces of a prompt to one request |
//! | `ladder`, `prefix` | what each rung of admission leaves out; where a prompt stops to equal the one before, and why |
//! | `admit` | the ladder, the certificate, and the only maker of `Admitted` |
//! | `recover` | what to do when a provider refuses a request, or cuts it |
//! | `counts`, `reported` | what a provider's counts of tokens say: whether a prompt was cut; the bound of the next one |
//! | `cache` | what became of a provider's cache, call by call, and why |
//! | `reserve` | what of a window is kept for the answer |
//! | `saying` | what people say of a history, as records that machines exchange: which of them count |
//! | `standing` | which pieces of a client's standing context a prompt is given back, and how much of each |
//! | `transcript/*` | what makes a host's own transcript toxic, and how it is mended, as a plan |

pub mod admit;
pub mod assemble;
pub mod cache;
pub mod caller;
pub mod compact;
pub mod counts;
pub mod deliver;
pub mod digest;
pub mod entry;
pub mod estimate;
pub mod gate;
pub mod group;
pub mod id;
pub mod inherit;
pub mod ladder;
pub mod ledger;
pub mod left;
pub mod loop_view;
pub mod media;
pub mod message;
pub mod mutants;
pub mod pair;
pub mod pin;
pub mod policy;
pub mod prefix;
pub mod raised;
pub mod reconcile;
pub mod recover;
pub mod reported;
pub mod reserve;
pub mod saying;
pub mod standing;
pub mod tokens;
pub mod transcript;

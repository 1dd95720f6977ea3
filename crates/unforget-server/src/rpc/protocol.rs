//! The wire format.
//!
//! Names are in camelCase, values with a fixed set of names in kebab-case. Unknown fields are ignored. Messages of a
//! host are raw JSON: their bytes are neither parsed nor rewritten here.

mod answer;
mod error;
mod own;
mod params;
mod pins;
mod raised;
mod recall;
mod schema;

pub use answer::*;
pub use error::{Code, Failure};
pub use own::*;
pub use params::*;
pub use pins::*;
pub use raised::*;
pub use recall::*;
pub use schema::schema;

/// Version of the protocol. Versions with different numbers are incompatible.
pub const PROTOCOL: u32 = 1;

/// The calls of the engine to a host that offers its model.
pub const HOST_VERBS: [(&str, &str); 1] =
    [("complete", "Asks the host's own model. The host answers with a line that has the same id.")];

/// Every method, with its description.
pub const VERBS: [(&str, &str); 29] = [
    ("initialize", "Agrees on the version of the protocol. Optional; anything may be called without it."),
    ("open", "Opens a lane, or begins it. Cheap: call it at every start of a session."),
    ("catchUp", "Takes a page of the host's transcript, all of it as an array, or its file."),
    ("beginTurn", "A turn begins: its user message is durable before the model is called."),
    ("commitTurn", "A turn is done. The same key again changes nothing."),
    ("abortTurn", "A turn was given up. What was delivered of it stays."),
    ("afterTurn", "For hosts that hand over an array after each turn."),
    ("assemble", "The prompt for the next call of a model."),
    ("refused", "The provider refused the prompt: gives a smaller one, a few times."),
    ("answered", "The provider answered, and counted so many tokens."),
    ("compact", "Makes the prompt smaller, if it has to be or if it is told to."),
    ("maintain", "Housekeeping: call it when nobody waits."),
    ("event", "Something happened to a lane: reset, fork, rewind and the like."),
    ("status", "How a lane stands; without a lane, how the server stands."),
    ("search", "Finds entries by words, best first."),
    ("grep", "Finds a regular expression in every stored byte."),
    ("describe", "Says what is behind a name."),
    ("expand", "Goes from a name down to the entries, word for word."),
    ("answer", "A question answered from what is stored, by a model if there is one, with its passages."),
    ("pin", "Pins words: they stand in every prompt from the next one on."),
    ("unpin", "Takes a pin back."),
    ("pins", "Lists pins, and sentences that a person may want to pin."),
    (
        "raise",
        "Puts entries back: they stand in every prompt from the next one on, as far as they have room.",
    ),
    ("lower", "Takes entries away again that were put back."),
    ("raised", "Lists what people put back."),
    ("classify", "Says what a provider's refusal means."),
    ("close", "Forgets what is in memory of a lane."),
    ("shutdown", "Ends the server when all calls before it are answered."),
    ("$/cancel", "Takes a call back. A notification: it has no id and no answer."),
];

//! The JSON Schema of the protocol, generated from its types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    AbortTurnParams, AfterTurnParams, AnswerParams, Answered, AnsweredParams, AssembleParams, Assembled,
    Call, CallDone, CancelParams, CatchUpParams, Classified, ClassifyParams, Committed, CompactParams,
    Compacted, Delivered, DescribeParams, EventParams, ExpandParams, Failure, GrepParams, HOST_VERBS,
    InitializeParams, Initialized, LaneStatus, LowerParams, Maintained, ModelAnswer, ModelQuestion,
    ModelRefusal, NoParams, PROTOCOL, PinAnswer, PinParams, PinsParams, RaiseParams, RaisedAnswer, Recovered,
    RefusedParams, SearchParams, ServerStatus, TurnParams, UnpinParams, VERBS,
};
use crate::json::{AnswerJson, DescriptionJson, GrepJson, PageJson, PinsJson, RaisedSpansJson, SearchJson};

/// Parameters and answer of every method, the error, and all types used.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let call = of::<Call<'_>>(&mut generator);
    let error = of::<Failure>(&mut generator);
    let mut methods = Map::new();
    for (verb, about) in VERBS {
        let (params, result) = verb_types(verb, &mut generator);
        let params = if verb == "$/cancel" { params } else { json!({ "allOf": [call, params] }) };
        methods.insert(verb.to_owned(), json!({ "description": about, "params": params, "result": result }));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unforget engine protocol",
        "protocol": PROTOCOL,
        "methods": methods,
        "hostMethods": host_methods(&mut generator),
        "error": error,
        "late": {
            "description": "every result and every error.data may have it: the call was begun before it was taken back \
                            or before its deadline, and finished",
            "enum": ["cancelled", "deadline"]
        },
        "$defs": generator.take_definitions(true),
    })
}

/// The calls of the engine to a host.
fn host_methods(generator: &mut SchemaGenerator) -> Value {
    let (params, result) = (of::<ModelQuestion<'_>>(generator), of::<ModelAnswer>(generator));
    let error = of::<ModelRefusal>(generator);
    let methods = HOST_VERBS.map(|(verb, about)| {
        (verb.to_owned(), json!({ "description": about, "params": params, "result": result, "error": error }))
    });
    Value::Object(methods.into_iter().collect())
}

/// The schemas of a method's parameters and answer. `null` without an answer.
fn verb_types(verb: &str, generator: &mut SchemaGenerator) -> (Value, Value) {
    match verb {
        "initialize" => (of::<InitializeParams>(generator), of::<Initialized>(generator)),
        "open" => (of::<NoParams>(generator), of::<LaneStatus>(generator)),
        "catchUp" => (of::<CatchUpParams<'_>>(generator), of::<Delivered>(generator)),
        "beginTurn" => (of::<TurnParams<'_>>(generator), of::<Delivered>(generator)),
        "commitTurn" => (of::<TurnParams<'_>>(generator), of::<Committed>(generator)),
        "abortTurn" => (of::<AbortTurnParams>(generator), of::<Delivered>(generator)),
        "afterTurn" => (of::<AfterTurnParams<'_>>(generator), of::<Delivered>(generator)),
        "assemble" => (of::<AssembleParams<'_>>(generator), of::<Assembled>(generator)),
        "refused" => (of::<RefusedParams>(generator), of::<Recovered>(generator)),
        "answered" => (of::<AnsweredParams>(generator), of::<Answered>(generator)),
        "compact" => (of::<CompactParams>(generator), of::<Compacted>(generator)),
        "maintain" => (of::<NoParams>(generator), of::<Maintained>(generator)),
        "event" => (of::<EventParams>(generator), of::<Delivered>(generator)),
        "status" => {
            let either = json!({ "anyOf": [of::<LaneStatus>(generator), of::<ServerStatus>(generator)] });
            (of::<NoParams>(generator), either)
        }
        "search" => (of::<SearchParams>(generator), of::<SearchJson<'_>>(generator)),
        "grep" => (of::<GrepParams>(generator), of::<GrepJson<'_>>(generator)),
        "describe" => (of::<DescribeParams>(generator), of::<DescriptionJson<'_>>(generator)),
        "expand" => (of::<ExpandParams>(generator), of::<PageJson<'_>>(generator)),
        "answer" => (of::<AnswerParams<'_>>(generator), of::<AnswerJson>(generator)),
        "pin" => (of::<PinParams>(generator), of::<PinAnswer>(generator)),
        "unpin" => (of::<UnpinParams>(generator), of::<PinAnswer>(generator)),
        "pins" => (of::<PinsParams>(generator), of::<PinsJson>(generator)),
        "raise" => (of::<RaiseParams>(generator), of::<RaisedAnswer>(generator)),
        "lower" => (of::<LowerParams>(generator), of::<RaisedAnswer>(generator)),
        "raised" => (of::<NoParams>(generator), of::<RaisedSpansJson>(generator)),
        "classify" => (of::<ClassifyParams>(generator), of::<Classified>(generator)),
        "$/cancel" => (of::<CancelParams<'_>>(generator), Value::Null),
        _ => (of::<NoParams>(generator), of::<CallDone>(generator)),
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

//! Recognises bad drafts by their form: refusal, error text, reasoning, dialogue, orders, cut off.
//!
//! A summary may be *about* all of these. So refusals and orders count only at the start of a sentence outside
//! quotation marks and code, and tags only where they are not quoted from the source.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use unforget_core::gate::Flaw;

use crate::clip::pattern;
use crate::sentences::sentences;

/// First words of refusals in twelve languages: English, German, French, Spanish, Portuguese, Italian, Dutch, Polish,
/// Russian, Chinese, Japanese, Korean.
static REFUSAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:sure|certainly|of course|hello|hi)[,.!] *)?(?:",
        r"i['’]?m (?:very |really |so )?(?:sorry|afraid|unable|not able)|i am (?:very |really |so )?(?:sorry|afraid|unable|not able)",
        r"|(?:i['’]m )?sorry,? (?:but )?(?:i|this|the)\b|i apologi[sz]e|my apologies|as an? (?:ai|language model)\b|unfortunately,? (?:i|there)\b",
        r"|i (?:can(?:no|['’])?t|cannot|can not|won['’]t|will not|could(?:n['’]t| not)|am unable to|do(?:n['’]t| not) (?:have|see)) (?:\w+ )?(?:help|assist|comply|provide|summari[sz]e|fulfil|process|generate|create|continue|complete|access|view|see|discuss|share|engage|answer|respond|do (?:that|this)|any|enough|the (?:ability|conversation))",
        r"|i (?:must|have to) decline|(?:the )?(?:summary|conversation|transcript) (?:is |was )?(?:un|not )(?:available|provided)|\[?(?:no )?summary (?:un)?available|no (?:conversation|content|messages|transcript|text)[^.]{0,40}\b(?:provided|given|to summari[sz]e)",
        r"|(?:failed|unable) to (?:generate|create|produce|summari[sz]e)\b|please (?:provide|share|paste)\b|it (?:seems|looks like|appears)(?: that)? (?:you|there (?:is|are) no|no )",
        r"|(?:es )?tut mir (?:sehr )?leid|leider (?:kann|ist es mir)|ich kann (?:dir|ihnen|dabei|das|diese[rsn]?|diesem)? ?[^.]{0,60}nicht\b|ich bin nicht in der lage|entschuldigung,|als ki\b",
        r"|(?:je suis )?désolée?|je (?:ne peux|ne suis) pas|je regrette|malheureusement,? je|en tant qu['’]ia",
        r"|lo siento|lamento|no puedo (?:ayudar|proporcionar|continuar|resumir|cumplir|hacer|responder)|desafortunadamente|como (?:una )?ia\b",
        r"|(?:me )?desculpe?\b|sinto muito|(?:eu )?não posso (?:ajudar|fornecer|continuar|resumir|fazer|responder)|infelizmente,? (?:eu )?não|como (?:uma )?ia\b",
        r"|mi dispiace|spiacente|non posso (?:aiutar|fornire|continuare|riassumere|fare|rispondere)\w*|purtroppo,? non",
        r"|het spijt me|sorry,? (?:maar )?ik|ik kan (?:je|u|dit|dat|hier)? ?[^.]{0,60}niet\b|helaas kan ik",
        r"|przepraszam|przykro mi|niestety,? nie (?:mogę|jestem)|nie mogę (?:pomóc|udzielić|kontynuować|streścić|tego)",
        r"|извините|к сожалению,? я|мне (?:очень )?жаль|простите|я не (?:могу|в состоянии) (?:помочь|предоставить|продолж|выполнить|обобщить|ответить|это)",
        r"|(?:很|非常)?(?:抱歉|对不起|對不起)|我(?:无法|無法|不能|没有办法)(?:帮|幫|提供|总结|總結|完成|继续|繼續|处理|满足|回答|协助)|作为(?:一个)?(?:人工智能|AI)",
        r"|申し訳(?:ありません|ございません|ない)|すみません|ごめんなさい|(?:その|この)?(?:ご)?(?:要求|要約|依頼|リクエスト)[^。]{0,20}(?:できません|お応えできません|お手伝いできません)",
        r"|죄송(?:합니다|하지만|해요)|미안(?:합니다|하지만)|유감(?:스럽게도|이지만)|(?:저는 |요청(?:을|하신) |요약(?:을)? ?)[^.]{0,20}(?:할 수 없|수 없습니다|드릴 수 없)",
        r")",
    ))
});

/// First words of error texts from providers, proxies and clients.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^\[?(?:(?:api|llm|server|internal|provider|request|http|upstream|openai|anthropic|connection|stream|fetch) ){0,3}error\b *(?:code)?[:\-–(]",
        r"|^error code:? \d{3}\b|^http(?:/\d(?:\.\d)?)? ?[45]\d\d\b|^\[?[45]\d\d\]?:? (?:bad request|unauthorized|payment|forbidden|not found|too many|internal|bad gateway|service|gateway)",
        r"|^(?:internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|rate limit(?:ed)?(?: exceeded| reached)?|too many requests|overloaded(?:_error)?|quota exceeded|insufficient[_ ]quota|invalid[_ ]api[_ ]key|unauthorized|forbidden|connection (?:reset|refused|timed out)[a-z ]*|(?:request )?timed out|context[_ ]length[_ ]exceeded)(?:[.:,;!({\[\n]|$)",
        r"|^upstream connect error|^this model['’]s maximum context|^(?:the )?model [^ ]{1,60} (?:not found|does not exist|is overloaded)|^the (?:model|server|engine) is (?:currently )?overloaded|^prompt is too long",
    ))
});

/// Tags and tokens that only occur inside a model's exchange.
static TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(</?(?:think|thinking|reasoning|scratchpad|analysis|reflection)>|◁/?think▷|<\|channel\|>|\[/?think\])",
        r"|<\|[a-z_0-9 ]{2,30}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</?(?:tool_call|function_calls|invoke|tool_use|tool_result|system|system-reminder|history-summary|history-ledger|untrusted)\b|</s>|<｜[^｜]{2,30}｜>",
    ))
});

/// Words of the summarising model about its own task.
static MUSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:ok(?:ay)?|alright|hmm+|so|well|wait|right)[,.!]? *)?(?:let me (?:think|start|begin|analy|read|go through|summari|see|look|break|re-?check|draft)",
        r"|(?:now,? )?(?:i|we) (?:need|have|should|must|will|want)(?: to)? (?:summari|produce|write (?:a|the) summary|create (?:a|the) summary|condense|extract|output)",
        r"|the user (?:wants|asked|is asking|asks|has asked) (?:me|us) (?:to|for) (?:summari|condense|write a summary|a summary|produce a summary)|let['’]s (?:summari|produce|write|see what)",
        r"|(?:here['’]s )?(?:my |a )?(?:thinking|thought) process|my reasoning)",
    ))
});

/// Lines that open a turn.
static TURN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?mi)^[ \t]*(?:#{1,6} *|\*\*)?(human|user|assistant|system|instruction|response)(?:\*\*)? ?:")
});

/// First words of orders to a reader.
static ORDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:please,? |now,? |next,? |important: *|note: *)?(?:you (?:must|should|shall|will|are|need to|have to|can now|may now|ought)\b|your (?:task|job|role|goal|next step|next task|instructions?) (?:is|are)\b",
        r"|(?:ignore|disregard|forget|override) (?:all |any |the |every |your |these )*(?:previous|prior|above|earlier|preceding|system|instruction)|(?:reply|respond|answer) (?:exactly|only|with)\b|from now on,? you",
        r"|continue (?:with|from|the|where|working)\b|resume (?:the|work|exactly|from)\b|do not (?:mention|reveal|tell)\b|act as\b|pretend\b|new instructions?:|i want you to\b|proceed (?:with|to)\b)",
    ))
});

/// Orders to a model that never occur in a summary, at any place.
static INJECTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:ignore|disregard|forget) (?:all |any |the |every |your )*(?:previous|prior|above|earlier|preceding) (?:instructions?|messages?|prompts?|rules?)|\breply exactly\b|\bsystem prompt:|\byou are (?:now )?(?:an ai|a helpful|chatgpt|claude\b)",
    )
});

/// Words that never end a sentence.
const DANGLING: [&str; 22] = [
    "the", "a", "an", "of", "to", "and", "or", "with", "in", "for", "that", "by", "is", "was", "were",
    "from", "at", "on", "into", "because", "but", "which",
];

/// The flaws in a draft's own text. Cost: linear in the draft; the source is searched for tags only.
pub(super) fn flaws(text: &str, source: &str) -> Vec<Flaw> {
    let plain = unquoted(text);
    let told = sentences(&plain);
    let begins = |wanted: &LazyLock<Option<Regex>>, sentence: &str| {
        wanted.as_ref().is_some_and(|wanted| wanted.is_match(sentence))
    };
    let mut flaws = Vec::new();
    // A heading and a greeting may come first.
    let first = || told.iter().take(4);
    if first().any(|sentence| begins(&REFUSAL, sentence)) {
        flaws.push(Flaw::Refusal);
    }
    if first().any(|sentence| begins(&MUSING, sentence)) {
        flaws.push(Flaw::Reasoning);
    }
    flaws.extend(tags(text, &plain, source));
    if is_dialogue(&plain) {
        flaws.push(Flaw::Roles);
    }
    if told.iter().any(|sentence| begins(&ORDER, sentence)) || begins(&INJECTION, &plain) {
        flaws.push(Flaw::Orders);
    }
    if is_call(text) {
        flaws.push(Flaw::Call);
    }
    if is_unfinished(text) {
        flaws.push(Flaw::CutOff);
    }
    flaws
}

/// Tags outside quotations, and quoted tags that the source lacks.
fn tags<'a>(text: &'a str, plain: &'a str, source: &'a str) -> impl Iterator<Item = Flaw> + 'a {
    let kind = |groups: &regex::Captures<'_>| {
        if groups.get(1).is_some() { Flaw::Reasoning } else { Flaw::Roles }
    };
    let all = |text: &'a str| TAGS.as_ref().into_iter().flat_map(move |tags| tags.captures_iter(text));
    let open = all(plain).map(move |groups| kind(&groups));
    let foreign = all(text).filter(|groups| !source.contains(groups.get_match().as_str()));
    open.chain(foreign.map(move |groups| kind(&groups)))
}

/// Whether a text has turns of two speakers, or a turn of a `Human:`.
fn is_dialogue(plain: &str) -> bool {
    let Some(turn) = TURN.as_ref() else { return false };
    let mut speakers: Vec<String> = turn
        .captures_iter(plain)
        .filter_map(|groups| groups.get(1).map(|group| group.as_str().to_ascii_lowercase()))
        .collect();
    speakers.sort_unstable();
    speakers.dedup();
    speakers.len() > 1 || speakers.iter().any(|speaker| speaker == "human")
}

/// Whether text is a JSON value that calls a tool.
fn is_call(text: &str) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_str(unfenced(text)) else { return false };
    let has = |key| fields.contains_key(key);
    has("tool_calls")
        || has("function_call")
        || (has("name") && (has("arguments") || has("input") || has("parameters")))
}

/// Whether the whole text is an error: `Some(true)` by its structure, `Some(false)` by its first words, which a summary
/// about errors may also have; `None` if neither.
pub(super) fn is_error_text(text: &str) -> Option<bool> {
    let text = unfenced(text);
    if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
        let has = |key| fields.contains_key(key);
        let kind = fields.get("type").and_then(Value::as_str) == Some("error");
        let coded = has("message") && (has("code") || has("status") || has("statusCode"));
        return (kind || has("error") || has("errors") || has("detail") || coded).then_some(true);
    }
    let start: String = text.chars().take(16).collect::<String>().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Some(true);
    }
    let short = text.len() <= 600 && text.lines().filter(|line| !line.trim().is_empty()).count() <= 4;
    (short && ERROR.as_ref().is_some_and(|error| error.is_match(text))).then_some(false)
}

/// Whether a text stops in the middle: an open fence, a bare list mark, or an impossible end of a sentence.
fn is_unfinished(text: &str) -> bool {
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let word = last.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let bare = matches!(last, "-" | "*" | "•" | "+") || last.ends_with([',', '(', '[', '{', '、', '，', '—']);
    let open = last.matches('`').count() % 2 == 1 && !last.starts_with("```");
    fences % 2 == 1 || bare || open || DANGLING.contains(&word)
}

/// The content of a single code fence around everything.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, body)| body.trim())
}

/// Quotation marks that open and close, besides the backtick.
const QUOTES: [(char, char); 5] = [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」')];

/// `text` with quotations and inline code replaced by `"…"`, and without fenced code.
pub(crate) fn unquoted(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            unquote_line(line, &mut plain);
            plain.push('\n');
        }
    }
    plain
}

fn unquote_line(line: &str, plain: &mut String) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let close = if c == '`' {
            Some('`')
        } else {
            QUOTES.iter().find(|(open, _)| *open == c).map(|(_, close)| *close)
        };
        if let Some((_, behind)) = close.and_then(|close| after.split_once(close)) {
            plain.push_str("\"…\"");
            rest = behind;
        } else {
            plain.push(c);
            rest = after;
        }
    }
}

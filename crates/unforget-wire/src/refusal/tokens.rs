//! Error types and codes, as tokens: lower case, without separators.

use super::forms::Class;
use super::{Breach, What};

/// Makes a token of a type or code: only letters and digits, lower case, without the part before `#` and behind `:`
/// (`com.amazon#ThrottlingException:http://…`), 64 bytes at most.
pub(super) fn squeeze(code: &str) -> String {
    let code = code.split(':').next().unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or_default();
    let letters = code.chars().filter(char::is_ascii_alphanumeric).take(64);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The meaning of an unambiguous code.
pub(super) fn strong(token: &str) -> Option<Class> {
    meaning(STRONG, token)
}

/// The meaning of a code in the absence of better evidence: proxies use these codes for any failure behind them.
pub(super) fn weak(token: &str) -> Option<Class> {
    meaning(WEAK, token)
}

/// Whether a code only says that the request is wrong, as a status of 400 does.
pub(super) fn is_invalid(token: &str) -> bool {
    ["invalidrequesterror", "invalidargument", "badrequest", "badrequesterror", "validationexception"]
        .contains(&token)
}

fn meaning(table: &[(Class, &[&str])], token: &str) -> Option<Class> {
    table.iter().find(|(_, tokens)| tokens.contains(&token)).map(|(class, _)| *class)
}

/// Source: the error references of the providers; for images, the list of the Responses API's
/// `response.error.code`.
const STRONG: &[(Class, &[&str])] = &[
    (
        Class::Overflow(What::Unspecified),
        &[
            "contextlengthexceeded",
            "contextwindowexceeded",
            "contextwindowexceedederror",
            "exceedcontextsizeerror",
            "modelcontextwindowexceeded",
            "prompttoolong",
            "tokenslimitreached",
        ],
    ),
    (Class::Overflow(What::RequestBytes), &["requesttoolarge", "requestentitytoolarge", "payloadtoolarge"]),
    (Class::Overflow(What::OneText), &["messagelengthexceedslimit"]),
    (Class::TooLong, &["stringabovemaxlength"]),
    (Class::TooMany, &["arrayabovemaxlength"]),
    (
        Class::Quota,
        &[
            "insufficientquota",
            "billingerror",
            "billinghardlimitreached",
            "billingnotactive",
            "paymentrequired",
            "insufficientbalance",
            "insufficientcredits",
            "usagelimitreached",
            "usagenotincluded",
            "servicequotaexceededexception",
        ],
    ),
    (
        Class::RateLimited,
        &[
            "ratelimitexceeded",
            "ratelimiterror",
            "ratelimitreached",
            "resourceexhausted",
            "throttlingexception",
            "toomanyrequests",
            "toomanyrequestsexception",
        ],
    ),
    (
        Class::Overloaded,
        &["overloadederror", "serverisoverloaded", "engineoverloaded", "slowdown", "modelnotreadyexception"],
    ),
    (
        Class::Auth,
        &[
            "authenticationerror",
            "permissionerror",
            "invalidapikey",
            "apikeyinvalid",
            "invalidauthentication",
            "unauthorized",
            "unauthenticated",
            "permissiondenied",
            "accessdeniedexception",
            "unrecognizedclientexception",
            "expiredtokenexception",
            "invalidsignatureexception",
        ],
    ),
    (
        Class::NotFound,
        &[
            "notfounderror",
            "modelnotfound",
            "modelnotexist",
            "notfound",
            "resourcenotfoundexception",
            "deploymentnotfound",
            "invalidmodel",
        ],
    ),
    (
        Class::Policy,
        &[
            "contentfilter",
            "contentpolicyviolation",
            "responsibleaipolicyviolation",
            "imagecontentpolicyviolation",
            "cyberpolicyviolation",
            "moderationblocked",
            "datainspectionfailed",
            "invalidprompt",
        ],
    ),
    (
        Class::BadImage,
        &[
            "invalidimage",
            "invalidimageformat",
            "invalidimageurl",
            "invalidimagemode",
            "invalidbase64image",
            "imagetoolarge",
            "imagetoosmall",
            "imageparseerror",
            "imagefiletoolarge",
            "imagefilenotfound",
            "unsupportedimagemediatype",
            "emptyimagefile",
            "failedtodownloadimage",
        ],
    ),
    (Class::Invalid(Breach::RoleOrder), &["invalidrequestmessageorder"]),
];

const WEAK: &[(Class, &[&str])] = &[
    (Class::Overloaded, &["unavailable", "serviceunavailable", "serviceunavailableexception", "overloaded"]),
    (
        Class::Server,
        &[
            "apierror",
            "servererror",
            "internal",
            "internalerror",
            "internalservererror",
            "internalserverexception",
            "modelerrorexception",
            "modelstreamerrorexception",
            "modeltimeoutexception",
            "timeouterror",
            "deadlineexceeded",
            "requesttimeout",
            "badgateway",
            "gatewaytimeout",
        ],
    ),
];

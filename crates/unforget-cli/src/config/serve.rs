//! The daemon's settings: the settings file's table `serve`, overridden by the command line.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use unforget_core::digest::Digest;
use unforget_gateway::{Api, Key, Recall, Upstream, Windows};
use unforget_server::serve::{Guard, Scope, Tls, Token, is_origin};

use super::check::{Checking, Voices, Wrong};
use super::{Env, From, Window};
use crate::failure::{Failure, Outcome};
use crate::overrides::ServeArgs;

/// Default address of the daemon.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8787);

/// Default limit of an upload in bytes: larger than any known transcript.
const UPLOAD_MAX: u64 = 4 << 30;

/// The table. An unknown key is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Serve {
    /// Address and port.
    listen: Option<SocketAddr>,
    /// Names of the daemon beside its address.
    hosts: Vec<String>,
    /// Origins whose pages may use the daemon.
    origins: Vec<String>,
    /// Tokens of permitted users.
    tokens: Vec<TokenSetting>,
    /// Providers in order of priority. By default, the providers' own addresses.
    upstreams: Vec<UpstreamSetting>,
    /// Windows of models.
    windows: BTreeMap<String, Window>,
    /// Most tokens of a prompt.
    cap: Option<Window>,
    /// `off`, `slot` or `tools`.
    recall: Option<String>,
    /// Certificate chain, PEM.
    tls_cert: Option<PathBuf>,
    /// Its private key, PEM.
    tls_key: Option<PathBuf>,
    /// Most bytes of a request.
    body_max: Option<usize>,
    /// Most bytes of requests in memory.
    bodies_max: Option<usize>,
    /// Most objects and lists of a request.
    pieces_max: Option<usize>,
    /// Most bytes of answers in memory.
    answers_max: Option<usize>,
    /// Most waiting calls of one conversation.
    lane_calls_max: Option<usize>,
    /// Seconds that a request waits for memory.
    wait_seconds: Option<u64>,
    /// Folder for backups made over HTTP.
    backups: Option<PathBuf>,
    /// Most bytes of an upload.
    upload_max: Option<u64>,
    /// Longest silence of a provider within an answer, in seconds.
    idle_seconds: Option<u64>,
    /// Seconds in which a repeated request of a client that went away counts as a retry.
    retry_seconds: Option<u64>,
    /// Why the table is not as somebody wrote it: it cannot be read.
    #[serde(skip)]
    misread: Option<Box<Failure>>,
}

/// A token: its digest only.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenSetting {
    /// Its tenant.
    tenant: String,
    /// BLAKE3 of the token, in hex.
    digest: String,
    /// `gateway`, `read`, `admin`; by default the first two.
    scopes: Option<Vec<String>>,
}

impl TokenSetting {
    fn token(&self) -> Result<Token, Wrong> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.tenant.is_empty() || self.tenant.len() > 64 || !self.tenant.chars().all(is_name) {
            let what = format!("{:?} is not a name of letters, digits, - _ .", self.tenant);
            return Err(Wrong::new("tenant", what, "give the tenant another name"));
        }
        let digest = Digest::from_hex(&self.digest).ok_or_else(|| {
            let next = "`unforget serve --new-token NAME` prints a token and the lines for it";
            Wrong::new("digest", format!("the digest of {} is not 64 hex digits", self.tenant), next)
        })?;
        let scopes = match &self.scopes {
            None => vec![Scope::Gateway, Scope::Read],
            Some(scopes) => {
                let scope = |scope: &String| {
                    scope.parse().map_err(|what| {
                        Wrong::new("scopes", what, "name one or more of gateway, read and admin")
                    })
                };
                scopes.iter().map(scope).collect::<Result<_, Wrong>>()?
            }
        };
        Ok(Token { tenant: self.tenant.as_str().into(), scopes, digest })
    }
}

/// A provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpstreamSetting {
    name: String,
    url: String,
    /// `anthropic`, `openai` or `any`.
    #[serde(default)]
    api: Option<String>,
    /// Its models.
    #[serde(default)]
    models: Vec<String>,
    /// Paths outside the served APIs that are its own.
    #[serde(default)]
    pass: Vec<String>,
    /// Name of the environment variable with the key to send instead of the client's.
    key_env: Option<String>,
    /// File with that key.
    key_file: Option<PathBuf>,
}

impl UpstreamSetting {
    fn upstream(&self, env: Env<'_>) -> Result<Upstream, Wrong> {
        let api = match self.api.as_deref() {
            Some("anthropic") => Api::Anthropic,
            Some("openai") => Api::OpenAi,
            Some("any") | None => Api::Any,
            Some(other) => {
                let what = format!("{other:?} is none of anthropic, openai, any");
                return Err(Wrong::new("api", what, "write one of these, or leave it out"));
            }
        };
        let key = self.key(env)?.map(|(from, key)| {
            Key::new(&key).ok_or_else(|| {
                Wrong::new(from, "the key cannot be sent in a header", "a key is one line of visible ASCII")
            })
        });
        let upstream = at(&self.name, &self.url, api).map_err(|what| Wrong::new("url", what, ADDRESS))?;
        if let Some(wrong) = self.pass.iter().find(|path| !path.starts_with('/')) {
            let what = format!("{wrong:?} begins with no slash");
            return Err(Wrong::new("pass", what, "write paths such as \"/v1beta/*\""));
        }
        let (models, pass) = (self.models.clone(), self.pass.clone());
        Ok(Upstream { models, pass, key: key.transpose()?, ..upstream })
    }

    /// The key, and the name of the setting that locates it.
    fn key(&self, env: Env<'_>) -> Result<Option<(&'static str, String)>, Wrong> {
        match (&self.key_env, &self.key_file) {
            (Some(_), Some(_)) => {
                Err(Wrong::new("key_env", "key_env and key_file are both named", "leave one of them out"))
            }
            // The name is not repeated: some people put the key itself there.
            (Some(name), None) => env(name).map(|key| Some(("key_env", key))).ok_or_else(|| {
                Wrong::new("key_env", "the variable is not set", "set it where the daemon is started")
            }),
            (None, Some(path)) => match fs::read_to_string(path) {
                Ok(key) => Ok(Some(("key_file", key))),
                Err(error) => {
                    let what = format!("{}: {error}", path.display());
                    Err(Wrong::new("key_file", what, "let the daemon's user read the file"))
                }
            },
            (None, None) => Ok(None),
        }
    }
}

/// Advice about the form of an address.
const ADDRESS: &str = "write it up to the part before /v1, such as https://api.openai.com";

/// All settings of the daemon.
pub(crate) struct Serving {
    pub(crate) listen: SocketAddr,
    pub(crate) tls: Option<Tls>,
    pub(crate) guard: Guard,
    pub(crate) gateway: unforget_gateway::Settings,
    /// Folder for backups made over HTTP.
    pub(crate) backups: Option<PathBuf>,
    /// Most bytes of an upload.
    pub(crate) upload_max: u64,
    /// Allowed settings that should be different, for the log.
    pub(crate) doubts: Vec<Wrong>,
}

impl Serve {
    /// The settings, overridden by the command line and the environment.
    ///
    /// # Errors
    /// The first problem.
    pub(crate) fn with(&self, args: &ServeArgs, env: Env<'_>) -> Outcome<Serving> {
        if let Some(misread) = &self.misread {
            return Err((**misread).clone());
        }
        let mut checking = Checking::new(env);
        let serving = self.check(args, &mut checking);
        if checking.wrongs.is_empty()
            && let Some(serving) = serving
        {
            return Ok(Serving { doubts: checking.doubts, ..serving });
        }
        let more = checking.wrongs.len().saturating_sub(1);
        let first = checking.wrongs.into_iter().next();
        let first = first.unwrap_or_else(|| Wrong::new("serve", "a setting is missing", ""));
        let all = if more > 0 {
            format!("{}; `unforget config check` has {more} more", first.next)
        } else {
            first.next.clone()
        };
        Err(Wrong { next: all, ..first }.failure())
    }

    /// The table of a file that cannot be read, with the reason.
    pub(super) fn unread(failure: Failure) -> Self {
        Self { misread: Some(Box::new(failure)), ..Self::default() }
    }

    /// Why the table cannot be read; `None` if it can.
    pub(crate) fn misread(&self) -> Option<&Failure> {
        self.misread.as_deref()
    }

    /// Checks the settings one by one, and collects all problems.
    pub(crate) fn looked_at<'a>(&self, args: &ServeArgs, env: Env<'a>) -> Checking<'a> {
        let mut checking = Checking::new(env);
        self.check(args, &mut checking);
        checking
    }

    fn check(&self, args: &ServeArgs, checking: &mut Checking<'_>) -> Option<Serving> {
        let voices = Voices {
            flag: args.listen,
            env: Some("UNFORGET_LISTEN"),
            file: self.listen,
            default: Some(LISTEN),
        };
        let listen = checking.one("serve.listen", voices, ToString::to_string);
        let tls = self.tls(args, checking);
        let guard = self.guard(checking);
        let upstreams = self.upstreams(args, checking);
        let windows = self.windows(args, checking);
        let gateway = self.gateway(checking);
        let backups = checking
            .one("serve.backups", file(self.backups.clone(), None), |path| path.display().to_string());
        let upload_max =
            checking.one("serve.upload_max", file(self.upload_max, Some(UPLOAD_MAX)), ToString::to_string);
        self.reach(listen?, tls.is_some(), checking);
        Some(Serving {
            listen: listen?,
            tls,
            guard,
            gateway: unforget_gateway::Settings { upstreams, windows, ..gateway? },
            backups,
            upload_max: upload_max?,
            doubts: Vec::new(),
        })
    }

    /// Checks who can reach the daemon.
    fn reach(&self, listen: SocketAddr, is_tls: bool, checking: &mut Checking<'_>) {
        if listen.ip().is_loopback() {
            return;
        }
        if self.tokens.is_empty() {
            let next = "make a token with `unforget serve --new-token NAME`, or listen on 127.0.0.1";
            let what = format!("{listen} can be reached by other machines, and no token is set");
            checking.wrongs.push(Wrong::new("serve.listen", what, next));
        }
        if !is_tls {
            let what =
                format!("{listen} can be reached by other machines, and the connection is not encrypted");
            let next = "set tls_cert and tls_key, or put a proxy with TLS in front";
            checking.doubts.push(Wrong::new("serve.listen", what, next));
        }
    }

    fn tls(&self, args: &ServeArgs, checking: &mut Checking<'_>) -> Option<Tls> {
        let show = |path: &PathBuf| path.display().to_string();
        let voices = |flag: &Option<PathBuf>, env, file: &Option<PathBuf>| Voices {
            flag: flag.clone(),
            env: Some(env),
            file: file.clone(),
            default: None,
        };
        let cert =
            checking.one("serve.tls_cert", voices(&args.tls_cert, "UNFORGET_TLS_CERT", &self.tls_cert), show);
        let key =
            checking.one("serve.tls_key", voices(&args.tls_key, "UNFORGET_TLS_KEY", &self.tls_key), show);
        let read = match (&cert, &key) {
            (None, None) => return None,
            (Some(_), None) => Err(Wrong::new("serve.tls_cert", "the certificate has no private key", "name the key with tls_key")),
            (None, Some(_)) => Err(Wrong::new("serve.tls_key", "the private key has no certificate", "name the certificate with tls_cert")),
            (Some(cert), Some(key)) => Tls::load(cert, key).map_err(|error| {
                let next = "tls_cert is the chain and tls_key its private key, both PEM and readable for the daemon's user";
                Wrong::new("serve.tls_cert", error.to_string(), next)
            }),
        };
        checking.keep(read)
    }

    fn guard(&self, checking: &mut Checking<'_>) -> Guard {
        let from = |is_said: bool| if is_said { From::File } else { From::Default };
        let list = |all: &[String]| (!all.is_empty()).then(|| all.join(", "));
        checking.show("serve.hosts", list(&self.hosts), from(!self.hosts.is_empty()));
        checking.show("serve.origins", list(&self.origins), from(!self.origins.is_empty()));
        for origin in self.origins.iter().filter(|origin| !is_origin(origin)) {
            let what = format!("{origin:?} is not the origin of a page");
            let next = "write it as browsers do, such as https://chat.example: in lower case, without a path and without *";
            checking.wrongs.push(Wrong::new("serve.origins", what, next));
        }
        let tenants: Vec<String> = self.tokens.iter().map(|token| token.tenant.clone()).collect();
        checking.show("serve.tokens", list(&tenants), from(!tenants.is_empty()));
        let mut tokens = Vec::new();
        for (index, token) in self.tokens.iter().enumerate() {
            let read = token.token().map_err(|wrong| wrong.below(&format!("serve.tokens[{index}]")));
            tokens.extend(checking.keep(read));
        }
        Guard { hosts: self.hosts.clone(), origins: self.origins.clone(), tokens, own: None }
    }

    fn upstreams(&self, args: &ServeArgs, checking: &mut Checking<'_>) -> Vec<Upstream> {
        let voices =
            Voices { flag: args.upstream.clone(), env: Some("UNFORGET_UPSTREAM"), file: None, default: None };
        let only = checking.one("serve.upstream", voices, Clone::clone);
        let mut upstreams = Vec::new();
        for (index, one) in self.upstreams.iter().enumerate() {
            let read = one.upstream(checking.env());
            let read = read.map_err(|wrong| wrong.below(&format!("serve.upstreams[{index}]")));
            upstreams.extend(checking.keep(read));
        }
        let from = match (&only, self.upstreams.is_empty()) {
            (Some(url), _) => {
                let read =
                    at("upstream", url, Api::Any).map_err(|what| Wrong::new("--upstream", what, ADDRESS));
                upstreams = checking.keep(read).into_iter().collect();
                From::Flag
            }
            (None, true) => {
                upstreams = Upstream::defaults();
                From::Default
            }
            (None, false) => From::File,
        };
        let names: Vec<String> =
            upstreams.iter().map(|upstream| format!("{} {}", upstream.name, upstream.url)).collect();
        if only.is_none() {
            checking.show("serve.upstreams", Some(names.join(", ")), from);
        }
        upstreams
    }

    fn windows(&self, args: &ServeArgs, checking: &mut Checking<'_>) -> Windows {
        let mut windows: BTreeMap<String, u64> = BTreeMap::new();
        for (model, window) in &self.windows {
            let read = tokens(&format!("serve.windows.{model:?}"), window);
            windows.extend(checking.keep(read).map(|window| (model.clone(), window)));
        }
        windows.extend(args.windows.iter().cloned());
        let from = match (args.windows.is_empty(), self.windows.is_empty()) {
            (false, _) => From::Flag,
            (true, false) => From::File,
            (true, true) => From::Default,
        };
        let text: Vec<String> = windows.iter().map(|(model, window)| format!("{model} {window}")).collect();
        checking.show("serve.windows", (!text.is_empty()).then(|| text.join(", ")), from);
        let cap = self.cap.as_ref().map(|cap| tokens("serve.cap", cap));
        let cap = cap.and_then(|cap| checking.keep(cap));
        let voices = Voices { flag: args.cap, env: None, file: cap, default: None };
        let cap = checking.one("serve.cap", voices, ToString::to_string);
        Windows { patterns: windows.into_iter().collect(), cap }
    }

    /// Checks the gateway's limits and its recall.
    fn gateway(&self, checking: &mut Checking<'_>) -> Option<unforget_gateway::Settings> {
        let usual = unforget_gateway::Settings::default();
        let recall = match self.recall.as_deref() {
            None | Some("off") => Recall::Off,
            Some("slot") => Recall::Slot,
            Some("tools") => Recall::Tools,
            Some(other) => {
                let what = format!("{other:?} is none of off, slot, tools");
                checking.wrongs.push(Wrong::new("serve.recall", what, "write one of these"));
                Recall::Off
            }
        };
        checking.one("serve.recall", file(self.recall.clone(), Some("off".to_owned())), Clone::clone);
        let mut number = |name, told: Option<usize>, usual| {
            checking.one(name, file(told, Some(usual)), ToString::to_string)
        };
        let body_max = number("serve.body_max", self.body_max, usual.body_max)?;
        let bodies_max = number("serve.bodies_max", self.bodies_max, body_max.saturating_mul(4))?;
        let pieces_max = number("serve.pieces_max", self.pieces_max, usual.pieces_max)?;
        let answers_max = number("serve.answers_max", self.answers_max, usual.answers_max)?;
        let lane_calls_max = number("serve.lane_calls_max", self.lane_calls_max, usual.lane_calls_max)?;
        let mut seconds = |name, told: Option<u64>, usual: Duration| {
            checking
                .one(name, file(told, Some(usual.as_secs())), ToString::to_string)
                .map(Duration::from_secs)
        };
        let wait = seconds("serve.wait_seconds", self.wait_seconds, usual.wait)?;
        let idle = seconds("serve.idle_seconds", self.idle_seconds, usual.idle)?;
        let retry_window = seconds("serve.retry_seconds", self.retry_seconds, usual.retry_window)?;
        if bodies_max / 2 < body_max {
            let what = format!("{bodies_max} is less than twice body_max ({body_max})");
            let next = "a packed request takes its bytes and those that it unpacks to";
            checking.wrongs.push(Wrong::new("serve.bodies_max", what, next));
        }
        if answers_max < ANSWERS_LEAST {
            let what = format!("{answers_max} is less than {ANSWERS_LEAST}");
            checking.wrongs.push(Wrong::new("serve.answers_max", what, "one answer may be as large"));
        }
        Some(unforget_gateway::Settings {
            recall,
            body_max,
            bodies_max,
            pieces_max,
            answers_max,
            lane_calls_max,
            wait,
            idle,
            retry_window,
            ..usual
        })
    }
}

/// Least memory for answers.
const ANSWERS_LEAST: usize = 64 << 20;

/// A setting that only the file can contain.
const fn file<T>(file: Option<T>, default: Option<T>) -> Voices<T> {
    Voices { flag: None, env: None, file, default }
}

fn at(name: &str, url: &str, api: Api) -> Result<Upstream, String> {
    Upstream::new(name, url, api)
}

fn tokens(setting: &str, window: &Window) -> Result<u64, Wrong> {
    window.tokens().map_err(|what| Wrong::new(setting, what, "write tokens, such as 32k or 200000"))
}

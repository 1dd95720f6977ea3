//! What the daemon serves: the settings file's table `serve`, and what the command line says instead.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use unforget_core::digest::Digest;
use unforget_server::gateway::{self, Api, Key, Recall, Upstream, Windows};
use unforget_server::serve::{Guard, Scope, Token};

use super::{Env, Window};
use crate::args::ServeArgs;
use crate::failure::{Failure, Outcome};

/// Where the daemon listens if nobody says.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8787);

/// Bytes of an upload at most, if nobody says: larger than any transcript seen.
const UPLOAD_MAX: u64 = 4 << 30;

/// The table. A word that it does not know is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Serve {
    /// Address and port.
    listen: Option<SocketAddr>,
    /// Names under which the daemon is reached beside its address.
    hosts: Vec<String>,
    /// Origins whose pages may use it.
    origins: Vec<String>,
    /// Who may use it.
    tokens: Vec<TokenSetting>,
    /// Providers, in the order in which they are looked at. Nothing said: the providers themselves.
    upstreams: Vec<UpstreamSetting>,
    /// Windows of models.
    windows: BTreeMap<String, Window>,
    /// No prompt is larger.
    cap: Option<Window>,
    /// `off` or `slot`.
    recall: Option<String>,
    /// Bytes of a request at most.
    body_max: Option<usize>,
    /// Folder that backups made over HTTP go to.
    backups: Option<PathBuf>,
    /// Bytes of an upload at most.
    upload_max: Option<u64>,
    /// Seconds that a provider may be silent within an answer.
    idle_seconds: Option<u64>,
    /// Seconds in which the same request of a client that went away is a retry.
    retry_seconds: Option<u64>,
}

/// A token: its digest only.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenSetting {
    /// Whose conversations it is for.
    tenant: String,
    /// BLAKE3 of the token, in hex.
    digest: String,
    /// `gateway`, `read`, `admin`; nothing said: the first two.
    scopes: Option<Vec<String>>,
}

impl TokenSetting {
    fn token(&self) -> Outcome<Token> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.tenant.is_empty() || self.tenant.len() > 64 || !self.tenant.chars().all(is_name) {
            return Err(wrong(format!(
                "token: tenant = {:?} is no name of letters, digits, - _ .",
                self.tenant
            )));
        }
        let digest = Digest::from_hex(&self.digest);
        let digest = digest
            .ok_or_else(|| wrong(format!("token of {}: its digest is not 64 hex digits", self.tenant)))?;
        let scopes = match &self.scopes {
            None => vec![Scope::Gateway, Scope::Read],
            Some(scopes) => {
                scopes.iter().map(|scope| scope.parse().map_err(wrong)).collect::<Outcome<_>>()?
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
    /// Models that go to it.
    #[serde(default)]
    models: Vec<String>,
    /// Name of the environment variable that holds the key to send in place of the client's.
    key_env: Option<String>,
    /// File that holds it.
    key_file: Option<PathBuf>,
}

/// All that the daemon needs.
pub(crate) struct Serving {
    pub(crate) listen: SocketAddr,
    pub(crate) guard: Guard,
    pub(crate) gateway: gateway::Settings,
    /// Folder of backups made over HTTP.
    pub(crate) backups: Option<PathBuf>,
    /// Bytes of an upload at most.
    pub(crate) upload_max: u64,
}

impl Serve {
    /// The settings with what the command line says instead.
    pub(crate) fn with(&self, args: &ServeArgs, env: Env<'_>) -> Outcome<Serving> {
        let mut upstreams =
            self.upstreams.iter().map(|one| one.upstream(env)).collect::<Outcome<Vec<_>>>()?;
        if let Some(url) = &args.upstream {
            upstreams = vec![at("upstream", url, Api::Any)?];
        } else if upstreams.is_empty() {
            upstreams = Upstream::defaults();
        }
        let mut windows: BTreeMap<String, u64> = BTreeMap::new();
        for (model, window) in &self.windows {
            windows.insert(
                model.clone(),
                window.tokens().map_err(|what| wrong(format!("windows.{model}: {what}")))?,
            );
        }
        windows.extend(args.windows.iter().cloned());
        let cap = self.cap.as_ref().map(Window::tokens).transpose();
        let cap = args.cap.or(cap.map_err(|what| wrong(format!("cap: {what}")))?);
        let recall = match self.recall.as_deref() {
            None | Some("off") => Recall::Off,
            Some("slot") => Recall::Slot,
            Some("tools") => Recall::Tools,
            Some(other) => return Err(wrong(format!("recall = {other:?} is none of off, slot, tools"))),
        };
        let listen = args.listen.or(self.listen).unwrap_or(LISTEN);
        let tokens = self.tokens.iter().map(TokenSetting::token).collect::<Outcome<Vec<_>>>()?;
        if tokens.is_empty() && !listen.ip().is_loopback() {
            let hint = "make a token with `unforget serve --new-token NAME`, or listen on 127.0.0.1";
            return Err(Failure::input(
                "settings",
                format!("{listen} is reached by other machines, and no token is set"),
                hint,
            ));
        }
        let guard = Guard { hosts: self.hosts.clone(), origins: self.origins.clone(), tokens };
        let defaults = gateway::Settings::default();
        let seconds = |told: Option<u64>, default| told.map_or(default, Duration::from_secs);
        Ok(Serving {
            listen,
            guard,
            backups: self.backups.clone(),
            upload_max: self.upload_max.unwrap_or(UPLOAD_MAX),
            gateway: gateway::Settings {
                upstreams,
                windows: Windows { patterns: windows.into_iter().collect(), cap },
                recall,
                body_max: self.body_max.unwrap_or(defaults.body_max),
                silence: defaults.silence,
                idle: seconds(self.idle_seconds, defaults.idle),
                retry_window: seconds(self.retry_seconds, defaults.retry_window),
            },
        })
    }
}

impl UpstreamSetting {
    fn upstream(&self, env: Env<'_>) -> Outcome<Upstream> {
        let api = match self.api.as_deref() {
            Some("anthropic") => Api::Anthropic,
            Some("openai") => Api::OpenAi,
            Some("any") | None => Api::Any,
            Some(other) => {
                return Err(wrong(format!(
                    "upstream {}: api = {other:?} is none of anthropic, openai, any",
                    self.name
                )));
            }
        };
        let key = match (&self.key_env, &self.key_file) {
            (Some(_), Some(_)) => {
                return Err(wrong(format!("upstream {}: key_env and key_file are both named", self.name)));
            }
            (Some(name), None) => {
                let key = env(name).ok_or_else(|| {
                    wrong(format!("upstream {}: the variable of its key is not set", self.name))
                })?;
                Some(key)
            }
            (None, Some(path)) => {
                Some(fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?)
            }
            (None, None) => None,
        };
        let key = key.map(|key| {
            Key::new(&key)
                .ok_or_else(|| wrong(format!("upstream {}: its key is no header's value", self.name)))
        });
        Ok(Upstream { models: self.models.clone(), key: key.transpose()?, ..at(&self.name, &self.url, api)? })
    }
}

fn at(name: &str, url: &str, api: Api) -> Outcome<Upstream> {
    Upstream::new(name, url, api).map_err(|what| wrong(format!("upstream {name}: {what}")))
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::input("settings", format!("serve: {}", message.into()), "see docs/serve.md")
}

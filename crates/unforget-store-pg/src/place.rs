//! The address of a database.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};

/// Silence of a connection after which the system asks whether the server is there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The address of a PostgreSQL database. Its texts leave out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PgPlace {
    config: tokio_postgres::Config,
}

impl PgPlace {
    /// Whether a text is meant as the address of a server and as no file: it begins with a scheme, such as `postgres://`, or is
    /// another spelling of such an address. A file of that name would show its password to everyone.
    pub fn is_meant(text: &str) -> bool {
        let text = text.trim_start().to_ascii_lowercase();
        let has_scheme = text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        has_scheme
            || ["postgres:", "postgresql:", "jdbc:"].iter().any(|scheme| text.starts_with(scheme))
            || text.contains("host=") && (text.contains("password=") || text.contains("user="))
    }

    /// The driver's settings.
    pub(crate) const fn config(&self) -> &tokio_postgres::Config {
        &self.config
    }

    fn hosts(&self) -> String {
        let names = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        names.enumerate().map(|(at, name)| format!("{name}:{}", port(at))).collect::<Vec<_>>().join(",")
    }
}

impl FromStr for PgPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err("the address of a database begins with postgres://, in small letters and with nothing before it".to_owned());
        }
        // The driver's message names the option, never its value.
        let mut config = tokio_postgres::Config::from_str(text).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("the address names no host: postgres://user@host/database".to_owned());
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err(
                "connections with TLS are not supported yet: leave sslmode out, and reach the server by a \
                 Unix socket, by loopback or through a tunnel"
                    .to_owned(),
            );
        }
        if let Some(wrong) = config.get_hosts().iter().find_map(unfit) {
            return Err(wrong.to_owned());
        }
        // Connections go to the numeric addresses where there are some, whatever the hosts are called.
        let is_far = |host: &Host| matches!(host, Host::Tcp(name) if !is_loopback(name));
        let goes_far = config.get_hosts().iter().any(is_far)
            || config.get_hostaddrs().iter().any(|address| !address.is_loopback());
        if goes_far && config.get_ssl_mode() != SslMode::Disable {
            return Err(
                "the connection would not be encrypted, since TLS is not supported yet: reach the server \
                 through a tunnel, or add sslmode=disable if the network between is trusted"
                    .to_owned(),
            );
        }
        // A connection that is long idle may be gone without a word.
        config.keepalives_idle(KEEPALIVE);
        if config.get_application_name().is_none() {
            config.application_name("unforget");
        }
        Ok(Self { config })
    }
}

/// What is wrong with a host. It may be the rest of a password, so it is not repeated.
fn unfit(host: &Host) -> Option<&'static str> {
    let is_cut = matches!(host, Host::Tcp(name) if name.contains('@'));
    is_cut.then_some("the password has an @, at which the address is cut: write it as %40")
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for PgPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        write!(f, "postgres://{user}{}/{database}", self.hosts())
    }
}

impl fmt::Debug for PgPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgPlace({self})")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn addresses_are_told_from_files() {
        let table = [
            ("postgres://h/d", true, "an address"),
            (" postgres://ann:secret@h/d", true, "behind a space"),
            ("Postgresql:ann:secret@h", true, "without slashes"),
            ("jdbc:postgresql://h/d", true, "of Java"),
            ("host=h user=ann password=secret", true, "of libpq"),
            ("mysql://h/d", true, "of another server"),
            ("/home/ann/postgres.sqlite", false, "a file"),
            ("notes/host=x.sqlite", false, "a file with a strange name"),
            (r"C:\\notes.sqlite", false, "a file with a drive"),
        ];
        for (text, want, why) in table {
            assert_eq!(PgPlace::is_meant(text), want, "{why}");
        }
    }

    #[test]
    fn addresses_show_no_password() {
        let table = [
            (
                "postgres://ann:secret@db.example/notes?sslmode=disable",
                Ok("postgres://ann@db.example:5432/notes"),
            ),
            ("postgres://ann:secret@localhost/notes", Ok("postgres://ann@localhost:5432/notes")),
            ("postgres://ann:secret@db.example/notes", Err("not be encrypted")),
            ("postgres://ann:secret@127.0.0.1/notes?hostaddr=192.0.2.2", Err("not be encrypted")),
            (
                "postgres://ann:secret@localhost/notes?hostaddr=127.0.0.1",
                Ok("postgres://ann@localhost:5432/notes"),
            ),
            (" postgres://ann:secret@127.0.0.1/notes", Err("begins with")),
            ("jdbc:postgresql://127.0.0.1/notes?password=secret", Err("begins with")),
            ("postgres://ann:s@cret@127.0.0.1/notes", Err("%40")),
            ("Postgres://ann:secret@127.0.0.1/notes", Err("small letters")),
            ("postgresql://ann@127.0.0.1:5433/notes", Ok("postgres://ann@127.0.0.1:5433/notes")),
            (
                "postgres://ann@a,b/notes?target_session_attrs=read-write&sslmode=disable",
                Ok("postgres://ann@a:5432,b:5432/notes"),
            ),
            (
                "postgres:///notes?host=/run/postgresql&user=ann",
                Ok("postgres://ann@/run/postgresql:5432/notes"),
            ),
            ("postgres://ann@h/notes?sslmode=require", Err("TLS")),
            ("postgres://ann@h/notes?colour=red", Err("colour")),
            ("postgres:///notes", Err("no host")),
            ("notes.sqlite", Err("begins with")),
        ];
        for (text, want) in table {
            match (text.parse::<PgPlace>(), want) {
                (Ok(place), Ok(want)) => {
                    assert_eq!(place.to_string(), want);
                    assert!(!format!("{place:?}").contains("secret"));
                }
                (Err(why), Err(want)) => {
                    assert!(why.contains(want) && !why.contains("cret"), "{text}: {why}");
                }
                (found, want) => assert_eq!(
                    found.map(|place| place.to_string()),
                    want.map(str::to_owned).map_err(str::to_owned)
                ),
            }
        }
    }
}

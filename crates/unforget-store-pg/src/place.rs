//! The address of a database.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::Host;

use crate::tls::Protection;

/// Silence of a connection after which the system asks whether the server is there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The address of a PostgreSQL database. Its texts leave out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PgPlace {
    config: tokio_postgres::Config,
    protection: Protection,
    /// As it was given.
    given: String,
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

    /// The address as it was given, with its password: for the environment of a process that is started, not for people.
    pub fn with_password(&self) -> &str {
        &self.given
    }

    /// The driver's settings.
    pub(crate) const fn config(&self) -> &tokio_postgres::Config {
        &self.config
    }

    /// How connections are protected.
    pub(crate) const fn protection(&self) -> &Protection {
        &self.protection
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
        let Asked { address, protection, is_said } = Asked::of(text)?;
        // The driver's message names the option, never its value.
        let mut config = tokio_postgres::Config::from_str(&address).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("the address names no host: postgres://user@host/database".to_owned());
        }
        if let Some(wrong) = config.get_hosts().iter().find_map(unfit) {
            return Err(wrong.to_owned());
        }
        // Connections go to the numeric addresses where there are some, whatever the hosts are called.
        let is_far = |host: &Host| matches!(host, Host::Tcp(name) if !is_loopback(name));
        let goes_far = config.get_hosts().iter().any(is_far)
            || config.get_hostaddrs().iter().any(|address| !address.is_loopback());
        if !is_said && goes_far {
            return Err(
                "the address does not say how the connection is protected: add sslmode=verify-full (encrypted, and the \
                 server shows its certificate), sslmode=require (encrypted, whoever answers), or sslmode=disable if the \
                 network between is trusted"
                    .to_owned(),
            );
        }
        if protection != Protection::Plain
            && config.get_hosts().iter().any(|host| !matches!(host, Host::Tcp(_)))
        {
            return Err("a Unix socket has no TLS: leave sslmode out".to_owned());
        }
        // A connection that is long idle may be gone without a word.
        config.keepalives_idle(KEEPALIVE);
        if config.get_application_name().is_none() {
            config.application_name("unforget");
        }
        Ok(Self { config, protection, given: text.to_owned() })
    }
}

/// An address, and the protection that it asks for in the words of libpq.
struct Asked {
    /// The address for the driver, which knows fewer words.
    address: String,
    protection: Protection,
    /// Whether it says anything of protection.
    is_said: bool,
}

impl Asked {
    fn of(text: &str) -> Result<Self, String> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(decoded(value)),
                _ => rest.push(option),
            }
        }
        let protection = match mode {
            None | Some("disable") => Protection::Plain,
            Some("require") => Protection::Encrypted,
            Some("verify-full") => {
                let roots = roots.as_ref().filter(|file| *file != "system").map(PathBuf::from);
                Protection::Verified { roots }
            }
            Some(_) => return Err("sslmode is one of verify-full, require, disable".to_owned()),
        };
        if roots.is_some() && !matches!(protection, Protection::Verified { .. }) {
            return Err(
                "sslrootcert, the file with trusted certificates, needs sslmode=verify-full".to_owned()
            );
        }
        rest.extend(mode.map(|mode| if mode == "disable" { "sslmode=disable" } else { "sslmode=require" }));
        let options = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        Ok(Self { address: format!("{base}{options}"), protection, is_said: mode.is_some() })
    }
}

/// A value of an address with its `%` forms replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = code.and_then(|_| after.get(2..)).unwrap_or(after);
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
            ("postgres://ann:secret@db.example/notes", Err("sslmode=verify-full")),
            ("postgres://ann:secret@127.0.0.1/notes?hostaddr=192.0.2.2", Err("sslmode=verify-full")),
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
            ("postgres://ann@h/notes?sslmode=require", Ok("postgres://ann@h:5432/notes")),
            (
                "postgres://ann@h/notes?sslmode=verify-full&sslrootcert=%2Fhome%2Fann%2Fca.pem&connect_timeout=3",
                Ok("postgres://ann@h:5432/notes"),
            ),
            ("postgres://ann@h/notes?sslmode=prefer", Err("one of verify-full")),
            ("postgres://ann@h/notes?sslmode=require&sslrootcert=ca.pem", Err("needs sslmode=verify-full")),
            ("postgres:///notes?host=/run/postgresql&user=ann&sslmode=require", Err("Unix socket")),
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

    #[test]
    fn protection_is_what_the_address_asks_for() {
        let verified = |roots: Option<&str>| Protection::Verified { roots: roots.map(PathBuf::from) };
        let table = [
            ("postgres://ann@127.0.0.1/notes", Protection::Plain),
            ("postgres://ann@h/notes?sslmode=disable", Protection::Plain),
            ("postgres://ann@h/notes?sslmode=require", Protection::Encrypted),
            ("postgres://ann@h/notes?sslmode=verify-full", verified(None)),
            ("postgres://ann@h/notes?sslmode=verify-full&sslrootcert=system", verified(None)),
            (
                "postgres://ann@h/notes?sslrootcert=/a%20b%zz/ca.pem&sslmode=verify-full",
                verified(Some("/a b%zz/ca.pem")),
            ),
        ];
        for (text, want) in table {
            assert_eq!(*text.parse::<PgPlace>().unwrap().protection(), want, "{text}");
        }
    }
}

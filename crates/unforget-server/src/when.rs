//! Times as people write and read them, in their time zone (`TZ`, or the system's).

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp as Instant, Unit, Zoned};
use unforget_core::id::Timestamp;

/// What [`Clock::parse`] knows, for people.
pub const FORMS: &str = "write 7d, 12h, yesterday, 2026-03-02, 2026-03-02T09:00 or 2026-03-02T09:00:00Z";

/// The moment and the place from which times are told.
#[derive(Clone, Debug)]
pub struct Clock {
    now: Zoned,
}

impl Clock {
    /// This machine's.
    pub fn here() -> Self {
        Self { now: Instant::now().to_zoned(system_zone()) }
    }

    /// A time relative to now, at most twelve characters wide: `5 min ago`, `yesterday`, `Mon 14:02`, `2 Mar`, `2 Mar 2025`. Empty for invalid
    /// times.
    pub fn short(&self, time: Timestamp) -> String {
        let Some(then) = self.zoned(time) else { return String::new() };
        let seconds = self.now.timestamp().as_second() - then.timestamp().as_second();
        match seconds {
            i64::MIN..-60 => then.strftime("%F %H:%M").to_string(),
            -60..60 => "just now".to_owned(),
            60..3_600 => format!("{} min ago", seconds / 60),
            3_600..43_200 => format!("{} h ago", seconds / 3_600),
            _ => self.days_ago(&then),
        }
    }

    fn days_ago(&self, then: &Zoned) -> String {
        let days = then.date().until((Unit::Day, self.now.date())).map_or(i32::MAX, |span| span.get_days());
        let format = match days {
            ..=0 => "%H:%M",
            1 => return "yesterday".to_owned(),
            2..=6 => "%a %H:%M",
            _ if then.year() == self.now.year() => "%-d %b",
            _ => "%-d %b %Y",
        };
        then.strftime(format).to_string()
    }

    /// A time to the minute, with its day.
    pub fn full(&self, time: Timestamp) -> String {
        self.zoned(time).map_or_else(String::new, |then| then.strftime("%F %H:%M").to_string())
    }

    fn zoned(&self, time: Timestamp) -> Option<Zoned> {
        let instant = Instant::from_millisecond(time.0).ok()?;
        Some(instant.to_zoned(self.now.time_zone().clone()))
    }

    /// The beginning of a period: `7d`, `12h`, `30m`, `2w`, `today`, `yesterday`, a day, a time. Days and times are those of the person's zone.
    /// `None` for any other text; [`FORMS`] says what is known.
    pub fn parse(&self, text: &str) -> Option<Timestamp> {
        let found = self.ago(text).or_else(|| self.day(text)).or_else(|| {
            let civil = text.parse::<DateTime>();
            let instant = text.parse::<Instant>();
            let zoned = civil.and_then(|civil| civil.to_zoned(self.now.time_zone().clone()));
            instant.or_else(|_| zoned.map(|zoned| zoned.timestamp())).ok()
        });
        found.map(|instant| Timestamp(instant.as_millisecond()))
    }

    /// The day of a time, and its weekday from 0 for Monday; `None` for invalid times.
    pub fn day_of(&self, time: Timestamp) -> Option<(Date, i8)> {
        let date = self.zoned(time)?.date();
        Some((date, date.weekday().to_monday_zero_offset()))
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.now.timestamp().as_millisecond())
    }

    /// Today.
    pub fn today(&self) -> Date {
        self.now.date()
    }

    fn ago(&self, text: &str) -> Option<Instant> {
        let at = text.find(|one: char| !one.is_ascii_digit())?;
        let (count, unit) = (text.get(..at)?.parse::<i64>().ok()?, text.get(at..)?);
        let span = Span::new();
        let span = match unit {
            "m" | "min" => span.try_minutes(count),
            "h" => span.try_hours(count),
            "d" => span.try_days(count),
            "w" => span.try_weeks(count),
            _ => return None,
        };
        span.and_then(|span| self.now.checked_sub(span)).ok().map(|zoned| zoned.timestamp())
    }

    fn day(&self, text: &str) -> Option<Instant> {
        let day = match text {
            "today" => self.now.date(),
            "yesterday" => self.now.date().yesterday().ok()?,
            _ => text.parse::<Date>().ok().filter(|_| text.len() <= 10)?,
        };
        let first = day.to_datetime(Time::midnight()).to_zoned(self.now.time_zone().clone());
        first.ok().map(|zoned| zoned.timestamp())
    }
}

/// The zone of this machine: that of `TZ`, else of `/etc/localtime`. The file is read as it is: to learn the name of its zone,
/// every zone of the system would be listed, at the start of each command.
pub fn system_zone() -> TimeZone {
    let is_named = std::env::var_os("TZ").is_some_and(|name| !name.is_empty());
    let local = std::fs::read("/etc/localtime").ok().filter(|_| !is_named);
    local.and_then(|local| TimeZone::tzif("Local", &local).ok()).unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a Wednesday, two hours east of Greenwich.
    fn clock() -> Clock {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = "2026-03-04T10:00:00Z".parse::<Instant>().unwrap_or_default();
        Clock { now: now.to_zoned(zone) }
    }

    #[test]
    fn the_zone_is_that_of_the_system() {
        for time in
            ["1999-07-01T00:00:00Z", "2026-01-04T10:00:00Z", "2026-07-04T10:00:00Z", "2060-07-04T10:00:00Z"]
        {
            let instant = time.parse::<Instant>().unwrap_or_default();
            let (ours, known) = (system_zone(), TimeZone::system());
            assert_eq!(ours.to_offset(instant), known.to_offset(instant), "{time}");
        }
    }

    #[test]
    fn told_table() {
        let table = [
            ("2026-03-04T09:59:30Z", "just now"),
            ("2026-03-04T09:30:00Z", "30 min ago"),
            ("2026-03-04T07:00:00Z", "3 h ago"),
            ("2026-03-03T22:30:00Z", "11 h ago"),
            ("2026-03-03T10:00:00Z", "yesterday"),
            ("2026-03-02T10:00:00Z", "Mon 12:00"),
            ("2026-01-02T23:00:00Z", "3 Jan"),
            ("2025-01-02T10:00:00Z", "2 Jan 2025"),
            ("2026-03-04T11:00:00Z", "2026-03-04 13:00"),
        ];
        for (time, want) in table {
            let at = time.parse::<Instant>().unwrap_or_default().as_millisecond();
            assert_eq!(clock().short(Timestamp(at)), want, "{time}");
        }
        assert_eq!(clock().full(Timestamp(0)), "1970-01-01 02:00");
        assert_eq!(clock().short(Timestamp(i64::MAX)), "");
    }

    #[test]
    fn typed_table() {
        let table = [
            ("7d", Some("2026-02-25T10:00:00Z"), "days"),
            ("2w", Some("2026-02-18T10:00:00Z"), "weeks"),
            ("90m", Some("2026-03-04T08:30:00Z"), "minutes"),
            ("today", Some("2026-03-03T22:00:00Z"), "midnight in the zone"),
            ("yesterday", Some("2026-03-02T22:00:00Z"), "the day before"),
            ("2026-02-01", Some("2026-01-31T22:00:00Z"), "a day of the zone"),
            ("2026-02-01T09:00", Some("2026-02-01T07:00:00Z"), "a time of the zone"),
            ("2026-02-01T09:00:00Z", Some("2026-02-01T09:00:00Z"), "an instant"),
            ("soonish", None, "no time"),
            ("7y", None, "no unit"),
            ("99999999999999999999d", None, "too many"),
            ("", None, "nothing"),
        ];
        for (text, want, why) in table {
            let want = want.and_then(|want| want.parse::<Instant>().ok());
            let got = clock().parse(text).map(|time| time.0);
            assert_eq!(got, want.map(Instant::as_millisecond), "{why}: {text}");
        }
    }
}

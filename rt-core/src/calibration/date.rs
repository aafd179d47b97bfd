//! Days and moments of the Gregorian calendar, as calibrations state them.

use crate::record::name;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day, as `2026-11-18`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    /// Days since 1970-01-01.
    days: i64,
}

/// A moment in UTC to the second, as `2026-11-18T10:15:03Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment {
    /// Seconds since 1970.
    seconds: i64,
}

/// A text that is no day or moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}; expected {form}")]
pub struct BadDate {
    text: String,
    what: &'static str,
    form: &'static str,
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Days since 1970-01-01 of a day of the Gregorian calendar. Years begin in March here, so that the leap day
/// is their last; 400 years have 146 097 days.
fn days_from(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970-01-01: the other way round.
fn civil_from(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Whole numbers of fixed width, separated as in a pattern: `split("2026-11-18", &[4, 2, 2], "--")`.
fn numbers(text: &str, widths: &[usize], separators: &str) -> Option<Vec<i64>> {
    let mut rest = text;
    let mut separators = separators.chars();
    let mut found = Vec::new();
    for (i, width) in widths.iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(separators.next()?)?;
        }
        let digits = rest.get(..*width)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        found.push(digits.parse().ok()?);
        rest = &rest[*width..];
    }
    rest.is_empty().then_some(found)
}

impl Date {
    /// The day that calendars on the wall show here.
    pub fn today() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (year, month, day) = name::Moment::local(since_1970.as_nanos() as u64).date;
        Self {
            days: days_from(year.into(), month.into(), day.into()),
        }
    }

    /// Reads `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Result<Self, BadDate> {
        let bad = || BadDate {
            text: text.to_owned(),
            what: "day",
            form: "YYYY-MM-DD, for example 2026-11-18",
        };
        let parts = numbers(text, &[4, 2, 2], "--").ok_or_else(bad)?;
        let (year, month, day) = (parts[0], parts[1], parts[2]);
        let days = days_from(year, month, day);
        // The 31st of November comes back as the 1st of December.
        if (1..=12).contains(&month) && civil_from(days) == (year, month, day) {
            Ok(Self { days })
        } else {
            Err(bad())
        }
    }

    /// So many days later.
    pub fn plus_days(self, days: i64) -> Self {
        Self {
            days: self.days + days,
        }
    }

    /// How many days this is after another; negative if it is before.
    pub fn days_after(self, other: Self) -> i64 {
        self.days - other.days
    }
}

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            seconds: since_1970.as_secs() as i64,
        }
    }

    /// Its day in UTC.
    pub fn date(self) -> Date {
        Date {
            days: self.seconds.div_euclid(SECONDS_PER_DAY),
        }
    }

    /// Reads `YYYY-MM-DDThh:mm:ssZ`.
    pub fn parse(text: &str) -> Result<Self, BadDate> {
        let bad = || BadDate {
            text: text.to_owned(),
            what: "moment",
            form: "YYYY-MM-DDThh:mm:ssZ, for example 2026-11-18T10:15:03Z",
        };
        let (date, time) = text.split_once('T').ok_or_else(bad)?;
        let date = Date::parse(date).map_err(|_| bad())?;
        let time = time.strip_suffix('Z').ok_or_else(bad)?;
        let parts = numbers(time, &[2, 2, 2], "::").ok_or_else(bad)?;
        if parts[0] > 23 || parts[1] > 59 || parts[2] > 59 {
            return Err(bad());
        }
        Ok(Self {
            seconds: date.days * SECONDS_PER_DAY + parts[0] * 3600 + parts[1] * 60 + parts[2],
        })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from(self.days);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.seconds.rem_euclid(SECONDS_PER_DAY);
        write!(
            f,
            "{}T{:02}:{:02}:{:02}Z",
            self.date(),
            s / 3600,
            s / 60 % 60,
            s % 60
        )
    }
}

impl TryFrom<String> for Date {
    type Error = BadDate;

    fn try_from(text: String) -> Result<Self, BadDate> {
        Self::parse(&text)
    }
}

impl TryFrom<String> for Moment {
    type Error = BadDate;

    fn try_from(text: String) -> Result<Self, BadDate> {
        Self::parse(&text)
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted day by day from 1970-01-01 over more than 400 years, with the rule of leap years alone.
    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let is_leap = |y: i64| (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..160_000 {
            assert_eq!(civil_from(days), (year, month, day));
            assert_eq!(days_from(year, month, day), days);
            let length = match month {
                2 => 28 + i64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    #[test]
    fn texts_come_back_and_wrong_ones_are_refused_with_the_form() {
        let day = Date::parse("2028-02-29").unwrap();
        assert_eq!(day.to_string(), "2028-02-29");
        assert_eq!(day.plus_days(366).to_string(), "2029-03-01");
        assert_eq!(Date::parse("2029-03-01").unwrap().days_after(day), 366);
        let moment = Moment::parse("2026-11-18T10:15:03Z").unwrap();
        // `date -u -d 2026-11-18T10:15:03 +%s`
        assert_eq!(
            (moment.seconds, moment.to_string().as_str()),
            (1_794_996_903, "2026-11-18T10:15:03Z")
        );
        assert_eq!(moment.date().to_string(), "2026-11-18");
        for bad in [
            "2026-02-30",
            "2026-13-01",
            "26-01-01",
            "2026-1-1",
            "2026-01-01x",
            "",
            "2026–01–01",
        ] {
            let text = Date::parse(bad).unwrap_err().to_string();
            assert!(text.contains("YYYY-MM-DD"), "{text}");
        }
        for bad in [
            "2026-11-18",
            "2026-11-18T24:00:00Z",
            "2026-11-18T10:15:03",
            "2026-11-18T+1:15:03Z",
        ] {
            assert!(Moment::parse(bad).is_err(), "{bad}");
        }
    }
}

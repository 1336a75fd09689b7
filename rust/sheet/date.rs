//! Dates and times of workbooks: serial numbers of days as number formats show them.

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
/// Days from 1970-01-01 to 1899-12-30, and to 1904-01-01.
const FIRST_DAY: i64 = -25_569;
const FIRST_DAY_1904: i64 = -24_107;
/// The serial number of 9999-12-31.
const LAST: i64 = 2_958_465;
/// 1900-02-29, which is counted; serial numbers before it are a day behind.
const FALSE_LEAP_DAY: i64 = 60;
const SECONDS: i128 = 86_400;
/// Decimals of a second.
const MOST_DECIMALS: u32 = 9;

/// A format of dates, times or elapsed times.
#[derive(Debug, Clone, Default)]
pub struct DateFormat {
    pieces: Vec<Piece>,
    decimals: u32,
    is_elapsed: bool,
    is_half_day: bool,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Year {
        is_short: bool,
    },
    Month(Name),
    Day(Name),
    Hour(usize),
    Minute(usize),
    Second(usize),
    Half {
        is_short: bool,
    },
    /// Seconds in a unit, and digits at least.
    Elapsed(i128, usize),
    /// A decimal of a second, from 0.
    Decimal(usize),
}

/// How a month or a day of the week or month is written.
#[derive(Debug, Clone, Copy)]
enum Name {
    Number(usize),
    Short,
    Initial,
    Full,
}

impl DateFormat {
    /// Returns the format of tokens, each with its kind: those that the front parses.
    pub fn new(tokens: &[(String, String)]) -> Self {
        let fields: Vec<&str> = tokens
            .iter()
            .filter(|(kind, _)| kind == "date")
            .map(|(_, text)| &**text)
            .collect();
        let mut format = Self {
            is_elapsed: fields.iter().any(|field| field.starts_with('[')),
            is_half_day: fields.iter().any(|field| matches!(*field, "am/pm" | "a/p")),
            ..Self::default()
        };
        let mut at = 0;
        let mut previous = "";
        let mut decimal = None;
        for (kind, text) in tokens {
            match kind.as_str() {
                "date" => {
                    let following = fields.get(at + 1).copied().unwrap_or("");
                    let beside_minutes = is_hour(previous) || unit(following) == Some('s');
                    match text.as_str() {
                        "m" | "mm" if beside_minutes => {
                            format.pieces.push(Piece::Minute(text.len()));
                        }
                        _ => format.pieces.extend(piece(text)),
                    }
                    previous = text;
                    at += 1;
                    decimal = None;
                }
                "point" if unit(previous) == Some('s') => {
                    decimal = Some(0);
                    format.pieces.push(Piece::Text(text.clone()));
                }
                "digit" => {
                    if let Some(number) = &mut decimal {
                        format.pieces.push(Piece::Decimal(*number));
                        *number += 1;
                        format.decimals = format.decimals.max(*number as u32).min(MOST_DECIMALS);
                    }
                }
                "text" | "point" | "comma" | "slash" | "percent" => {
                    format.pieces.push(Piece::Text(text.clone()));
                }
                _ => {}
            }
        }
        format
    }

    /// Adds a serial number of days to a text; returns false if it is no date.
    pub fn push(&self, shown: &mut String, value: f64, from_1904: bool) -> bool {
        let least = if self.is_elapsed { -(LAST as f64) } else { 0.0 };
        if !(least..=LAST as f64).contains(&value) {
            return false;
        }
        let parts = 10_i128.pow(self.decimals);
        let total = seconds(value.abs(), self.decimals);
        let (days, in_day) = (total / (SECONDS * parts), total % (SECONDS * parts));
        if days > i128::from(LAST) {
            return false;
        }
        let date = Date::new(days as i64, from_1904);
        let second = in_day / parts;
        if value < 0.0 {
            shown.push('-');
        }
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => shown.push_str(text),
                Piece::Year { is_short: true } => push_number(shown, date.year % 100, 2),
                Piece::Year { is_short: false } => push_number(shown, date.year, 4),
                Piece::Month(name) => name.push(shown, date.month, MONTHS[date.month as usize - 1]),
                Piece::Day(name) => name.push(shown, date.day, DAYS[date.weekday]),
                Piece::Hour(width) => {
                    let hour = second / 3600;
                    let half = (hour + 11) % 12 + 1;
                    push_number(shown, if self.is_half_day { half } else { hour }, *width);
                }
                Piece::Minute(width) => push_number(shown, second / 60 % 60, *width),
                Piece::Second(width) => push_number(shown, second % 60, *width),
                Piece::Half { is_short } => {
                    let half = if second < SECONDS / 2 { "AM" } else { "PM" };
                    shown.push_str(if *is_short { &half[..1] } else { half });
                }
                Piece::Elapsed(unit, width) => push_number(shown, total / parts / unit, *width),
                Piece::Decimal(at) => {
                    let digits =
                        format!("{:0width$}", in_day % parts, width = self.decimals as usize);
                    shown.push_str(digits.get(*at..at + 1).unwrap_or(""));
                }
            }
        }
        true
    }
}

impl Name {
    fn push(self, shown: &mut String, number: i128, name: &str) {
        match self {
            Name::Number(width) => push_number(shown, number, width),
            Name::Short => shown.push_str(&name[..3]),
            Name::Initial => shown.push_str(&name[..1]),
            Name::Full => shown.push_str(name),
        }
    }
}

/// A day of the calendar.
struct Date {
    year: i128,
    month: i128,
    day: i128,
    /// From Monday, 0.
    weekday: usize,
}

impl Date {
    fn new(serial: i64, from_1904: bool) -> Self {
        let days = match from_1904 {
            true => FIRST_DAY_1904 + serial.min(LAST - 1462),
            false => FIRST_DAY + serial + i64::from(serial < FALSE_LEAP_DAY),
        };
        // Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Date {
            year: i128::from(year_of_era + 400 * era + i64::from(month <= 2)),
            month: i128::from(month),
            day: i128::from(of_year - (153 * from_march + 2) / 5 + 1),
            weekday: (days + 3).rem_euclid(7) as usize,
        }
    }
}

/// Returns the unit of a field: its first letter, within brackets for an elapsed time.
fn unit(field: &str) -> Option<char> {
    field.trim_start_matches('[').chars().next()
}

fn is_hour(field: &str) -> bool {
    matches!(field, "h" | "hh") || field.starts_with("[h")
}

/// Returns the piece of a field, None for one that is not shown, such as an era.
fn piece(field: &str) -> Option<Piece> {
    let length = field.len();
    let width = length.min(2);
    if let Some(elapsed) = field.strip_prefix('[') {
        let unit = match unit(elapsed)? {
            'h' => 3600,
            'm' => 60,
            _ => 1,
        };
        return Some(Piece::Elapsed(unit, elapsed.get(2..)?.parse().ok()?));
    }
    let name = match length {
        1 | 2 => Name::Number(length),
        3 => Name::Short,
        _ => Name::Full,
    };
    Some(match unit(field)? {
        'a' => Piece::Half {
            is_short: field == "a/p",
        },
        'h' => Piece::Hour(width),
        's' => Piece::Second(width),
        'y' => Piece::Year {
            is_short: length <= 2,
        },
        'm' if length == 5 => Piece::Month(Name::Initial),
        'm' => Piece::Month(name),
        'd' => Piece::Day(name),
        _ => return None,
    })
}

/// Returns days in parts of a second, with 15 digits of the days and rounded half up.
fn seconds(days: f64, decimals: u32) -> i128 {
    let written = format!("{days:.14e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let digits: i128 = mantissa.replace('.', "").parse().unwrap_or(0);
    let scale = exponent.parse().unwrap_or(0) - 14 + decimals as i32;
    let parts = digits * SECONDS;
    match u32::try_from(-scale) {
        Ok(down) if down > 30 => 0,
        Ok(down) => {
            let unit = 10_i128.pow(down);
            (parts + unit / 2) / unit
        }
        Err(_) => parts * 10_i128.pow(scale.unsigned_abs()),
    }
}

fn push_number(shown: &mut String, number: i128, width: usize) {
    let digits = number.to_string();
    shown.extend(std::iter::repeat_n('0', width.saturating_sub(digits.len())));
    shown.push_str(&digits);
}

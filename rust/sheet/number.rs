//! Numbers of workbooks as their formats show them, with the 15 digits that a workbook keeps.

/// Whole numbers are exact up to this.
const EXACT: f64 = 9_007_199_254_740_992.0;
const DIGITS: i32 = 15;

/// A format with one row of digits, such as `#,##0.00 "km"` or `0%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedPoint {
    /// The text before the digits.
    pub before: String,
    /// Whether thousands are separated by commas.
    pub is_grouped: bool,
    /// How many decimals are shown.
    pub decimals: u16,
    /// The text after the digits.
    pub after: String,
    /// How many decimals the point is shifted by: two for each percent sign.
    pub shift: u16,
    /// Whether a number below zero has a minus.
    pub is_signed: bool,
}

impl FixedPoint {
    /// Adds a number to a text.
    pub fn push(&self, shown: &mut String, value: f64) {
        let mut decimal = Decimal::entered(value.abs());
        decimal.exponent += i32::from(self.shift);
        decimal.round(decimal.exponent + i32::from(self.decimals));
        if value < 0.0 && self.is_signed && !decimal.digits.is_empty() {
            shown.push('-');
        }
        shown.push_str(&self.before);
        decimal.push_whole(shown, self.is_grouped);
        if self.decimals > 0 {
            shown.push('.');
            decimal.push_digits(
                shown,
                decimal.exponent..decimal.exponent + i32::from(self.decimals),
            );
        }
        shown.push_str(&self.after);
    }
}

/// Adds a number with up to 15 significant digits to a text, a whole number without a fraction.
pub fn push_general(shown: &mut String, value: f64) {
    if !value.is_finite() {
        let name = if value.is_nan() { "nan" } else { "inf" };
        shown.push_str(if value < 0.0 { "-" } else { "" });
        shown.push_str(name);
        return;
    }
    let decimal = Decimal::entered(value.abs());
    if decimal.digits.is_empty() {
        shown.push('0');
        return;
    }
    if value < 0.0 {
        shown.push('-');
    }
    let end = decimal.digits.len() as i32;
    if (-3..=DIGITS + 1).contains(&decimal.exponent) {
        decimal.push_whole(shown, false);
        if end > decimal.exponent {
            shown.push('.');
            decimal.push_digits(shown, decimal.exponent..end);
        }
        return;
    }
    decimal.push_digits(shown, 0..1);
    if end > 1 {
        shown.push('.');
        decimal.push_digits(shown, 1..end);
    }
    let exponent = decimal.exponent - 1;
    shown.push_str(if exponent < 0 { "E-" } else { "E+" });
    shown.push_str(&format!("{:02}", exponent.abs()));
}

/// The number 0.d1d2d3... times ten to the power of `exponent`; zero has no digits.
struct Decimal {
    /// Digits in ASCII, without zeros at either end.
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    /// Returns the number that a person entered: 15 digits of the shortest that is stored so.
    fn entered(value: f64) -> Self {
        if value < EXACT && value.fract() == 0.0 {
            let digits = (value as u64).to_string().into_bytes();
            let exponent = digits.len() as i32;
            return Self { digits, exponent }.trimmed();
        }
        let written = format!("{value:e}");
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        let mut decimal = Self {
            digits,
            exponent: exponent.parse::<i32>().unwrap_or(0) + 1,
        };
        decimal.round(DIGITS);
        decimal.trimmed()
    }

    fn trimmed(mut self) -> Self {
        let zeros = self
            .digits
            .iter()
            .take_while(|digit| **digit == b'0')
            .count();
        self.digits.drain(..zeros);
        self.exponent -= zeros as i32;
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        self
    }

    /// Keeps the first digits and rounds half up; none is kept of a number below zero.
    fn round(&mut self, kept: i32) {
        let Ok(kept) = usize::try_from(kept) else {
            self.digits.clear();
            return;
        };
        let Some(&next) = self.digits.get(kept) else {
            return;
        };
        self.digits.truncate(kept);
        if next >= b'5' {
            while self.digits.last() == Some(&b'9') {
                self.digits.pop();
            }
            match self.digits.last_mut() {
                Some(last) => *last += 1,
                None => {
                    self.digits.push(b'1');
                    self.exponent += 1;
                }
            }
        }
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
    }

    /// Adds what is before the point.
    fn push_whole(&self, shown: &mut String, is_grouped: bool) {
        if self.digits.is_empty() || self.exponent <= 0 {
            shown.push('0');
            return;
        }
        for at in 0..self.exponent {
            if is_grouped && at > 0 && (self.exponent - at) % 3 == 0 {
                shown.push(',');
            }
            self.push_digits(shown, at..at + 1);
        }
    }

    /// Adds the digits at positions, zeros where the number has none.
    fn push_digits(&self, shown: &mut String, positions: std::ops::Range<i32>) {
        shown.extend(positions.map(|at| {
            let digit = usize::try_from(at).ok().and_then(|at| self.digits.get(at));
            char::from(*digit.unwrap_or(&b'0'))
        }));
    }
}

//! Numbers with units: how they are read, and how they are shown.

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Whole; a size suffix is already multiplied in.
    Int(i64),
    /// With a fraction.
    Real(f64),
    /// A time with its unit, in nanoseconds.
    Nanos(u64),
}

/// Suffixes of whole numbers, powers of 1024, either case.
const SIZES: [(char, u32); 4] = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];

/// Suffixes of times, in nanoseconds.
const TIMES: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a number as a workload writes it: `10`, `-5`, `0.5`, `16k`, `16K`, `10ms`.
///
/// Leading zeros are decimal. A size suffix multiplies by a power of 1024; `m` is 2^20 (a minute is `min`).
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn number(text: &str) -> Result<Number, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
    let (figure, suffix) = digits.split_at(end);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let real = || -> Result<f64, String> {
        figure.parse::<f64>().map(|x| x * sign).map_err(|_| format!("'{text}' is not a number"))
    };
    let too_large = || format!("the number {text} is too large: at most 2^63-1 is possible");
    let whole = |shift: u32| -> Result<Number, String> {
        if figure.contains('.') {
            let x = real()? * (1u64 << shift) as f64;
            return if x.fract() == 0.0 && x.abs() < 9e15 && shift > 0 {
                Ok(Number::Int(x as i64))
            } else if shift > 0 {
                Err(format!("'{text}' is not a whole number of bytes"))
            } else {
                Ok(Number::Real(x))
            };
        }
        let n: i64 = figure.parse().map_err(|_| too_large())?;
        n.checked_mul(1i64 << shift).map(|n| Number::Int(n * sign as i64)).ok_or_else(too_large)
    };
    if suffix.is_empty() {
        return whole(0);
    }
    let mut letters = suffix.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && let Some((_, shift)) = SIZES.iter().find(|(c, _)| *c == letter.to_ascii_lowercase())
    {
        return whole(*shift);
    }
    if let Some((_, unit)) = TIMES.iter().find(|(name, _)| *name == suffix) {
        let nanos = real()? * *unit as f64;
        return if (0.0..1.8e19).contains(&nanos) {
            Ok(Number::Nanos(nanos.round() as u64))
        } else {
            Err(format!("the time {text} is out of range"))
        };
    }
    Err(format!("'{suffix}' in '{text}' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h"))
}

/// Reads a time given to an option: a plain number is seconds.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn seconds(text: &str) -> Result<u64, String> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("'{text}' is not a time: write 60, 0.5, 10ms, 5min or 1h"));
    }
    let value = number(text)?;
    if text.ends_with(['m', 'M']) && !matches!(value, Number::Nanos(_)) {
        return Err(format!("'{text}' is ambiguous: write {}min for minutes", text.trim_end_matches(['m', 'M'])));
    }
    if text.ends_with(|c: char| c.is_ascii_alphabetic()) && !matches!(value, Number::Nanos(_)) {
        return Err(format!("'{text}' is not a time: write 60, 0.5, 10ms, 5min or 1h"));
    }
    let nanos = match value {
        Number::Nanos(n) => return Ok(n),
        Number::Int(n) => n as f64 * 1e9,
        Number::Real(x) => x * 1e9,
    };
    if nanos < 1.8e19 { Ok(nanos.round() as u64) } else { Err(format!("the time {text} is out of range")) }
}

/// Decimal bytes for people: `1.25 GB`. 1 kB is 1000 bytes.
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "kB", "MB", "GB", "TB", "PB"] {
        if value < 999.5 || unit == "PB" {
            return if unit == "B" { format!("{n} B") } else { format!("{value:.0$} {unit}", decimals(value)) };
        }
        value /= 1000.0;
    }
    unreachable!("the last unit returns")
}

/// Decimals that leave three significant digits.
fn decimals(value: f64) -> usize {
    if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    }
}

/// A time for people, three significant digits: `900 ns`, `2.20 ms`, `60.0 s`.
pub fn duration(nanos: u64) -> String {
    let mut value = nanos as f64;
    for (unit, step) in [("ns", 1000.0), ("us", 1000.0), ("ms", 1000.0), ("s", f64::INFINITY)] {
        if value < step - 0.5 {
            return if unit == "ns" { format!("{nanos} ns") } else { format!("{value:.0$} {unit}", decimals(value)) };
        }
        value /= step;
    }
    unreachable!("seconds have no end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_has_its_rule() {
        assert_eq!(number("10"), Ok(Number::Int(10)));
        assert_eq!(number("08"), Ok(Number::Int(8)));
        assert_eq!(number("16k"), Ok(Number::Int(16384)));
        assert_eq!(number("16K"), Ok(Number::Int(16384)));
        assert_eq!(number("1.5k"), Ok(Number::Int(1536)));
        assert_eq!(number("2t"), Ok(Number::Int(2 << 40)));
        assert_eq!(number("-5"), Ok(Number::Int(-5)));
        assert_eq!(number("0.5"), Ok(Number::Real(0.5)));
        assert_eq!(number("10ms"), Ok(Number::Nanos(10_000_000)));
        assert_eq!(number("2min"), Ok(Number::Nanos(120_000_000_000)));
        for bad in ["1kb", "4q", "--5", "-", "", "1e3", "1.2.3", "9223372036854775807k", "-1s", "0x10"] {
            assert!(number(bad).is_err(), "{bad}");
        }
        assert!(number("99999999999999999999").unwrap_err().contains("too large"));
        assert!(number("1kb").unwrap_err().contains("'kb'"));
    }

    #[test]
    fn an_option_takes_seconds_or_a_unit_and_no_size() {
        assert_eq!(seconds("5"), Ok(5_000_000_000));
        assert_eq!(seconds("0.5"), Ok(500_000_000));
        assert_eq!(seconds("100ms"), Ok(100_000_000));
        assert!(seconds("1m").unwrap_err().contains("1min"));
        for bad in ["", "-1", "1k", "soon", "1.5.2"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn figures_for_people_keep_three_digits() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(1_250_000_000), "1.25 GB");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(duration(0), "0 ns");
        assert_eq!(duration(900), "900 ns");
        assert_eq!(duration(2_200_000), "2.20 ms");
        assert_eq!(duration(60_000_000_000), "60.0 s");
        assert_eq!(duration(999_999), "1.00 ms");
    }

    proptest! {
        #[test]
        fn whole_numbers_come_back(n in i64::MIN + 1..i64::MAX) {
            prop_assert_eq!(number(&n.to_string()), Ok(Number::Int(n)));
        }

        #[test]
        fn no_text_panics(text in "-?[0-9][0-9a-zA-Z.]{0,30}") {
            let _ = number(&text);
            let _ = seconds(&text);
        }
    }
}

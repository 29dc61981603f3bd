use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads an RFC 3339 time.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let fields = |s: &str, separator: char| -> Option<Vec<i64>> { s.split(separator).map(number).collect() };
    let (date, hms) = (fields(date, '-')?, fields(clock.get(..8)?, ':')?);
    let ([year, month, day], [hour, minute, second]) = match (&date[..], &hms[..]) {
        ([year, month, day], [hour, minute, second]) => ([year, month, day], [hour, minute, second]),
        _ => return None,
    };
    if !(1..=12).contains(month) || !(1..=31).contains(day) || *hour > 23 || *minute > 59 || *second > 60 {
        return None;
    }
    let (nanos, zone) = fraction(clock.get(8..)?)?;
    let seconds = days(*year, *month, *day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    let whole = Duration::from_secs(u64::try_from(seconds).ok()?);
    UNIX_EPOCH.checked_add(whole + Duration::from_nanos(nanos))
}

fn number(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// The nanoseconds of ".123Z", and "Z".
fn fraction(text: &str) -> Option<(u64, &str)> {
    let rest = match text.strip_prefix('.') {
        Some(rest) => rest,
        None => return Some((0, text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let digits: String = rest[..end].chars().chain("000000000".chars()).take(9).collect();
    Some((u64::try_from(number(&digits)?).ok()?, &rest[end..])).filter(|_| end > 0)
}

/// The seconds of "Z" or "+01:30".
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// Days from 1970-01-01; the year is taken to begin in March, so that the leap day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn reads_times() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-18T11:07:10.000Z", 1_795_000_030_000),
            ("2024-02-29T23:59:59.5+01:00", 1_709_247_599_500),
        ] {
            assert_eq!(super::parse(text), Some(UNIX_EPOCH + Duration::from_millis(millis)), "{text}");
        }
        for wrong in [
            "",
            "2026-11-18",
            "2026-11-18T11:07:10",
            "2026-13-18T11:07:10Z",
            "2026-11-18T11:07:10.Z",
            "+026-11-18T11:07:10Z",
            "é026-11-1811",
        ] {
            assert_eq!(super::parse(wrong), None, "{wrong}");
        }
    }
}

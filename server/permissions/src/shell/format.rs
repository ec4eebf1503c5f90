//! Formats: what stands behind a `%` may run programs, read files, or print a name as wide as a disk.

/// Of a width.
pub(super) const MOST_DIGITS: usize = 3;

/// What may stand between a `%` and its letter, in any of the formats of printf, strftime, stat and find.
const BEFORE_THE_LETTER: &str = "-+ #'_^:.0123456789EO";

pub(super) fn widths_are_small(text: &str) -> bool {
    text.split('%').skip(1).all(|directive| {
        let letter = directive.find(|character| !BEFORE_THE_LETTER.contains(character));
        has_small_numbers(directive.get(..letter.unwrap_or(directive.len())).unwrap_or_default())
    })
}

/// `TZ="/some/file" now`: the time zone is read from there.
pub(super) fn names_time_zone(time: &str) -> bool {
    time.contains("TZ=")
}

/// A format of `git log`. `%G…` would run the program that checks signatures, `%(describe)` another git.
pub(super) fn is_harmless_to_git(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        let placeholder = behind.strip_prefix(['+', '-', ' ']).unwrap_or(behind);
        let mut characters = placeholder.chars();
        let known = match characters.next() {
            None => true,
            Some(
                '%' | 'H' | 'h' | 'T' | 't' | 'P' | 'p' | 'd' | 'D' | 'e' | 's' | 'f' | 'b' | 'B' | 'N' | 'S',
            )
            | Some('n' | 'm' | 'x' | 'a' | 'c' | 'g' | 'C') => true,
            Some('w' | '<' | '>') => {
                has_small_numbers(placeholder.split_once(')').map_or(placeholder, |(width, _)| width))
            }
            Some('(') => ["trailers", "decorate"].iter().any(|name| characters.as_str().starts_with(name)),
            Some(_) => false,
        };
        if !known {
            return false;
        }
        // `%%` is a percent sign and begins nothing.
        rest = behind.strip_prefix('%').unwrap_or(placeholder);
    }
    true
}

fn has_small_numbers(text: &str) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).all(|number| number.len() <= MOST_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_fields_are_found_wherever_they_stand() {
        for format in ["%n %10s", "%-999n", "+%Y-%m-%d 20260101", "100000%", "%y %03d", "a 12345678 %n"] {
            assert!(widths_are_small(format), "{format}");
        }
        for format in
            ["%200000000n", "%-2000n", "%.2000n", "%1.2000Y", "%n%n%_9999d", "%+0 #1000s", "%'1000s"]
        {
            assert!(!widths_are_small(format), "{format}");
        }
    }

    #[test]
    fn only_placeholders_that_print_are_harmless() {
        for format in [
            "oneline",
            "format:%h %an <%ae> %ad%n%s%+b%-N% d",
            "%C(auto)%h%Creset %<(20,trunc)%s %>|(100)%cr %w(72,1,2)%B",
            "%(trailers:key=Signed-off-by,separator=%x2C) %(decorate) 100%% %gd %m",
            "%",
            "%%G is no placeholder",
        ] {
            assert!(is_harmless_to_git(format), "{format}");
        }
        for format in [
            "%G?",
            "%+G?",
            "%-GK",
            "% GS",
            "%h%GG",
            "%%%G?",
            "%(describe)",
            "%+(describe)",
            "%<(200000000)%h",
            "%w(2000)%b",
            "%>>|(2000)%h",
            "%y",
            "%+%+G?",
        ] {
            assert!(!is_harmless_to_git(format), "{format}");
        }
    }
}

use super::*;

fn classes(text: &str) -> Vec<Class> {
    find(text).into_iter().map(|hidden| hidden.class).collect()
}

#[test]
fn what_nobody_sees_is_found() {
    for (text, class) in [
        ("run\u{200b}this", Class::ZeroWidth),
        ("run\u{200d}this", Class::ZeroWidth),
        ("run\u{2060}this", Class::ZeroWidth),
        ("run \u{feff}this", Class::ZeroWidth),
        ("a \u{202e}txt.exe\u{202c} b", Class::Bidirectional),
        ("a\u{2066}b", Class::Bidirectional),
        ("left\u{200f}right", Class::Bidirectional),
        ("hello\u{e0041}\u{e0042}", Class::Tag),
        ("x\u{fe0f}", Class::Selector),
        ("x\u{e0101}", Class::Selector),
        ("co\u{ad}operate", Class::SoftHyphen),
        ("\u{1b}[31mred", Class::Control),
        ("a\u{9b}b", Class::Control),
        ("a\u{2028}b", Class::LineSeparator),
        ("a\u{85}b", Class::LineSeparator),
        ("a\u{3164}b", Class::Filler),
        ("a\u{2800}b", Class::Filler),
        ("pаypаl", Class::MixedAlphabets),
    ] {
        assert!(classes(text).contains(&class), "{text:?}: {:?}", classes(text));
    }
}

#[test]
fn what_a_script_needs_is_left_alone() {
    for text in [
        "plain ASCII\twith tabs\r\nand lines",
        "👨‍👩‍👧 family, 🏳️‍🌈 flag, ❤️ heart, 1️⃣ one, ✈️",
        "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} Scotland",
        "می\u{200c}خواهم",
        "क्\u{200d}ष और र्\u{200c}य",
        "مرحبا \u{200f}(hello)\u{200f}",
        "שלום \u{200e}abc",
        "ภาษา\u{200b}ไทย",
        "葛\u{e0100}城市",
        "Δt, µs, αβγ, Ωm, 5 кг, Москва, IT-отдел, naïve café, ß",
        "日本語のテキスト、한국어 텍스트",
        "\u{feff}a file with a byte order mark",
    ] {
        assert_eq!(find(text), [], "{text:?}");
        assert_eq!(shown(text), text);
    }
}

#[test]
fn places_are_exact() {
    let text = "first\nseco\u{200b}\u{200b}nd";
    let expected = Hidden { line: 1, offset: 10, length: 6, class: Class::ZeroWidth };
    assert_eq!(find(text), [expected]);
    assert_eq!(shown(text), "first\nseco[2 hidden characters]nd");
    assert_eq!(shown("a\u{202e}b"), "a[U+202E]b");
}

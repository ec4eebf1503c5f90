use super::*;

#[test]
fn half_typed_json_has_places() {
    for (text, keys, key) in [
        ("{", 0, None),
        ("{ \"a\": { \"b", 1, None),
        ("{ \"a\": \"x", 0, Some("a")),
        ("{ \"a\": 1, ", 0, None),
        ("// \"a\": {\n{ \"b\": [ { ", 1, None),
        ("{ \"ü😀\": ", 0, Some("ü😀")),
    ] {
        let place = Place::of(text, text.len());
        assert_eq!((place.keys.len(), place.key.as_deref()), (keys, key), "{text}");
    }
}

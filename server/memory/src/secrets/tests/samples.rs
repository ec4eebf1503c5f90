//! Samples of every kind of credential, the same in every run.

/// A small generator of pseudo-random numbers (splitmix64): reproducible, and no dependency.
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn letters(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect()
    }

    /// The template with each `{…}` filled in.
    pub fn fill(&mut self, template: &str) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            let close = open + rest[open..].find('}').expect("templates close their braces");
            filled.push_str(&self.part(&rest[open + 1..close]));
            rest = &rest[close + 1..];
        }
        filled + rest
    }

    fn part(&mut self, part: &str) -> String {
        let alphabet = match &part[..1] {
            "a" => "abcdefghijklmnopqrstuvwxyz0123456789",
            "A" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "U" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            "B" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "l" => "abcdefghijklmnopqrstuvwxyz",
            "L" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            "x" => "0123456789abcdef",
            "X" => "0123456789ABCDEF",
            "d" => "0123456789",
            "w" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
            "e" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=",
            "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "g" => "abcdefghijklmnopqrstuvwxyz0123456789=_-",
            "h" => "abcdefgh0123456789",
            "p" => "ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#%^*",
            "u" => return self.fill("{x8}-{x4}-4{x3}-a{x3}-{x12}"),
            "V" => return self.fill("{X8}-{X4}-4{X3}-A{X3}-{X12}"),
            unknown => panic!("no alphabet {unknown}"),
        };
        let length = match part[1..].split_once('-') {
            Some((least, most)) => {
                let (least, most): (usize, usize) = (least.parse().unwrap(), most.parse().unwrap());
                least + self.below(most - least + 1)
            }
            None => part[1..].parse().unwrap(),
        };
        self.letters(alphabet, length)
    }
}

pub struct Sample {
    pub rule: &'static str,
    /// Of values that only their name betrays.
    pub name: Option<&'static str>,
    pub template: &'static str,
}

pub fn samples() -> Vec<Sample> {
    let lines = include_str!("samples.txt").lines().filter(|line| !line.starts_with('#'));
    let (tokens, values): (Vec<_>, Vec<_>) =
        lines.map(|line| line.split_once(": ").unwrap()).partition(is_token);
    let named = values.into_iter().map(|(rule, rest)| {
        let (name, template) = rest.split_once(" = ").unwrap();
        Sample { rule, name: Some(name), template }
    });
    tokens.into_iter().map(|(rule, template)| Sample { rule, name: None, template }).chain(named).collect()
}

fn is_token((_, rest): &(&str, &str)) -> bool {
    !rest.contains(" = ")
}

/// Lines of memory files and of what is pasted into them. SECRET stands for the credential.
pub const AROUND_TOKENS: &[&str] = &[
    "SECRET",
    "The staging deploy uses SECRET and nobody has rotated it since March.",
    "- use `SECRET` for the nightly job",
    "- **Key:** SECRET",
    "| staging | SECRET | Anna |",
    "export SERVICE_KEY=SECRET",
    "SERVICE_KEY=\"SECRET\"",
    "service_key: SECRET",
    "  service_key: 'SECRET'",
    "{\"serviceKey\": \"SECRET\", \"region\": \"eu\"}",
    "const key = \"SECRET\";",
    "let client = Client::new(\"SECRET\");",
    "See https://ci.internal/run?key=SECRET&job=3 for the log.",
    "    curl -H 'X-Service: SECRET' https://api.internal/v1",
    "The user said (SECRET) is the one to use, not the old one.",
    "Ask Tom before you change SECRET.",
    "> SECRET",
    "<key>SECRET</key>",
    "**SECRET**",
    "key=SECRET; region=eu",
    "Schlüssel für die Prüfung: SECRET, gültig bis Mai",
    "args = [\"--key\", \"SECRET\"]",
    "1. paste SECRET, then restart",
    "\\\"service\\\": \\\"SECRET\\\"",
];

/// The same where NAME stands for the name.
pub const AROUND_VALUES: &[&str] = &[
    "NAME = SECRET",
    "NAME=SECRET",
    "export NAME=SECRET",
    "NAME=\"SECRET\"",
    "NAME='SECRET'",
    "NAME: SECRET",
    "  NAME: \"SECRET\"",
    "  NAME: 'SECRET' # staging",
    "{\"NAME\": \"SECRET\"}",
    "{\"region\":\"eu\",\"NAME\":\"SECRET\",\"retries\":3}",
    "let NAME = \"SECRET\";",
    "NAME := \"SECRET\"",
    "'NAME' => 'SECRET',",
    "| NAME | SECRET |",
    "| NAME | `SECRET` | staging |",
    "- NAME: `SECRET`",
    "- **NAME**: SECRET",
    "- `NAME`: `SECRET`",
    "set(\"NAME\", \"SECRET\")",
    "<NAME>SECRET</NAME>",
    "The deploy job needs NAME=SECRET in its environment.",
    "\\\"NAME\\\": \\\"SECRET\\\"",
];

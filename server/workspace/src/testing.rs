//! What the tests of this crate share: reproducible chance, and a folder to write in.

/// By its real path: where a closed file is written no link is followed, and some systems have `/tmp` behind one.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap()
}

/// A small generator with a fixed seed, so that a failure comes back.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// A text of up to `pieces` of the pieces that break naive code.
    pub(crate) fn text(&mut self, pieces: usize) -> String {
        const PIECES: &[&str] = &[
            "a",
            "b",
            "word ",
            "ä",
            "€",
            "😀",
            "👩‍🚀",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "\u{2028}",
            "\u{85}",
            "\u{c}",
            "\u{b}",
        ];
        (0..self.below(pieces + 1)).map(|_| self.pick(PIECES)).collect()
    }
}

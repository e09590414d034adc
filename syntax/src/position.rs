//! Lines and columns in the encodings that editors count in.

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

/// A position as editors count it. Lines end with `\n`, `\r\n` or `\r`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LineColumn {
    /// The line, from 0.
    pub line: u32,
    /// The column, from 0, in the unit of an [`Encoding`].
    pub column: u32,
}

/// The distance between two checkpoints, in bytes.
const STRIDE: usize = 4096;

/// Counts code units of a text in constant time, however long its lines are.
#[derive(Debug, Default)]
pub(crate) struct Units {
    /// At every [`STRIDE`]: the byte offset (of a character), the UTF-16 units and the characters
    /// before it. Empty for ASCII text.
    checkpoints: Vec<[u32; 3]>,
}

impl Units {
    pub(crate) fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self::default();
        }
        let mut checkpoints = vec![[0; 3]];
        let mut last = [0_u32; 3];
        while text.len() - last[0] as usize > STRIDE {
            let start = last[0] as usize;
            let mut end = start + STRIDE;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let piece = &text[start..end];
            last = [
                end as u32,
                last[1] + count(piece, Encoding::Utf16),
                last[2] + count(piece, Encoding::Utf32),
            ];
            checkpoints.push(last);
        }
        Self { checkpoints }
    }

    /// The units before `offset`, which is moved back to the start of its character.
    pub(crate) fn before(&self, text: &str, offset: usize, encoding: Encoding) -> u32 {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let Some(unit) = Self::column(encoding).filter(|_| !self.checkpoints.is_empty()) else {
            return offset as u32;
        };
        let nearest = self.checkpoints[self
            .checkpoints
            .partition_point(|point| point[0] as usize <= offset)
            - 1];
        nearest[unit] + count(&text[nearest[0] as usize..offset], encoding)
    }

    /// The offset of the character that contains unit number `units`, at most `text.len()`.
    pub(crate) fn offset(&self, text: &str, units: u32, encoding: Encoding) -> usize {
        let Some(unit) = Self::column(encoding).filter(|_| !self.checkpoints.is_empty()) else {
            let mut offset = (units as usize).min(text.len());
            while !text.is_char_boundary(offset) {
                offset -= 1;
            }
            return offset;
        };
        let nearest = self.checkpoints[self
            .checkpoints
            .partition_point(|point| point[unit] <= units)
            - 1];
        let mut left = units - nearest[unit];
        let start = nearest[0] as usize;
        for (at, char) in text[start..].char_indices() {
            let width = if encoding == Encoding::Utf16 {
                char.len_utf16() as u32
            } else {
                1
            };
            if left < width {
                return start + at;
            }
            left -= width;
        }
        text.len()
    }

    fn column(encoding: Encoding) -> Option<usize> {
        match encoding {
            Encoding::Utf8 => None,
            Encoding::Utf16 => Some(1),
            Encoding::Utf32 => Some(2),
        }
    }
}

fn count(text: &str, encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Utf8 => text.len() as u32,
        Encoding::Utf16 => text.encode_utf16().count() as u32,
        Encoding::Utf32 => text.chars().count() as u32,
    }
}

//! Just enough of shapes to know the unpadded bytes of an array.

/// `f32[4,8]{1,0:T(8,128)S(1)}`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array<'t> {
    pub element: &'t str,
    /// Bounds of the dimensions.
    pub dimensions: Vec<u64>,
    /// Whether a bound is only a bound: `<=16`.
    pub dynamic: bool,
    /// What is inside the layout's braces.
    pub layout: &'t str,
}

impl<'t> Array<'t> {
    /// Reads an array's shape; tuples, tokens and opaque values are none.
    pub fn read(text: &'t str) -> Option<Self> {
        if text.starts_with('(') {
            return None;
        }
        let open = text.find('[')?;
        let close = open + text[open..].find(']')?;
        let element = &text[..open];
        if matches!(element, "token" | "opaque") {
            return None;
        }
        let inside = &text[open + 1..close];
        let mut dimensions = Vec::new();
        for dimension in inside.split(',').filter(|dimension| !dimension.is_empty()) {
            dimensions.push(dimension.trim_start_matches("<=").parse().ok()?);
        }
        let layout = text[close + 1..]
            .trim_start_matches('{')
            .trim_end_matches('}');
        Some(Self {
            element,
            dimensions,
            dynamic: inside.contains("<="),
            layout,
        })
    }

    /// The number in `E(n)`, `S(n)` ... of the layout.
    pub fn property(&self, name: &str) -> Option<u64> {
        let start = self.layout.find(&format!("{name}("))? + name.len() + 1;
        let end = start + self.layout[start..].find(')')?;
        self.layout[start..end].parse().ok()
    }

    /// Unpadded bytes.
    pub fn logical_bytes(&self) -> u64 {
        let count: u64 = self.dimensions.iter().product();
        match self.property("E") {
            Some(bits) => (count * bits).div_ceil(8),
            None => count * element_bytes(self.element),
        }
    }
}

/// Bytes that an element takes when the layout says nothing else.
fn element_bytes(element: &str) -> u64 {
    match element {
        "c128" => 16,
        "c64" => 8,
        // `f8e4m3fn` and `f4e2m1fn` are a byte.
        name if name.starts_with("f8") || name.starts_with("f4") || name == "pred" => 1,
        name => {
            let bits: u64 = name
                .trim_start_matches(|c: char| !c.is_ascii_digit())
                .parse()
                .unwrap_or(0);
            bits.div_ceil(8)
        }
    }
}

/// Unpadded bytes of a shape of any kind; of a tuple those of its table alone.
pub fn logical_bytes(text: &str) -> u64 {
    if let Some(inside) = text.strip_prefix('(') {
        let mut depth = 0;
        let mut elements = u64::from(inside != ")");
        for byte in inside.bytes() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b',' if depth == 0 => elements += 1,
                _ => {}
            }
        }
        return 8 * elements;
    }
    match Array::read(text) {
        Some(array) => array.logical_bytes(),
        None if text.starts_with("opaque") => 8,
        None => 0,
    }
}

/// The end of the shape that starts at `start`.
pub fn shape_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b' ' if depth == 0 => return at,
            _ => {}
        }
    }
    bytes.len()
}

/// `1023B`, `36.0KiB`, `1.26GiB`: the way the compiler prints bytes for people.
pub fn human(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit += 1;
    }
    let number = rest as f64 / 1024.0;
    if unit == 0 {
        format!("{number:.1}KiB")
    } else {
        format!("{number:.2}{}iB", ["M", "G", "T", "P", "E"][unit - 1])
    }
}

#[test]
fn shapes_have_the_bytes_of_the_specification() {
    let bytes = |text: &str| Array::read(text).expect("an array").logical_bytes();
    assert_eq!(
        bytes("f32[32,513,5120]{2,1,0:T(8,128)}"),
        32 * 513 * 5120 * 4
    );
    assert_eq!(bytes("s4[64,128]{1,0:E(4)}"), 4096);
    assert_eq!(bytes("s4[64,128]{1,0}"), 8192);
    assert_eq!(bytes("pred[32,513]{0,1:T(8,128)(4,1)}"), 16416);
    assert_eq!(bytes("s64[<=300,2]{1,0}"), 4800);
    assert_eq!(bytes("f8e4m3fn[16]{0}"), 16);
    assert_eq!(bytes("bf16[]"), 2);
    assert_eq!(Array::read("(f32[], f32[])"), None);
    for (text, bytes) in [
        ("()", 0),
        ("(f32[2,3]{1,0})", 8),
        (
            "(f32[2,3]{1,0:T(8,128)}, (s32[], token[]), /*index=2*/f32[])",
            24,
        ),
        ("token[]", 0),
        ("f32[4]{0}", 16),
    ] {
        assert_eq!(logical_bytes(text), bytes, "{text}");
    }
    for (bytes, text) in [
        (1023, "1023B"),
        (36864, "36.0KiB"),
        (5_308_448, "5.06MiB"),
        (1_348_651_528, "1.26GiB"),
        (1_048_575, "1024.0KiB"),
    ] {
        assert_eq!(human(bytes), text);
    }
}

//! Characters of a page as PDFium reports them.

use std::ffi::{c_char, c_double, c_float, c_int, c_uint, c_ulong, c_void};

use super::geometry::{Rect, Turn};
use super::legible::Guesses;

/// The type of a word: its height in points and angle in radians, and whether it is bold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// The height of a line of this type, which is more than that of its letters.
    pub size: f32,
    /// Counterclockwise, in radians.
    pub angle: f32,
    /// Whether the font is bold.
    pub bold: bool,
}

/// A character with its box and the point on the baseline where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Glyph {
    /// The character; white space has neither a box nor a style of its own.
    pub character: char,
    /// The box of what is drawn.
    pub rect: Rect,
    /// The origin on the baseline.
    pub origin: (f32, f32),
    /// The type, that of the word's first character.
    pub style: Style,
}

/// What gives the characters of a page in the order in which they are drawn.
pub trait GlyphSource {
    /// Returns the characters, and the number of those that the font names no character for.
    fn glyphs(&self) -> (Vec<Glyph>, usize);
}

#[repr(C)]
#[derive(Default)]
struct LooseBox {
    left: c_float,
    top: c_float,
    right: c_float,
    bottom: c_float,
}

#[repr(C)]
#[derive(Default)]
struct Matrix {
    a: c_float,
    b: c_float,
    c: c_float,
    d: c_float,
    e: c_float,
    f: c_float,
}

type Handle = *mut c_void;
type CountChars = unsafe extern "C" fn(Handle) -> c_int;
type GetUnicode = unsafe extern "C" fn(Handle, c_int) -> c_uint;
type GetCharBox = unsafe extern "C" fn(
    Handle,
    c_int,
    *mut c_double,
    *mut c_double,
    *mut c_double,
    *mut c_double,
) -> c_int;
type GetCharOrigin = unsafe extern "C" fn(Handle, c_int, *mut c_double, *mut c_double) -> c_int;
type GetLooseCharBox = unsafe extern "C" fn(Handle, c_int, *mut LooseBox) -> c_int;
type GetMatrix = unsafe extern "C" fn(Handle, c_int, *mut Matrix) -> c_int;
type GetFontSize = unsafe extern "C" fn(Handle, c_int) -> c_double;
type GetFontWeight = unsafe extern "C" fn(Handle, c_int) -> c_int;
type GetFontInfo = unsafe extern "C" fn(Handle, c_int, *mut c_char, c_ulong, *mut c_int) -> c_ulong;
type HasUnicodeMapError = unsafe extern "C" fn(Handle, c_int) -> c_int;

/// The functions of PDFium that read the characters of a text page.
#[derive(Clone, Copy)]
pub struct PdfiumFunctions {
    count_chars: CountChars,
    unicode: GetUnicode,
    char_box: GetCharBox,
    origin: GetCharOrigin,
    loose_box: GetLooseCharBox,
    matrix: GetMatrix,
    font_size: GetFontSize,
    weight: GetFontWeight,
    font_info: GetFontInfo,
    map_error: HasUnicodeMapError,
}

impl PdfiumFunctions {
    /// The names of the functions whose addresses are needed, in their order.
    pub const NAMES: [&str; 10] = [
        "FPDFText_CountChars",
        "FPDFText_GetUnicode",
        "FPDFText_GetCharBox",
        "FPDFText_GetCharOrigin",
        "FPDFText_GetLooseCharBox",
        "FPDFText_GetMatrix",
        "FPDFText_GetFontSize",
        "FPDFText_GetFontWeight",
        "FPDFText_GetFontInfo",
        "FPDFText_HasUnicodeMapError",
    ];

    /// Returns the functions at addresses, None if one is null.
    ///
    /// # Safety
    /// The addresses must be those of PDFium's functions of [`Self::NAMES`], of a library that stays
    /// loaded.
    pub unsafe fn from_addresses(addresses: [usize; 10]) -> Option<Self> {
        if addresses.contains(&0) {
            return None;
        }
        let [
            count,
            unicode,
            char_box,
            origin,
            loose,
            matrix,
            font_size,
            weight,
            info,
            error,
        ] = addresses;
        // SAFETY: the caller gives the addresses of functions with these signatures, none is null.
        unsafe {
            Some(Self {
                count_chars: std::mem::transmute::<usize, CountChars>(count),
                unicode: std::mem::transmute::<usize, GetUnicode>(unicode),
                char_box: std::mem::transmute::<usize, GetCharBox>(char_box),
                origin: std::mem::transmute::<usize, GetCharOrigin>(origin),
                loose_box: std::mem::transmute::<usize, GetLooseCharBox>(loose),
                matrix: std::mem::transmute::<usize, GetMatrix>(matrix),
                font_size: std::mem::transmute::<usize, GetFontSize>(font_size),
                weight: std::mem::transmute::<usize, GetFontWeight>(weight),
                font_info: std::mem::transmute::<usize, GetFontInfo>(info),
                map_error: std::mem::transmute::<usize, HasUnicodeMapError>(error),
            })
        }
    }
}

/// A text page that PDFium has open.
pub struct PdfiumPage {
    functions: PdfiumFunctions,
    handle: usize,
    bounds: Rect,
}

// Characters of one page that are read: more are no page that somebody reads.
const MOST_CHARS: c_int = 400_000;
const FORCE_BOLD: c_int = 1 << 18;
const BOLD_WEIGHT: c_int = 550;
const FONT_NAME_BYTES: usize = 128;
const BOLD_NAMES: [&[u8]; 6] = [b"bold", b"black", b"heavy", b"demi", b"cmbx", b"-bd"];

impl PdfiumPage {
    /// Returns the page of a handle, whose characters outside of the box `bounds` are not seen.
    ///
    /// # Safety
    /// `handle` must be an `FPDF_TEXTPAGE` that stays open, and that no other thread uses, as long as
    /// the value is used.
    pub unsafe fn new(functions: PdfiumFunctions, handle: usize, bounds: Rect) -> Self {
        Self {
            functions,
            handle,
            bounds,
        }
    }

    /// Returns whether the page has more characters than are read.
    pub fn is_cut(&self) -> bool {
        self.count() > MOST_CHARS
    }

    fn count(&self) -> c_int {
        // SAFETY: `new` requires an open page.
        unsafe { (self.functions.count_chars)(self.handle()) }
    }

    fn handle(&self) -> Handle {
        self.handle as Handle
    }

    /// Returns the character at an index, None if none is known for it.
    fn character(&self, at: c_int) -> Option<char> {
        // SAFETY: `new` requires an open page; PDFium checks the index.
        let code = unsafe { (self.functions.unicode)(self.handle(), at) };
        match char::from_u32(code)? {
            '\0' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}' => None,
            character => Some(character),
        }
    }

    fn is_unmapped(&self, at: c_int) -> bool {
        // SAFETY: as in `character`.
        unsafe { (self.functions.map_error)(self.handle(), at) == 1 }
    }

    fn position(&self, at: c_int) -> Option<(Rect, (f32, f32))> {
        let (mut left, mut right, mut low, mut high) = (0.0, 0.0, 0.0, 0.0);
        let (mut x, mut y) = (0.0, 0.0);
        // SAFETY: as in `character`; the pointers are those of variables of this function.
        let found = unsafe {
            (self.functions.char_box)(
                self.handle(),
                at,
                &raw mut left,
                &raw mut right,
                &raw mut low,
                &raw mut high,
            ) != 0
                && (self.functions.origin)(self.handle(), at, &raw mut x, &raw mut y) != 0
        };
        let rect = Rect {
            left: left as f32,
            low: low as f32,
            right: right as f32,
            high: high as f32,
        };
        (found && rect.is_sane()).then_some((rect, (x as f32, y as f32)))
    }

    fn style(&self, at: c_int) -> Style {
        let mut loose = LooseBox::default();
        let mut name = [0_u8; FONT_NAME_BYTES];
        let mut flags = 0;
        let mut matrix = Matrix::default();
        // SAFETY: as in `position`; PDFium writes at most as many bytes as it is told.
        let (name_bytes, font_size, weight) = unsafe {
            (self.functions.loose_box)(self.handle(), at, &raw mut loose);
            let name_bytes = (self.functions.font_info)(
                self.handle(),
                at,
                name.as_mut_ptr().cast(),
                FONT_NAME_BYTES as c_ulong,
                &raw mut flags,
            );
            (self.functions.matrix)(self.handle(), at, &raw mut matrix);
            (
                name_bytes as usize,
                (self.functions.font_size)(self.handle(), at) as f32,
                (self.functions.weight)(self.handle(), at),
            )
        };
        // Type of a negative size is turned round.
        let sign = if font_size < 0.0 { -1.0 } else { 1.0 };
        let angle = (sign * matrix.b).atan2(sign * matrix.a);
        let size = match Turn::of_angle(angle) {
            Turn::Upwards | Turn::Downwards => (loose.right - loose.left).abs(),
            Turn::Slanted(_) => font_size.abs() * matrix.c.hypot(matrix.d),
            _ => (loose.top - loose.bottom).abs(),
        };
        // A longer name is not written at all.
        let name = &mut name[..name_bytes.min(FONT_NAME_BYTES)];
        name.make_ascii_lowercase();
        let named_bold = BOLD_NAMES
            .iter()
            .any(|bold| name.windows(bold.len()).any(|part| part == *bold));
        Style {
            size,
            angle: if angle.is_finite() { angle } else { 0.0 },
            bold: named_bold || flags & FORCE_BOLD != 0 || weight >= BOLD_WEIGHT,
        }
    }
}

impl GlyphSource for PdfiumPage {
    fn glyphs(&self) -> (Vec<Glyph>, usize) {
        let count = self.count().clamp(0, MOST_CHARS);
        let mut glyphs = Vec::with_capacity(count as usize);
        let mut unknown = 0;
        let mut unmapped = false;
        let mut guesses = Guesses::default();
        let mut style: Option<Style> = None;
        let mut high_half = None;
        for at in 0..count {
            let Some(character) = self.known_character(at, &mut high_half) else {
                unknown += usize::from(high_half.is_none());
                continue;
            };
            if character.is_whitespace() {
                style = None;
                glyphs.push(Glyph {
                    character,
                    rect: Rect {
                        left: 0.0,
                        low: 0.0,
                        right: 0.0,
                        high: 0.0,
                    },
                    origin: (0.0, 0.0),
                    style: Style {
                        size: 0.0,
                        angle: 0.0,
                        bold: false,
                    },
                });
                continue;
            }
            let Some((rect, origin)) = self.position(at) else {
                continue;
            };
            let changed = glyphs
                .last()
                .is_some_and(|last: &Glyph| (last.origin.1 - origin.1).abs() > 0.5);
            let own = match style {
                Some(style) if !changed => style,
                _ => {
                    unmapped = self.is_unmapped(at);
                    self.style(at)
                }
            };
            style = Some(own);
            if unmapped {
                guesses.add(character);
            }
            glyphs.push(Glyph {
                character,
                rect,
                origin,
                style: own,
            });
        }
        (self.within_bounds(glyphs), unknown + guesses.unreadable())
    }
}

impl PdfiumPage {
    /// Returns the characters within the box of the page, all of them if most are outside.
    fn within_bounds(&self, mut glyphs: Vec<Glyph>) -> Vec<Glyph> {
        let is_seen = |glyph: &Glyph| {
            glyph.character.is_whitespace() || self.bounds.contains(glyph.rect.middle())
        };
        let seen = glyphs.iter().filter(|glyph| is_seen(glyph)).count();
        if seen < glyphs.len() && 2 * seen > glyphs.len() {
            glyphs.retain(is_seen);
        }
        glyphs
    }

    /// Returns the character at an index, two halves of a pair as one; None for a half or nothing.
    fn known_character(&self, at: c_int, high_half: &mut Option<u32>) -> Option<char> {
        // SAFETY: as in `character`.
        let code = unsafe { (self.functions.unicode)(self.handle(), at) };
        match (code, high_half.take()) {
            (0xd800..=0xdbff, _) => {
                *high_half = Some(code);
                None
            }
            (0xdc00..=0xdfff, Some(high)) => {
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00))
            }
            _ => self.character(at),
        }
    }
}

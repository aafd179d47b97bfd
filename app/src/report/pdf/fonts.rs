//! The fonts of a PDF: those that the window comes with, cut down to the letters in use and put into the file.

use epaint_default_fonts::{HACK_REGULAR, UBUNTU_LIGHT};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, Str};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, GlyphId, MetadataProvider};
use std::collections::BTreeMap;
use std::io::Write;
use subsetter::GlyphRemapper;

/// What is drawn for a letter that no font has.
const UNKNOWN: char = '□';

/// A font by its place in [`Fonts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// For words.
    Text,
    /// For what is typed.
    Code,
}

/// Letters that follow each other in one font.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlyphRun {
    /// Which font.
    pub font: usize,
    /// Two bytes a letter, as the file names them.
    pub codes: Vec<u8>,
    /// How long it is, in parts of the letters' size.
    pub width: f32,
}

struct Face {
    name: &'static str,
    data: &'static [u8],
    font: FontRef<'static>,
    used: GlyphRemapper,
    /// What each used letter means, by its new number.
    meaning: BTreeMap<u16, char>,
}

/// All fonts of a file.
pub struct Fonts {
    faces: Vec<Face>,
    /// Letters that no font has.
    pub unknown: usize,
}

impl Face {
    fn new(name: &'static str, data: &'static [u8]) -> Result<Self, String> {
        let font = FontRef::new(data).map_err(|e| format!("font {name}: {e}"))?;
        Ok(Self {
            name,
            data,
            font,
            used: GlyphRemapper::new(),
            meaning: BTreeMap::new(),
        })
    }

    fn glyph(&self, letter: char) -> Option<GlyphId> {
        self.font.charmap().map(letter)
    }

    /// In parts of the letters' size.
    fn advance(&self, glyph: GlyphId) -> f32 {
        let metrics = self
            .font
            .glyph_metrics(Size::new(1.0), LocationRef::default());
        metrics.advance_width(glyph).unwrap_or(0.0)
    }
}

/// The name of a font in the pages.
pub fn resource_name(font: usize) -> String {
    format!("F{font}")
}

impl Fonts {
    /// Reads the fonts that the program comes with.
    pub fn new() -> Result<Self, String> {
        Ok(Self {
            faces: vec![
                Face::new("Ubuntu-Light", UBUNTU_LIGHT)?,
                Face::new("Hack-Regular", HACK_REGULAR)?,
            ],
            unknown: 0,
        })
    }

    /// Which font has a letter, the wanted one first.
    fn find(&self, family: Family, letter: char) -> Option<(usize, GlyphId)> {
        let order = match family {
            Family::Text => [0, 1],
            Family::Code => [1, 0],
        };
        order
            .into_iter()
            .find_map(|i| Some((i, self.faces[i].glyph(letter)?)))
    }

    /// How long a text is, in parts of the letters' size.
    pub fn width(&self, family: Family, text: &str) -> f32 {
        let of = |letter| {
            let found = self
                .find(family, letter)
                .or_else(|| self.find(family, UNKNOWN));
            found.map_or(0.0, |(i, glyph)| self.faces[i].advance(glyph))
        };
        text.chars().map(of).sum()
    }

    /// The letters of a text as the file names them.
    pub fn shape(&mut self, family: Family, text: &str) -> Vec<GlyphRun> {
        let mut runs: Vec<GlyphRun> = Vec::new();
        for letter in text.chars() {
            let known = self.find(family, letter);
            self.unknown += usize::from(known.is_none());
            let Some((font, glyph)) = known.or_else(|| self.find(family, UNKNOWN)) else {
                continue;
            };
            let face = &mut self.faces[font];
            let width = face.advance(glyph);
            // TrueType has no more than 2¹⁶ glyphs.
            let code = face.used.remap(glyph.to_u32() as u16);
            face.meaning
                .entry(code)
                .or_insert(if known.is_some() { letter } else { UNKNOWN });
            match runs.last_mut() {
                Some(run) if run.font == font => {
                    run.codes.extend(code.to_be_bytes());
                    run.width += width;
                }
                _ => runs.push(GlyphRun {
                    font,
                    codes: code.to_be_bytes().to_vec(),
                    width,
                }),
            }
        }
        runs
    }

    /// Writes the used letters of all used fonts; gives names and objects for the pages.
    pub fn write(
        &self,
        pdf: &mut Pdf,
        next: &mut impl FnMut() -> Ref,
    ) -> Result<Vec<(String, Ref)>, String> {
        let mut written = Vec::new();
        for (i, face) in self.faces.iter().enumerate() {
            if face.meaning.is_empty() {
                continue;
            }
            written.push((resource_name(i), face.write(pdf, next)?));
        }
        Ok(written)
    }
}

const SYSTEM: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

impl Face {
    fn write(&self, pdf: &mut Pdf, next: &mut impl FnMut() -> Ref) -> Result<Ref, String> {
        let [outer, inner, descriptor, file, cmap] = std::array::from_fn(|_| next());
        // Six letters and a plus say that only a part of the font is there.
        let name = format!("PNTBCH+{}", self.name);
        let name = Name(name.as_bytes());
        pdf.type0_font(outer)
            .base_font(name)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(inner)
            .to_unicode(cmap);

        const THOUSAND: f32 = 1000.0;
        let old = |gid: u16| GlyphId::from(u32::from(gid));
        let widths = self
            .used
            .remapped_gids()
            .map(|gid| THOUSAND * self.advance(old(gid)));
        let mut cid = pdf.cid_font(inner);
        cid.subtype(CidFontType::Type2)
            .base_font(name)
            .system_info(SYSTEM)
            .font_descriptor(descriptor)
            .default_width(0.0)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        cid.widths().consecutive(0, widths);
        cid.finish();

        let metrics = self
            .font
            .metrics(Size::new(THOUSAND), LocationRef::default());
        let bounds = metrics.bounds.unwrap_or_default();
        let mut flags = FontFlags::SYMBOLIC;
        flags.set(FontFlags::FIXED_PITCH, metrics.is_monospace);
        pdf.font_descriptor(descriptor)
            .name(name)
            .flags(flags)
            .bbox(Rect::new(
                bounds.x_min,
                bounds.y_min,
                bounds.x_max,
                bounds.y_max,
            ))
            .italic_angle(metrics.italic_angle)
            .ascent(metrics.ascent)
            .descent(metrics.descent)
            .cap_height(metrics.cap_height.unwrap_or(metrics.ascent))
            .stem_v(80.0)
            .font_file2(file);

        let subset = subsetter::subset(self.data, 0, &self.used)
            .map_err(|e| format!("font {}: {e}", self.name))?;
        let packed = deflate(&subset)?;
        pdf.stream(file, &packed)
            .filter(Filter::FlateDecode)
            .pair(Name(b"Length1"), i32::try_from(subset.len()).unwrap_or(0));

        let mut meaning = UnicodeCmap::<u16>::new(Name(b"Custom"), SYSTEM);
        for (code, letter) in &self.meaning {
            meaning.pair(*code, *letter);
        }
        let packed = deflate(meaning.finish().as_slice())?;
        pdf.cmap(cmap, &packed).filter(Filter::FlateDecode);
        Ok(outer)
    }
}

/// Packs bytes as PDF expects it.
pub fn deflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map_err(|e| format!("cannot be packed: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_that_reports_use_is_in_a_font() {
        let fonts = Fonts::new().unwrap();
        let letters =
            "ABCxyz0189 äöüßéñÅçøłžř€£°±×÷−–—…·«»“”‘’§µ²³½√∞≈≠≤≥∑∂∆ΩαβγδεζηθλμνξπρστφχψωΓΔΣ→←↑↓□■";
        for letter in letters.chars() {
            assert!(fonts.find(Family::Text, letter).is_some(), "{letter}");
        }
    }

    #[test]
    fn a_letter_that_no_font_has_is_counted_and_shown_as_a_box() {
        let mut fonts = Fonts::new().unwrap();
        let wide = fonts.width(Family::Text, "漢");
        assert_eq!(wide, fonts.width(Family::Text, "□"));
        fonts.shape(Family::Text, "漢 σ");
        assert_eq!(fonts.unknown, 1);
    }

    #[test]
    fn runs_are_as_long_as_measured_and_go_on_in_another_font() {
        let mut fonts = Fonts::new().unwrap();
        let runs = fonts.shape(Family::Text, "F → m");
        let total: f32 = runs.iter().map(|r| r.width).sum();
        assert!((total - fonts.width(Family::Text, "F → m")).abs() < 1e-5);
        let letters: usize = runs.iter().map(|r| r.codes.len() / 2).sum();
        assert_eq!(letters, 5);
    }
}

//! Writing what the window shows for other programs: tables, pictures, whole recordings. Done in threads; the answer is a
//! sentence.

use crate::data::Data;
use crate::report;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A table of samples.
    Table(Table),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A recording, in the format that the ending of the name says.
    Recording(PathBuf),
    /// A report of recordings, in the format that the ending of the name says.
    Report(Vec<PathBuf>),
}

/// Samples of some channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names and units.
    pub columns: Vec<(String, String)>,
    /// Times, in s.
    pub times_s: Vec<f64>,
    /// Values, a vector a column.
    pub values: Vec<Vec<f64>>,
}

impl Table {
    /// Samples of channels from one time to another.
    pub fn of(data: &Data, channels: &[String], from_s: f64, to_s: f64) -> Self {
        let found = channels.iter().filter_map(|id| data.channel(id));
        let mut table = Self::default();
        for (at, channel) in found {
            let samples = data.history.samples(at, from_s, to_s);
            let (times, values) = samples.unzip();
            table.times_s = times;
            table.values.push(values);
            table
                .columns
                .push((channel.id.clone(), channel.unit.clone()));
        }
        table
    }

    /// As comma separated values: names with units in the first line.
    pub fn csv(&self) -> String {
        let mut text = String::from("time_s");
        for (id, unit) in &self.columns {
            let unit = unit.replace(['/', ' '], "_");
            // Writing to a string cannot fail.
            let _ = match unit.as_str() {
                "" => write!(text, ",{id}"),
                unit => write!(text, ",{id}_{unit}"),
            };
        }
        text.push('\n');
        for (row, t_s) in self.times_s.iter().enumerate() {
            let _ = write!(text, "{t_s:.6}");
            for column in &self.values {
                let value = column.get(row).copied().unwrap_or(f64::NAN);
                // Kept as floats: more digits would say nothing.
                let _ = if value.is_finite() {
                    write!(text, ",{}", value as f32)
                } else {
                    write!(text, ",")
                };
            }
            text.push('\n');
        }
        text
    }
}

/// Writes a file so that it is either whole or not there.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(&part, path)
    };
    write().inspect_err(|_| {
        // What is left of it is of no use.
        let _ = std::fs::remove_file(&part);
    })
}

fn write(content: &Content, path: &Path) -> Result<(), String> {
    let plain = |bytes: &[u8]| write_whole(path, bytes).map_err(|e| e.to_string());
    match content {
        Content::Table(table) => plain(table.csv().as_bytes()),
        Content::Bytes(bytes) => plain(bytes),
        Content::Report(recordings) => {
            let options = report::Options::new(recordings, path);
            let written = report::write(&options).map_err(|e| e.to_string());
            written.map(|_| ())
        }
        Content::Recording(recording) => crate::cli::session::export::whole(recording, path),
    }
}

/// Exports that are under way.
#[derive(Default)]
pub struct Exports {
    answers: Vec<mpsc::Receiver<String>>,
}

impl Exports {
    /// Begins to write; `wake` is called at the end.
    pub fn begin(&mut self, content: Content, path: PathBuf, wake: impl Fn() + Send + 'static) {
        let (tell, answer) = mpsc::channel();
        let name = path.display().to_string();
        let work = move || {
            let sentence = match write(&content, &path) {
                Ok(()) => format!("written: {}", path.display()),
                Err(e) => format!("'{}' could not be written: {e}", path.display()),
            };
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(sentence);
            wake();
        };
        let thread = std::thread::Builder::new().name("pantobench-export".into());
        if let Err(e) = thread.spawn(work) {
            let (tell, answer) = mpsc::channel();
            let _ = tell.send(format!("'{name}' could not be written: no thread ({e})"));
            self.answers.push(answer);
            return;
        }
        self.answers.push(answer);
    }

    /// What has become of them since the last call.
    pub fn poll(&mut self) -> Vec<String> {
        let mut sentences = Vec::new();
        self.answers.retain(|answer| match answer.try_recv() {
            Ok(sentence) => {
                sentences.push(sentence);
                false
            }
            Err(mpsc::TryRecvError::Empty) => true,
            Err(mpsc::TryRecvError::Disconnected) => false,
        });
        sentences
    }
}

/// A part of a picture of the window as PNG. `rect` is in points.
pub fn png(
    image: &eframe::egui::ColorImage,
    rect: eframe::egui::Rect,
    pixels_per_point: f32,
) -> Result<Vec<u8>, String> {
    let [width, height] = image.size;
    let clip = |v: f32, most: usize| ((v * pixels_per_point).round().max(0.0) as usize).min(most);
    let (left, right) = (clip(rect.left(), width), clip(rect.right(), width));
    let (top, bottom) = (clip(rect.top(), height), clip(rect.bottom(), height));
    if right <= left || bottom <= top {
        return Err("the panel is not on the screen".into());
    }
    let mut pixels = Vec::with_capacity((right - left) * (bottom - top) * 4);
    for row in top..bottom {
        for pixel in &image.pixels[row * width + left..row * width + right] {
            pixels.extend_from_slice(&pixel.to_array());
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, (right - left) as u32, (bottom - top) as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let write = |encoder: png::Encoder<'_, &mut Vec<u8>>| -> Result<(), png::EncodingError> {
        encoder.write_header()?.write_image_data(&pixels)
    };
    write(encoder).map_err(|e| e.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use eframe::egui::{Color32, ColorImage, Rect, pos2};

    #[test]
    fn a_table_holds_the_stretch_and_its_units() {
        let data = sample::run(1.0);
        let names = ["force".to_owned(), "nothing".into(), "line_position".into()];
        let table = Table::of(&data, &names, 0.0985, 0.1045);
        assert_eq!(table.times_s.len(), 3);
        let csv = table.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "time_s,force_N,line_position");
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("0.100000,"), "{}", lines[1]);
    }

    #[test]
    fn a_part_of_a_picture_is_cut_out() {
        let mut image = ColorImage::filled([40, 20], Color32::BLACK);
        image.pixels[5 * 40 + 10] = Color32::WHITE;
        let rect = Rect::from_min_max(pos2(5.0, 2.5), pos2(10.0, 5.0));
        let bytes = png(&image, rect, 2.0).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; 10 * 5 * 4];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (10, 5));
        assert_eq!(pixels[..4], [255, 255, 255, 255]);
        assert_eq!(pixels[4..8], [0, 0, 0, 255]);
        let outside = Rect::from_min_max(pos2(100.0, 0.0), pos2(120.0, 5.0));
        assert!(png(&image, outside, 1.0).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_said_and_leaves_nothing() {
        let mut exports = Exports::default();
        exports.begin(Content::Bytes(vec![1]), "/nowhere/at/all.png".into(), || {});
        let answer = exports.answers[0].recv().unwrap();
        assert!(answer.contains("/nowhere/at/all.png"), "{answer}");
    }
}

//! A report as PDF: the same blocks and the same charts as in HTML, as lines and letters with the fonts inside.

mod canvas;
mod fonts;
mod layout;
mod page;
mod table;

use super::document::Document;
use fonts::deflate;
use layout::{BODY, Bookmark, Layout, RULE};
use page::{BOTTOM, HEIGHT, LEFT, Pages, ROOM, Type, WIDTH, alpha_name};
use pdf_writer::{Date, Filter, Finish, Name, Pdf, Rect, Ref, TextStr};
use rt_core::record::name::Moment;

/// Draws a report; `made` is when, in nanoseconds since 1970. Gives the file and how many pages it has.
pub fn write(document: &Document, made: u64) -> Result<(Vec<u8>, usize), String> {
    let mut layout = Layout::of(document)?;
    let count = layout.pages.contents.len();
    for page in 0..count {
        margins(&mut layout.pages, document, page, count);
    }
    let bytes = assemble(layout, document, made)?;
    Ok((bytes, count))
}

/// What stands above and below the text of a page.
fn margins(pages: &mut Pages, document: &Document, page: usize, count: usize) {
    let look = Type {
        size: 8.0,
        color: eframe::egui::Color32::from_rgb(86, 96, 106),
        ..BODY
    };
    let number = format!("Page {} of {count}", page + 1);
    let width = pages.width(look, &number);
    let base = BOTTOM + 26.0;
    pages.words_on(page, LEFT + ROOM - width, base, look, &number);
    let footer = shortened(pages, look, &document.footer, ROOM - width - 16.0);
    pages.words_on(page, LEFT, base, look, &footer);
    if page > 0 {
        let title = shortened(pages, look, &document.title, ROOM);
        pages.words_on(page, LEFT, 40.0, look, &title);
        let content = &mut pages.contents[page];
        let [r, g, b, _] = RULE.to_array().map(|part| f32::from(part) / 255.0);
        content.save_state();
        content.set_stroke_rgb(r, g, b).set_line_width(0.6);
        content
            .move_to(LEFT, HEIGHT - 46.0)
            .line_to(LEFT + ROOM, HEIGHT - 46.0);
        content.stroke().restore_state();
    }
}

/// A text that fits into a line, with … where it was cut.
fn shortened(pages: &Pages, look: Type, text: &str, width: f32) -> String {
    let text = text.replace('\n', " ");
    if pages.width(look, &text) <= width {
        return text;
    }
    let mut kept = text;
    while kept.pop().is_some() {
        let shown = format!("{}…", kept.trim_end());
        if pages.width(look, &shown) <= width {
            return shown;
        }
    }
    String::new()
}

fn assemble(layout: Layout, document: &Document, made: u64) -> Result<Vec<u8>, String> {
    let Layout {
        pages, bookmarks, ..
    } = layout;
    let mut last = 0;
    let mut next = || {
        last += 1;
        Ref::new(last)
    };
    let mut pdf = Pdf::new();
    let [catalog, tree, info, resources, outline] = std::array::from_fn(|_| next());
    let Pages {
        contents,
        fonts,
        alphas,
    } = pages;
    let fonts = fonts.write(&mut pdf, &mut next)?;
    let opacities: Vec<(String, Ref)> = alphas
        .iter()
        .map(|alpha| {
            let id = next();
            let share = f32::from(*alpha) / 255.0;
            pdf.ext_graphics(id)
                .stroking_alpha(share)
                .non_stroking_alpha(share);
            (alpha_name(*alpha), id)
        })
        .collect();
    let mut found = pdf
        .indirect(resources)
        .start::<pdf_writer::writers::Resources<'_>>();
    let mut dictionary = found.fonts();
    for (name, id) in &fonts {
        dictionary.pair(Name(name.as_bytes()), *id);
    }
    dictionary.finish();
    let mut dictionary = found.ext_g_states();
    for (name, id) in &opacities {
        dictionary.pair(Name(name.as_bytes()), *id);
    }
    dictionary.finish();
    found.finish();

    let ids: Vec<(Ref, Ref)> = contents.iter().map(|_| (next(), next())).collect();
    for (content, (page, stream)) in contents.into_iter().zip(&ids) {
        let packed = deflate(content.finish().as_slice())?;
        pdf.stream(*stream, &packed).filter(Filter::FlateDecode);
        let mut page = pdf.page(*page);
        page.media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT))
            .parent(tree)
            .contents(*stream)
            .pair(Name(b"Resources"), resources);
        page.finish();
    }
    let count = i32::try_from(ids.len()).unwrap_or(i32::MAX);
    pdf.pages(tree).kids(ids.iter().map(|id| id.0)).count(count);
    let parts: Vec<&Bookmark> = bookmarks.iter().filter(|b| b.level <= 1).collect();
    contents_list(&mut pdf, outline, &parts, &ids, &mut next);
    describe(&mut pdf, info, document, made);
    let mut root = pdf.catalog(catalog);
    root.pages(tree).lang(TextStr("en"));
    if !parts.is_empty() {
        root.outlines(outline);
    }
    root.viewer_preferences().display_doc_title(true);
    root.finish();
    Ok(pdf.finish())
}

/// The list of contents that a reader shows beside the pages.
fn contents_list(
    pdf: &mut Pdf,
    outline: Ref,
    parts: &[&Bookmark],
    pages: &[(Ref, Ref)],
    next: &mut impl FnMut() -> Ref,
) {
    let items: Vec<Ref> = parts.iter().map(|_| next()).collect();
    let (Some(first), Some(end)) = (items.first(), items.last()) else {
        return;
    };
    let count = i32::try_from(items.len()).unwrap_or(i32::MAX);
    pdf.outline(outline).first(*first).last(*end).count(count);
    for (i, (part, id)) in parts.iter().zip(&items).enumerate() {
        let mut item = pdf.outline_item(*id);
        item.title(TextStr(&part.text)).parent(outline);
        if i > 0 {
            item.prev(items[i - 1]);
        }
        if let Some(after) = items.get(i + 1) {
            item.next(*after);
        }
        item.dest()
            .page(pages[part.page].0)
            .xyz(LEFT, HEIGHT - part.y + 12.0, None);
    }
}

fn describe(pdf: &mut Pdf, info: Ref, document: &Document, made: u64) {
    let moment = Moment::utc(made);
    let (year, month, day) = moment.date;
    let (hour, minute, second) = moment.time;
    // Parts of a date are small and positive.
    let small = |v: i32| u8::try_from(v).unwrap_or(0);
    let date = Date::new(u16::try_from(year).unwrap_or(0))
        .month(small(month))
        .day(small(day))
        .hour(small(hour))
        .minute(small(minute))
        .second(small(second))
        .utc_offset_hour(0);
    pdf.document_info(info)
        .title(TextStr(&document.title))
        .subject(TextStr(&document.subtitle))
        .creator(TextStr(concat!("Pantobench ", env!("CARGO_PKG_VERSION"))))
        .producer(TextStr(concat!("Pantobench ", env!("CARGO_PKG_VERSION"))))
        .creation_date(date);
}

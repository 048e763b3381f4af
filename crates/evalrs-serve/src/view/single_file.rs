//! A run as a page in one file: the viewer with its data, to be opened from a disk.
//!
//! Written as it is made: rows are compressed, and cases in packs, which the page opens one by one. The page asks nothing of anybody: its
//! policy knows one style and one script by their digests. What the data says is never markup, for it has no `<`.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::case::CaseView;
use super::repeats::without_repeats;
use super::rows::RowView;
use super::run::RunDetails;
use super::viewer;

/// The version of the data.
const FORMAT: u32 = 1;
/// The cases of a pack. The viewer counts on that.
const PACK: usize = 200;
/// How hard the compressor tries, of 10.
const EFFORT: u8 = 6;

const CHARSET: &str = r#"<meta charset="utf-8">"#;
const STYLE: &str = r#"<link rel="stylesheet" href="/viewer.css">"#;
const SCRIPT: &str = r#"<script type="module" src="/viewer.js"></script>"#;

/// A row of the page: what lists show, and what they are filtered by.
#[derive(Debug, Serialize)]
pub(crate) struct FileRow<'a> {
    /// What a server says of it.
    #[serde(flatten)]
    pub row: RowView,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub tags: &'a [String],
}

pub(crate) struct FileWriter<'a> {
    out: &'a mut dyn Write,
    /// What follows the data.
    end: String,
    /// The cases of the pack that is not full.
    pack: Vec<u8>,
    held: usize,
    packs: usize,
}

impl<'a> FileWriter<'a> {
    /// Writes all but the cases.
    pub(crate) fn begin<'r>(
        run: &RunDetails,
        rows: impl Iterator<Item = FileRow<'r>>,
        out: &'a mut dyn Write,
    ) -> io::Result<Self> {
        let script = viewer::script();
        let page = with_style(&script);
        let (before, after) = page.split_once(SCRIPT).unwrap_or((&page, ""));
        write!(out, "{before}<script type=\"application/json\" id=\"evalrs-data\">")?;
        write!(out, "{{\"format\":{FORMAT},\"previous\":null,\"run\":")?;
        write_harmless(run, out)?;
        let mut list = Vec::new();
        for row in rows {
            list.push(if list.is_empty() { b'[' } else { b',' });
            serde_json::to_writer(&mut list, &row)?;
        }
        if list.is_empty() {
            list.push(b'[');
        }
        list.push(b']');
        write!(out, ",\"rows\":\"{}\",\"cases\":[", packed(&list))?;
        let end = format!("]}}</script>\n<script type=\"module\">{script}</script>{after}");
        Ok(Self { out, end, pack: Vec::new(), held: 0, packs: 0 })
    }

    /// Writes a case: that of the next row. Cases have no name in the file.
    pub(crate) fn case(&mut self, case: &CaseView) -> io::Result<()> {
        self.pack.push(if self.held > 0 { b',' } else { b'[' });
        serde_json::to_writer(&mut self.pack, case)?;
        self.held += 1;
        if self.held == PACK { self.write_pack() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.held > 0 {
            self.write_pack()?;
        }
        self.out.write_all(self.end.as_bytes())
    }

    fn write_pack(&mut self) -> io::Result<()> {
        self.pack.push(b']');
        let separator = if self.packs > 0 { ",\n" } else { "\n" };
        write!(self.out, "{separator}\"{}\"", packed(&self.pack))?;
        self.pack.clear();
        self.held = 0;
        self.packs += 1;
        Ok(())
    }
}

/// The page of the viewer, with its style inside and the policy that `script` fits.
fn with_style(script: &str) -> String {
    let style = viewer::style();
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    let policy = format!(
        "default-src 'none'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style),
    );
    let meta =
        format!("{CHARSET}\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
    let page = viewer::page().replacen(CHARSET, &meta, 1);
    page.replacen(STYLE, &format!("<style>{style}</style>"), 1)
}

/// Writes JSON that can stand in a script: nothing in it begins or ends an element, or ends a line of JavaScript.
fn write_harmless(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut json = serde_json::to_string(value)?;
    for (char, escape) in [('<', "\\u003c"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")] {
        if json.contains(char) {
            json = json.replace(char, escape);
        }
    }
    out.write_all(json.as_bytes())
}

/// JSON as small as the viewer can read it.
fn packed(json: &[u8]) -> String {
    STANDARD.encode(gzip(&without_repeats(json)))
}

/// RFC 1952, without a name and a time: the same bytes whenever it is done.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    packed.extend(miniz_oxide::deflate::compress_to_vec(bytes, EFFORT));
    packed.extend(crc32fast::hash(bytes).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use ring::digest::{SHA256, digest};

    use super::{CHARSET, SCRIPT, STYLE, gzip, viewer, with_style, write_harmless};

    #[test]
    fn the_page_holds_its_style_and_knows_its_parts_by_digest() {
        let page = viewer::page();
        for part in [CHARSET, STYLE, SCRIPT] {
            assert_eq!(page.matches(part).count(), 1, "{part}");
        }
        let script = viewer::script();
        // What would end the element that holds it.
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!viewer::style().contains("</style"));
        let page = with_style(&script);
        for text in [script.as_str(), viewer::style()] {
            let hash = STANDARD.encode(digest(&SHA256, text.as_bytes()));
            assert_eq!(page.matches(&format!("'sha256-{hash}'")).count(), 1);
        }
        assert!(page.find("Content-Security-Policy") < page.find("<style>"));
        assert!(!page.contains("unsafe-inline") && !page.contains(STYLE));
    }

    #[test]
    fn texts_in_a_script_are_harmless_and_stay_what_they_are() {
        for text in
            ["</script><script>alert(1)", "<!--", "]]>", "\u{2028}\u{2029}", "\0\u{1b}\u{202e}"]
        {
            let mut written = Vec::new();
            write_harmless(&text, &mut written).unwrap();
            let written = String::from_utf8(written).unwrap();
            assert!(!written.contains(['<', '\u{2028}', '\u{2029}', '\0']), "{written}");
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }

    #[test]
    fn what_is_compressed_has_the_frame_of_gzip() {
        for bytes in [&b""[..], b"a", &b"again and again and again ".repeat(100)] {
            let packed = gzip(bytes);
            let deflated = &packed[10..packed.len() - 8];
            assert_eq!(packed[..4], [0x1f, 0x8b, 8, 0]);
            assert_eq!(miniz_oxide::inflate::decompress_to_vec(deflated).unwrap(), bytes);
            let (checksum, length) = packed[packed.len() - 8..].split_at(4);
            assert_eq!(checksum, crc32fast::hash(bytes).to_le_bytes());
            assert_eq!(length, (bytes.len() as u32).to_le_bytes());
        }
    }
}

//! What the tree says of YAML, and what it withstands.

use std::fmt::Write;

use super::*;

fn parsed(text: &str) -> (Option<YamlNode>, String) {
    let mut sources = Sources::default();
    let mut diagnostics = Vec::new();
    let node = parse("s.yaml", text, &mut sources, &mut diagnostics);
    assert!(node.is_some() || !diagnostics.is_empty(), "no tree and nothing said");
    (node, diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect())
}

/// Every key and scalar with the text its span covers.
fn dump(node: &YamlNode, text: &str, path: &str, out: &mut String) {
    let written = |span: SourceSpan| &text[span.start as usize..span.end as usize];
    match &node.value {
        Yaml::Seq(items) => {
            for (index, item) in items.iter().enumerate() {
                dump(item, text, &format!("{path}[{index}]"), out);
            }
        }
        Yaml::Map(entries) => {
            for entry in entries {
                let path = format!("{path}.{}", entry.key);
                writeln!(out, "{path} key {:?}", written(entry.key_span)).unwrap();
                dump(&entry.value, text, &path, out);
            }
        }
        value => {
            writeln!(out, "{path} {:?} {:?} {value:?}", node.style, written(node.span)).unwrap();
        }
    }
}

fn spans(text: &str) -> String {
    let (node, said) = parsed(text);
    let mut out = String::new();
    dump(&node.expect(&said), text, "", &mut out);
    out
}

#[test]
fn spans_cover_keys_and_values_exactly() {
    insta::assert_snapshot!(spans("é: ünï  # c\n'q k': \"two\"\nlist:\n  - 1\n  - [a, 2.5]\n1: ~\nempty:\n"), @r#"
    .é key "é"
    .é Plain "ünï" Str("ünï")
    .q k key "'q k'"
    .q k Quoted "\"two\"" Str("two")
    .list key "list"
    .list[0] Plain "1" Int(1)
    .list[1][0] Plain "a" Str("a")
    .list[1][1] Plain "2.5" Float(2.5)
    .1 key "1"
    .1 Plain "~" Null
    .empty key "empty"
    .empty Plain "" Null
    "#);
}

#[test]
fn blocks_are_text_and_cover_their_content() {
    insta::assert_snapshot!(spans("a: |\n  one\n  two\n\nb: >-  # folded\n  5\nc:\n  plain\n  goes on\nd: 'x\n\n  y'\n"), @r#"
    .a key "a"
    .a Quoted "one\n  two" Str("one\ntwo\n")
    .b key "b"
    .b Quoted "5" Str("5")
    .c key "c"
    .c Plain "plain\n  goes on" Str("plain goes on")
    .d key "d"
    .d Quoted "'x\n\n  y'" Str("x\ny")
    "#);
}

#[test]
fn aliases_and_merges_point_to_where_the_value_is_written() {
    let text = "base: &b {x: 1, y: 2}\ncopy: *b\nmerged:\n  x: 3\n  <<: *b\nboth: {<<: [*b, {x: 9, z: 4}]}\n\"<<\": no\n";
    insta::assert_snapshot!(spans(text), @r#"
    .base key "base"
    .base.x key "x"
    .base.x Plain "1" Int(1)
    .base.y key "y"
    .base.y Plain "2" Int(2)
    .copy key "copy"
    .copy.x key "x"
    .copy.x Plain "1" Int(1)
    .copy.y key "y"
    .copy.y Plain "2" Int(2)
    .merged key "merged"
    .merged.x key "x"
    .merged.x Plain "3" Int(3)
    .merged.y key "y"
    .merged.y Plain "2" Int(2)
    .both key "both"
    .both.x key "x"
    .both.x Plain "1" Int(1)
    .both.y key "y"
    .both.y Plain "2" Int(2)
    .both.z key "z"
    .both.z Plain "4" Int(4)
    .<< key "\"<<\""
    .<< Plain "no" Str("no")
    "#);
    let (node, _) = parsed(text);
    let node = node.unwrap();
    let span =
        |path: [&str; 2]| node.get(path[0]).and_then(|inner| inner.get(path[1])).unwrap().span;
    assert_eq!(span(["copy", "x"]), span(["base", "x"]));
    assert_eq!(span(["merged", "y"]), span(["base", "y"]));
}

#[test]
fn tags_force_a_type() {
    for (text, expected) in [
        ("a: !!str 5", Yaml::Str("5".to_owned())),
        ("a: ! 5", Yaml::Str("5".to_owned())),
        ("a: !!int \"5\"", Yaml::Int(5)),
        ("a: !!float 5.5", Yaml::Float(5.5)),
        ("a: 'true'", Yaml::Str("true".to_owned())),
        ("a: \"\"", Yaml::Str(String::new())),
        ("\u{feff}a: \"\\u00e9\\n\"\r\n", Yaml::Str("é\n".to_owned())),
    ] {
        let (node, said) = parsed(text);
        assert_eq!(node.unwrap().get("a").unwrap().value, expected, "{text} {said}");
    }
}

#[test]
fn hostile_files_end_in_an_error_soon() {
    let nested = |open: &str, close: &str, levels: usize| {
        format!("a: {}1{}", open.repeat(levels), close.repeat(levels))
    };
    let chain: Vec<String> =
        (1..3000).map(|level| format!("a{level}: &a{level} [*a{}]\n", level - 1)).collect();
    let chain = chain.concat();
    let bomb: Vec<String> = (1..12)
        .map(|level| {
            format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "))
        })
        .collect();
    let bomb = bomb.concat();
    let many = "- *a\n".repeat(150_000);
    let blocks: Vec<String> = (0..200).map(|level| format!("{}- \n", " ".repeat(level))).collect();
    let blocks = blocks.concat();
    for (text, expected) in [
        (nested("[", "]", 127), ""),
        (nested("{b: ", "}", 127), ""),
        (nested("[", "]", 128), "lists and mappings are nested deeper than 128 levels"),
        ("[".repeat(100_000), "lists and mappings are nested deeper than 128 levels"),
        ("{a: ".repeat(100_000), "lists and mappings are nested deeper than 128 levels"),
        (blocks, "lists and mappings are nested deeper than 128 levels"),
        (format!("a0: &a0 [x]\n{chain}"), "lists and mappings are nested deeper than 128 levels"),
        (
            format!("a0: &a0 [x]\n{bomb}"),
            "the aliases of this file expand to more than 100,000 values",
        ),
        (format!("- &a x\n{many}"), "the aliases of this file expand to more than 100,000 values"),
        (
            "a: x\n".repeat(MAX_BYTES / 5 + 1),
            "the file is larger than 4 MB, the most a suite may have",
        ),
        ("a: \0".to_owned(), "there is a NUL character here: this is not a text file"),
    ] {
        let (node, said) = parsed(&text);
        assert_eq!(said, expected);
        assert_eq!(node.is_some(), expected.is_empty());
    }
}

#[test]
fn keys_written_twice_are_all_found() {
    let (node, said) = parsed("a: 1\nb: {x: 1, x: 2}\na: 3\n");
    assert_eq!(said, "`x` is written twice in this mapping`a` is written twice in this mapping");
    assert_eq!(node.unwrap().get("a").unwrap().value, Yaml::Int(1));
}

#[test]
fn a_large_suite_is_read() {
    let graders: Vec<String> = (0..20_000)
        .map(|index| {
            format!("  g{index}: {{kind: tool, function: contains, extractor: last_assistant}}\n")
        })
        .collect();
    let graders = graders.concat();
    let (node, said) = parsed(&format!("graders:\n{graders}"));
    assert_eq!(
        node.and_then(|node| Some(node.get("graders")?.entries().len())),
        Some(20_000),
        "{said}"
    );
}

use super::*;

    fn dump(node: &Node, text: &str, out: &mut String, name: &str) {
        use std::fmt::Write;
        let s = &text[node.span.start as usize..node.span.end as usize];
        writeln!(out, "{name} {:?} {s:?} {}", node.style, match &node.value { Kind::Seq(_)=>"seq".into(), Kind::Map(_)=>"map".into(), v=>format!("{v:?}") }).unwrap();
        match &node.value {
            Kind::Seq(items) => for (i, n) in items.iter().enumerate() { dump(n, text, out, &format!("{name}[{i}]")) },
            Kind::Map(es) => for e in es { writeln!(out, "key {:?}", &text[e.key_span.start as usize..e.key_span.end as usize]).unwrap(); dump(&e.value, text, out, &format!("{name}.{}", e.key)) },
            _ => {}
        }
    }

    #[test]
    fn spike() {
        let text = "é: &a {x: 1, 'y z': \"two\"}\nb: *a\nc:\n  <<: *a\n  x: 3\n  d: |\n    block\n    more\n\n  e: plain text  # c\n  f:\n    - 1\n    - [a, b]\n  g: !!str 5\n  1: yes\n  h: 1_000\n  l:\n  m: \"a\n    b\"\n  true: x\n  *q : 1\n".replace("  *q : 1\n", "");
        let text = text.as_str();
        let mut sources = Sources::default();
        let mut diagnostics = Vec::new();
        let node = parse("s.yaml", text, &mut sources, &mut diagnostics);
        for d in &diagnostics { println!("{}", d.render(false)); }
        let mut out = String::new();
        if let Some(node) = node { dump(&node, text, &mut out, ""); }
        println!("{out}");
        let deep: String = format!("a0: &a0 [x]\n{}", (1..3000).map(|i| format!("a{i}: &a{i} [*a{}]\n", i-1)).collect::<String>());
        let bomb: String = format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{}", (1..9).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i-1); 9].join(", "))).collect::<String>());
        for text in ["a: 1\na: 2\n", "a:\n\t- b", "", "# only\n", "a: 1\n---\nb: 2", "a: [1, 2", "a: *x", "a: &a [*a]", "a: \"x", "a: b: c", "- a\nb: c", "a: {b: c", "a: 'x\nb: y", "? [a]\n: b", "a: @x", "a: %x", "a: b\n c: d\n", "a: .inf", "a: 1e999", "null: x", "~: x", ": x", "a: !foo bar", "a: !!int x", &bomb, &deep, &"[".repeat(500), &format!("a: {}1{}", "[".repeat(127), "]".repeat(127)), &format!("a: {}1{}", "[".repeat(128), "]".repeat(128)),"a: 99999999999999999999", "\u{feff}a: 1\nb", "a: x\0", "a: \u{1}x", "a:\n  b: 1\n c: 2", "<<: 5", "<<: [1]", "a: `x", "key: [a, b}\n", "%YAML 3.0\n---\na: 1", "a: 1\n...\nb", "a\n", "5", "[1]", "---\n---\n", "---\n", "a: ! 5", "a: !!binary aaa"] {
            let mut sources = Sources::default();
            let mut diagnostics = Vec::new();
            let start = std::time::Instant::now();
            let node = parse("s.yaml", text, &mut sources, &mut diagnostics);
            println!("=== {:?} {} {:?}", text.chars().take(40).collect::<String>(), node.is_some(), start.elapsed());
            for d in &diagnostics { println!("{}", d.render(false)); }
            if text.len() < 50 { if let Some(n) = node { println!("{:?}", n.value); } }
        }
    }

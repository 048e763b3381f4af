//! What becomes of TypeScript, as tables.

use super::{StrippedModule, strip};

fn stripped(source: &str) -> StrippedModule {
    strip("grader.ts", source).unwrap_or_else(|problem| panic!("{problem:?} in\n{source}"))
}

/// What of a source is left without its source map; indentation does not matter.
fn left(source: &str) -> String {
    let code = stripped(source).code;
    let (code, map) = code.split_once("//# sourceMappingURL=").expect("a source map");
    assert!(map.starts_with("data:application/json;") && map.lines().count() == 1, "{source}");
    code.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(left(source), *expected, "{source}");
    }
}

#[test]
fn types_vanish() {
    check(&[
        ("let x: number = 1", "let x = 1;"),
        ("let x!: number", "let x;"),
        ("const f = (a: string, b?: number): boolean => !!b", "const f = (a, b) => !!b;"),
        ("const f = async <T,>(a: T): Promise<T> => a", "const f = async (a) => a;"),
        (
            "function f(this: Window, a?: number, ...rest: string[]): a is string { return g<T>(a!) }",
            "function f(a, ...rest) {\nreturn g(a);\n}",
        ),
        ("function f(this: void) {}", "function f() {}"),
        ("function f(a: string): void\nfunction f(a: any) {}", "function f(a) {}"),
        (
            "export function f(a: string): void\nexport function f(a: any) {}",
            "export function f(a) {}",
        ),
        ("interface A { x: number }\ntype B = A | null\ndeclare const c: B", ""),
        ("const a = b as unknown as C", "const a = b;"),
        ("const a = { x: 1 } satisfies A", "const a = { x: 1 };"),
        ("const a = <A>{ x: 1 }", "const a = { x: 1 };"),
        ("const f = () => <A>{ x: 1 }", "const f = () => ({ x: 1 });"),
        ("try { f() } catch (e: unknown) {}", "try {\nf();\n} catch (e) {}"),
        ("const m = new Map<string, number>()", "const m = new Map();"),
        ("declare global { interface Window { x: 1 } }\nexport {}", "export {};"),
        ("declare module 'a' {\n  const x: 1\n}", ""),
        ("namespace Types {\n  export interface A {}\n}", ""),
        ("for (const x of y as string[]) {}", "for (const x of y) {}"),
        ("const { a, b }: { a: 1, b: 2 } = c", "const { a, b } = c;"),
        ("(a as B) = c as D\n(e!)++\nf<G>(h)", "a = c;\ne++;\nf(h);"),
        ("import a = A.b\ntype C = a", ""),
        (
            "// says why\nlet a: number // at the end\n/** tells */\nexport const b = 1",
            "// says why\nlet a;\n/** tells */\nexport const b = 1;",
        ),
        (
            "#!/usr/bin/env node\n'use strict'\nlet a: 1",
            "#!/usr/bin/env node\n\"use strict\";\nlet a;",
        ),
        ("const t = tag<string>`x`", "const t = tag`x`;"),
        ("a?.b!.c![0]!()", "a?.b.c[0]();"),
    ]);
}

#[test]
fn classes_keep_what_runs() {
    check(&[
        ("abstract class A<T> extends B<T> implements C, D<E> {}", "class A extends B {}"),
        ("class A implements B {}", "class A {}"),
        (
            "class A {\n  private readonly x: number = 1\n  static override y?: string\n  declare z: 1\n}",
            "class A {\nx = 1;\nstatic y;\n}",
        ),
        ("class A {\n  get: string\n  foo() {}\n}", "class A {\nget;\nfoo() {}\n}"),
        ("class A {\n  x = 1\n  private ['y'] = 2\n}", "class A {\nx = 1;\n[\"y\"] = 2;\n}"),
        ("class A {\n  x = 1 as number\n  ['y'] = 2\n}", "class A {\nx = 1;\n[\"y\"] = 2;\n}"),
        (
            "abstract class A {\n  [key: string]: unknown\n  abstract f(): void\n  g(): void\n  public async g?<T>(a: T): Promise<void> {}\n}",
            "class A {\nasync g(a) {}\n}",
        ),
        (
            "class A { constructor(private a: number, readonly b = 2, c?: string) { f() } }",
            "class A {\na;\nb;\nconstructor(a, b = 2, c) {\nthis.a = a;\nthis.b = b;\nf();\n}\n}",
        ),
        (
            "class A extends B { constructor(public a: number) { super(a) } }",
            "class A extends B {\na;\nconstructor(a) {\nsuper(a);\nthis.a = a;\n}\n}",
        ),
    ]);
}

#[test]
fn imports_that_only_types_use_vanish() {
    check(&[
        ("import type { A } from 'a'", "export {};"),
        ("import { A, b } from 'a'\nb as A", "import { b } from \"a\";\nb;"),
        ("import { b, type A } from 'a'\nb", "import { b } from \"a\";\nb;"),
        ("import { A } from 'a'\nconst x: A = 1", "const x = 1;\nexport {};"),
        ("import D, { A } from 'a'\nD()", "import D from \"a\";\nD();"),
        ("import D, { a } from 'a'\na()", "import { a } from \"a\";\na();"),
        ("import * as ns from 'a'\ntype A = typeof ns", "export {};"),
        ("import 'a'", r#"import "a";"#),
        ("import {} from 'a'", r#"import "a";"#),
        ("export type { A } from 'a'\nexport * from 'b'", r#"export * from "b";"#),
        ("interface A {}\nconst b = 1\nexport { A, b }", "const b = 1;\nexport { b };"),
        ("import { A } from 'a'\nexport { A }", "import { A } from \"a\";\nexport { A };"),
        ("import a = require('a')\na()", "const a = require(\"a\");\na();"),
        ("export = { a: 1 as number }", "module.exports = { a: 1 };"),
        ("import { a } from 'a'\nconst b = { a }", "import { a } from \"a\";\nconst b = { a };"),
    ]);
}

#[test]
fn statements_stay_apart() {
    check(&[
        ("const a = b as C\n(d)", "const a = b;\nd;"),
        ("const a = b\ninterface C {}\n(d)", "const a = b;\nd;"),
        ("x = y satisfies Z\n[1].map(f)", "x = y;\n[1].map(f);"),
        ("const f = (a: A): {\n  b: C\n} => a", "const f = (a) => a;"),
        ("const f = async <\n  T\n>(a: T) => a", "const f = async (a) => a;"),
        ("return <A>\n  b", "return b;"),
    ]);
}

#[test]
fn enums_and_namespaces_become_code() {
    check(&[
        (
            "enum A { B = 1, C }",
            "var A = /* @__PURE__ */ function(A) {\nA[A[\"B\"] = 1] = \"B\";\nA[A[\"C\"] = 2] = \"C\";\nreturn A;\n}(A || {});",
        ),
        (
            "export const enum A {\n  B,\n  'c-d' = B | 4,\n}",
            "export let A = /* @__PURE__ */ function(A) {\nA[A[\"B\"] = 0] = \"B\";\nA[A[\"c-d\"] = 4] = \"c-d\";\nreturn A;\n}({});",
        ),
        ("declare enum A { B }", ""),
        (
            "namespace A { export const b = 1; export function c(): void {} }",
            "let A;\n(function(_A) {\nconst b = _A.b = 1;\nfunction c() {}\n_A.c = c;\n})(A || (A = {}));",
        ),
        (
            "export namespace A.B { export enum C { D } }",
            "export let A;\n(function(_A) {\nlet B;\n(function(_B) {\nlet C = /* @__PURE__ */ function(C) {\nC[C[\"D\"] = 0] = \"D\";\nreturn C;\n}({});\n_B.C = C;\n})(B || (B = _A.B || (_A.B = {})));\n})(A || (A = {}));",
        ),
        (
            "class A {}\nnamespace A { export const b = 1 }",
            "class A {}\n(function(_A) {\nconst b = _A.b = 1;\n})(A || (A = {}));",
        ),
        (
            "enum A { B }\nenum A { C = 'c' }",
            "var A = /* @__PURE__ */ function(A) {\nA[A[\"B\"] = 0] = \"B\";\nreturn A;\n}(A || {});\nA = /* @__PURE__ */ function(A) {\nA[\"C\"] = \"c\";\nreturn A;\n}(A || {});",
        ),
        (
            "enum A { B = 1 << 2, C = B | f(), D = 'd' }",
            "var A = /* @__PURE__ */ function(A) {\nA[A[\"B\"] = 4] = \"B\";\nA[A[\"C\"] = A.B | f()] = \"C\";\nA[\"D\"] = \"d\";\nreturn A;\n}(A || {});",
        ),
        (
            "enum A { B }\nconst enum C { D = A.B }\nf(C.D)",
            "var A = /* @__PURE__ */ function(A) {\nA[A[\"B\"] = 0] = \"B\";\nreturn A;\n}(A || {});\nvar C = /* @__PURE__ */ function(C) {\nC[C[\"D\"] = 0] = \"D\";\nreturn C;\n}(C || {});\nf(C.D);",
        ),
        (
            "namespace A { export namespace B { export const c = 1 } }\nimport c = A.B.c\nf(c)",
            "let A;\n(function(_A) {\nlet B;\n(function(_B) {\nconst c = _B.c = 1;\n})(B || (B = _A.B || (_A.B = {})));\n})(A || (A = {}));\nvar c = A.B.c;\nf(c);",
        ),
    ]);
}

#[test]
fn exports_are_told() {
    for (path, source, is_module, exports) in [
        ("a.ts", "export const grade = 1, b = 2\nexport default 3", true, "b default grade"),
        (
            "a.ts",
            "const { x: y, ...z } = a\nexport { y as grade, z }\nexport type T = 1",
            true,
            "grade z",
        ),
        ("a.ts", "export const { x: y, ...z } = a", true, "y z"),
        (
            "a.ts",
            "export async function grade() {}\nexport class B {}\nexport enum C {}\nexport declare const d: 1",
            true,
            "B C grade",
        ),
        ("a.ts", "export * from './b'\nexport * as c from './c'", true, "* c"),
        ("a.ts", "export { grade } from './b'\nexport type { D } from './d'", true, "grade"),
        ("a.ts", "import type { A } from 'a'\nexports.grade = (x: A) => x", false, "grade"),
        ("a.ts", "import type { A } from 'a'", true, ""),
        ("a.ts", "const x = 1", false, ""),
        ("a.ts", "const x: number = await f()", true, ""),
        ("a.ts", "const x: string = import.meta.url", true, ""),
        ("a.ts", "import { A } from 'a'\nexport = { grade: (x: A) => x }", false, "grade"),
        ("a.ts", "interface A {}\nexport { A, b as grade }\nconst b = 1", true, "grade"),
        ("a.mts", "const x = 1", true, ""),
        ("a.cts", "module.exports.grade = 1", false, "grade"),
        ("a.ts", "export = { grade, b: 1 }", false, "b grade"),
        ("a.js", "module.exports = { grade, 'b': 1 }", false, "b grade"),
        ("a.cjs", "module.exports = { ...other }", false, "*"),
        ("a.js", "Object.assign(exports, { grade })", false, "*"),
        ("a.js", "export const grade = () => 1", true, "grade"),
        ("a.mjs", "const x = 1 // : number", true, ""),
    ] {
        let stripped =
            strip(path, source).unwrap_or_else(|problem| panic!("{problem:?} in {source}"));
        assert_eq!(
            (stripped.is_module, stripped.exports.join(" ").as_str()),
            (is_module, exports),
            "{source}"
        );
    }
    assert!(stripped("export const score = 1").lacks("grade"));
    assert!(!stripped("export * from './b'").lacks("grade"));
}

#[test]
fn javascript_stays_as_it_is() {
    let source = "export const grade = ({ output }) => output // as string";
    assert_eq!(strip("a.js", source).unwrap().code, source);
}

#[test]
fn problems_have_a_place() {
    for (path, source, line, column, message) in [
        ("a.ts", "const a = 1\nconst b: = 2", 2, 10, "Unexpected token"),
        ("a.mjs", "let a\n\nlet b: number", 3, 6, "Expected a semicolon"),
        ("a.ts", "class A {\n  @b c() {}\n}", 2, 3, "decorators"),
        ("a.ts", "class A {\n  accessor b = 1\n}", 2, 3, "decorators"),
        ("a.ts", "class A {}\nnamespace A { export let b = 1 }", 2, 26, "non-const"),
        ("a.ts", "let a: 1\nlet a: 2", 1, 5, "`a` has already been declared"),
        ("a.ts", "const é = (", 1, 12, "Expected `)`"),
    ] {
        let problem = strip(path, source).unwrap_err();
        assert_eq!((problem.line, problem.column), (line, column), "{source}: {problem}");
        assert!(problem.message.contains(message), "{source}: {problem}");
    }
}

#[test]
fn deep_nesting_is_survived() {
    let depth = 5_000;
    for (open, close) in
        [("(", ")"), ("[", "]"), ("f(", ")"), ("() => {", "}"), ("!", ""), ("1 + ", "")]
    {
        let source = format!("export const a = {}1{}", open.repeat(depth), close.repeat(depth));
        let stripped = stripped(&source);
        assert_eq!(stripped.exports, ["a"], "{open}");
        assert!(stripped.code.len() < 100 * source.len(), "{open}");
    }
    let _ = strip("a.ts", &"(".repeat(depth));
    let _ = strip("a.ts", &"!".repeat(depth));
}

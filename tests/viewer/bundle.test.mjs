// Checks the viewer without a browser: that its modules make one script, and what its pure functions answer.
// Run with `node --test tests/viewer/bundle.test.mjs`.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { Script } from 'node:vm'
import { describe, test } from 'node:test'
import { bundle, file, modules, stripped, VIEWER } from './bundle.mjs'
import { fromBundle, fromPage } from './evaluated.mjs'

/** The longest module, in lines. */
const MOST_LINES = 300
/** The largest bundle, in bytes. */
const MOST_BYTES = 280_000

describe('the bundle', () => {
  test('has every module once', () => {
    const there = readdirSync(VIEWER).filter((name) => name.endsWith('.js')).sort()
    assert.deepEqual([...modules()].sort(), there)
  })

  test('parses as a script, strictly', () => {
    assert.doesNotThrow(() => new Script(`'use strict';${bundle()}`))
  })

  test('is small', () => {
    assert.ok(Buffer.byteLength(bundle()) < MOST_BYTES, `${Buffer.byteLength(bundle())} bytes`)
  })

  test('gives no name twice', () => {
    const names = [...bundle().matchAll(/^(?:async )?(?:function\*?|const|let|class) ([\w$]+)/gm)].map((match) => match[1])
    assert.deepEqual(names.filter((name, at) => names.indexOf(name) !== at), [])
  })

  for (const name of modules()) {
    test(`${name} can be bundled`, () => {
      const text = file(name)
      const lines = text.split('\n')
      assert.match(lines[0], /^\/\/ \S/, 'a comment says what the module owns')
      assert.ok(lines.length <= MOST_LINES, `${lines.length} lines`)
      assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style'|javascript:|https?:\/\/(?!www\.w3\.org\/2000\/svg)/)
      for (const line of lines.filter((one) => /^\s*(import|export)\b/.test(one))) {
        assert.match(line, /^(import \{ [\w, ]+ \} from '\.\/[\w]+\.js'$|export (async )?(function|class|const) )/, line)
      }
      assert.doesNotMatch(stripped(text), /^(import|export)\b/m)
    })

    test(`${name} imports what stands before it, and uses it`, () => {
      const order = modules()
      const text = file(name)
      const rest = stripped(text)
      for (const [, names, from] of text.matchAll(/^import \{ ([\w, ]+) \} from '\.\/([\w]+\.js)'$/gm)) {
        assert.ok(order.indexOf(from) >= 0 && order.indexOf(from) < order.indexOf(name), `${from} stands before ${name}`)
        for (const one of names.split(', ')) {
          assert.match(file(from), new RegExp(`^export (async )?(function|class|const) ${one}\\b`, 'm'), `${from} exports ${one}`)
          assert.match(rest, new RegExp(`\\b${one}\\b`), `${one} is used`)
        }
      }
    })
  }
})

describe('text', () => {
  const { visible, named, decimal, signed, money, beginning, gateNumbers, duration } = fromBundle('visible', 'named', 'decimal', 'signed', 'money', 'beginning', 'gateNumbers', 'duration')

  test('control characters are seen', () => {
    const table = [['a\nb\tc', 'a\nb\tc'], ['a\r\nb', 'a\nb'], ['\0', '␀'], ['\u001b[31m', '␛[31m'], ['\u007f', '␡'], ['\u202eabc', '⟨U+202E⟩abc'], ['\u0085', '⟨U+0085⟩'], ['\u{e0041}', '⟨U+E0041⟩'],
      ['\ud800', '⟨U+D800⟩'], ['😀 é 漢', '😀 é 漢'], ['\r', '␍'], [null, 'null']]
    for (const [text, seen] of table) assert.equal(visible(text), seen)
  })

  test('a name without letters can be clicked', () => {
    for (const [text, seen] of [[' ', '⟨blank⟩'], ['', '⟨blank⟩'], ['\t\n', '⟨blank⟩'], [' a ', ' a ']]) assert.equal(named(text), seen)
  })

  test('numbers', () => {
    assert.equal(decimal(null), '–')
    assert.equal(decimal(0.12345), '0.123')
    assert.equal(signed(-0.0001), '0.000')
    assert.equal(signed(-0.25), '−0.250')
    assert.equal(signed(0.25), '+0.250')
    assert.equal(money(0), '$0.00')
    assert.equal(money(0.00041), '$0.00041')
    assert.equal(money(12.3), '$12.30')
    assert.equal(gateNumbers({ value: 0.7, op: 'gte', threshold: 0.8 }), '0.700 ≥ 0.8')
    assert.equal(gateNumbers({ value: null }), '')
    assert.equal(beginning('a  b\n c', 4), 'a b …')
    assert.equal(duration('2026-01-01T00:00:00Z', '2026-01-01T00:01:35Z'), '1 min 35 s')
    assert.equal(duration(null, '2026-01-01T00:01:35Z'), '–')
  })
})

describe('markdown', () => {
  /** A document as small as the functions need it. */
  class Made {
    constructor(tag) {
      Object.assign(this, { tag, attributes: {}, children: [] })
    }
    setAttribute(name, value) {
      this.attributes[name] = value
    }
    append(...children) {
      this.children.push(...children)
    }
    get html() {
      if (this.tag === null) return this.text
      const shown = ['href', 'src', 'start'].filter((name) => name in this.attributes).map((name) => ` ${name}=${this.attributes[name].slice(0, 30)}`)
      return `<${this.tag}${shown.join('')}>${this.children.map((one) => one.html).join('')}</${this.tag}>`
    }
  }
  const document = { createElement: (tag) => new Made(tag), createTextNode: (text) => Object.assign(new Made(null), { text }) }
  const { markdownNodes } = fromPage({ document, Node: Made }, 'markdownNodes')
  const shown = (text) => markdownNodes(text).map((node) => node.html ?? node).join('')

  test('what agents write', () => {
    const table = [['plain\ntext', 'plain\ntext'], ['**a** *b* `c` ~~d~~ __e__ _f_', '<p><strong>a</strong> <em>b</em> <code>c</code> <s>d</s> <strong>e</strong> <em>f</em></p>'],
      ['# One\nText\n\n## Two ##', '<p>One</p><p>Text</p><p>Two</p>'], ['- a\n- b\n  - c\n\n1. x\n2. y', '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x</li><li>y</li></ol>'], ['3. x', '<ol start=3><li>x</li></ol>'],
      ['```py\na\n  *b*\n```\nafter', '<pre><code>a\n  *b*</code></pre><p>after</p>'], ['~~~\nopen', '<pre><code>open</code></pre>'], ['> a\n> b', '<blockquote><p>a\nb</p></blockquote>'], ['a\n\n---\nb', '<p>a</p><hr></hr><p>b</p>'],
      ['|a|b|\n|-|:-:|\n|1|2\\|3|', '<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2|3</td></tr></tbody></table></div>'],
      ['[t](https://x.org "title") https://y.org/a_b.', '<p><a href=https://x.org>t</a> <a href=https://y.org/a_b>https://y.org/a_b</a>.</p>'], ['a **b _c_ d**', '<p>a <strong>b <em>c</em> d</strong></p>'],
      ['1. a\n   ```\n   x\n   ```\n2. b', '<ol><li>a<pre><code>x</code></pre></li><li>b</li></ol>']]
    for (const [text, html] of table) assert.equal(shown(text), html, text)
  })

  test('what is no Markdown stays what it is', () => {
    for (const text of ['a_snake_case', '2 * 3', '**open', '`open', '[a](', '[a] (b)', 'a | b', '#hash', '5.5 is', '_', '[[[[', '~x~', 'a **', '*', '-', '42.', '* ']) assert.equal(shown(text).replace(/^<p>|<\/p>$/g, ''), text)
  })

  test('nothing becomes markup, is fetched, or runs', () => {
    const table = [['<script>alert(1)</script> *x*', '<p><script>alert(1)</script> <em>x</em></p>'], ['[x](javascript:alert(1))', '<p><span>x</span>)</p>'], ['[x](data:text/html,hi)', '<p><span>x</span></p>'],
      ['![x](data:image/svg+xml;base64,AA==)', '<p><span>Picture: x (of a kind that is not shown)</span></p>'], ['![x](https://x.org/p.png)', '<p><span><a href=https://x.org/p.png>Picture: x (not fetched)</a></span></p>'],
      ['![x](data:image/png;base64,AA==)', '<p><img src=data:image/png;base64,AA==></img></p>'], ['![x](p.png)', '<p><span>Picture: x</span></p>'], ['[x](/api/runs)', '<p><span>x</span></p>']]
    for (const [text, html] of table) assert.equal(shown(text), html, text)
  })

  test('takes time that follows the text', () => {
    // Each of these is slow where an end is looked for again and again. Half a million characters would take hours then.
    for (const part of ['*a ', '**a ', '_a ', '[a ', '![a](', '`a ', '``a` ', '> ', '- ', '|a', '~~a ', '<', '\\', '*_', '[](', 'http://', '# #', '1. \n', '> - ', '  '.repeat(20) + '- a\n']) {
      shown(part.repeat(Math.floor(100_000 / part.length)))
    }
  })
})

describe('words', () => {
  const { wordDiff } = fromBundle('wordDiff')
  const shown = (before, now) => wordDiff(before, now).map(({ kind, text }) => ({ same: text, out: `[-${text}-]`, in: `{+${text}+}` })[kind]).join('')

  test('what was taken out and what came in', () => {
    const table = [['a b c', 'a b c', 'a b c'], ['It is polite and says', 'It is but never says', 'It is [-polite and-]{+but never+} says'], ['', 'a', '{+a+}'], ['a', '', '[-a-]'], ['a b', 'b', '[-a -]b'], ['', '', '']]
    for (const [before, now, parts] of table) assert.equal(shown(before, now), parts)
  })

  test('parts make both texts again', () => {
    const texts = ['one two  three\nfour', 'two three four', 'one four', ' ', 'five one two four one']
    for (const before of texts) {
      for (const now of texts) {
        const parts = wordDiff(before, now)
        assert.equal(parts.filter((part) => part.kind !== 'in').map((part) => part.text).join(''), before)
        assert.equal(parts.filter((part) => part.kind !== 'out').map((part) => part.text).join(''), now)
      }
    }
  })

  test('long texts are replaced, not compared', () => {
    const long = (word) => Array.from({ length: 5000 }, (_, at) => word + at).join(' ')
    assert.equal(wordDiff(long('a'), long('b')).length, 2)
  })
})

describe('rows of a file', () => {
  const { selectRows } = fromBundle('selectRows')
  const label = (agrees) => ({ label: true, passes: true, agrees, who: null, when: null })
  const rows = [['b', 1, 'passed', label(true)], ['a', 0, 'failed', label(false)], ['c', null, 'pending', null], ['A', 0.5, 'failed', null]]
    .map(([sample_id, score, state, own], at) => ({ at, sample_id, model: at % 2 ? 'x' : 'y', submission: `Text ${at}`, tags: at ? ['t'] : [], grades: { g: { score, state, label: own }, h: { score: 1, state: 'passed', label: null } } }))

  test('are filtered, sorted and searched as by the server', () => {
    const table = [[{}, 'bacA'], [{ state: 'failed' }, 'aA'], [{ state: 'failed', grader: 'h' }, ''], [{ q: 'TEXT 1' }, 'a'], [{ q: 'a' }, 'aA'.length ? undefined : ''], [{ sort: 'id' }, 'Aabc'], [{ sort: 'id', order: 'desc' }, 'cbaA'], [{ sort: 'score', grader: 'g' }, 'aAbc'],
      [{ sort: 'score', grader: 'g', order: 'desc' }, 'cbAa'], [{ order: 'desc' }, 'Acab'], [{ model: 'x' }, 'aA'], [{ tag: 't' }, 'acA'], [{ state: 'disagrees' }, 'a'], [{ state: 'labelled', grader: 'g' }, 'ba'], [{ state: 'unlabelled', grader: 'g' }, 'cA'],
      [{ state: 'false_fail' }, 'a'], [{ state: 'false_pass' }, ''], [{ min: '0.5', grader: 'g' }, 'bA'], [{ max: '0.5', grader: 'g' }, 'aA'], [{ min: '0.2', max: '0.6', grader: 'g' }, 'A'], [{ q: '-text 1' }, 'bcA'], [{ q: '/^text [12]$/' }, 'ac'], [{ q: '-/^text [12]$/' }, 'bA'], [{ q: '-' }, '']]
    for (const [query, ids] of table.filter((one) => one[1] !== undefined)) assert.equal(selectRows(rows, query).map((row) => row.sample_id).join(''), ids, JSON.stringify(query))
  })
})

describe('the packs of a file', () => {
  const { withRepeats } = fromBundle('withRepeats')

  test('repeats are put back', () => {
    const text = (...counts) => (fresh) => new TextDecoder().decode(withRepeats(Uint8Array.from([...counts, ...new TextEncoder().encode(fresh)])))
    assert.equal(text(0, 0, 1, 0)(''), '')
    assert.equal(text(0, 3, 1, 3)('abc'), 'abc')
    assert.equal(text(0, 8, 4, 3, 3, 3, 2)('abc--'), 'abcabc--')
    assert.equal(text(0, 6, 4, 3, 3, 3, 0)('abc'), 'abcabc')
    const long = 'x'.repeat(200)
    assert.equal(text(0, 0x92, 0x03, 7, 0xc8, 0x01, 0xc8, 0x01, 0xc8, 0x01, 2)(`${long}yy`), `${long}${long}yy`)
  })
})

describe('addresses and conversations', () => {
  const { requestPath, paired, pretty, trendPoints } = fromBundle('requestPath', 'paired', 'pretty', 'trendPoints')

  test('every character of an id survives', () => {
    assert.equal(requestPath(['runs', 'a/b?c#d%'], { q: 'x y', none: null, empty: '' }), '/runs/a%2Fb%3Fc%23d%25?q=x+y')
  })

  test('a call has the first return after it', () => {
    const call = (name) => ({ role: 'tool_call', call: name })
    const back = (name) => ({ role: 'tool_return', call: name })
    const steps = paired([call('1'), call('2'), back('2'), back('1'), back('1'), call(null), back(null)])
    assert.equal(steps.map((step) => step.message.role + (step.answer ? '+' : '')).join(' '), 'tool_call+ tool_call+ tool_return tool_call tool_return')
  })

  test('JSON is indented, and nothing else is changed', () => {
    assert.equal(pretty('{"a":1}'), '{\n  "a": 1\n}')
    assert.equal(pretty('{no'), '{no')
    assert.equal(pretty(null), '')
  })

  test('a break is kept until the next run that has the metric', () => {
    const run = (mean, breaks = []) => ({ metrics: mean === null ? {} : { g: { mean } }, breaks })
    const points = trendPoints([run(1), run(null, [{ grader: 'g', text: 'a' }]), run(0.5, [{ grader: 'h', text: 'b' }, { grader: null, text: 'c' }])], 'g')
    assert.equal(points.map((point) => point.breaks.map((one) => one.text).join('')).join(','), ',ac')
  })
})

describe('columns of rows in a file', () => {
  const { groupRows, scatterRows, selectRows } = fromBundle('groupRows', 'scatterRows', 'selectRows')
  const row = (at, columns, more) => ({ at, sample_id: `s${at}`, model: null, trial: 0, submission: '', tags: [], columns, grades: { g: { score: at / 4, state: at > 1 ? 'passed' : 'failed', label: null, disputed: false } }, ...more })
  const rows = [row(0, { latency: 2, 'metadata.plan': 'pro' }), row(1, {}), row(2, { latency: 1, 'metadata.plan': 3 }), row(3, { latency: 3, 'metadata.plan': 'a:b' })]
  const ids = (query) => selectRows(rows, query).map((one) => one.at).join('')

  test('sort them, and what has no value comes last', () => {
    for (const [query, expected] of [[{ sort: 'latency' }, '2031'], [{ sort: 'latency', order: 'desc' }, '3021'], [{ sort: 'metadata.plan' }, '2301'], [{ sort: 'line', order: 'desc' }, '3210']]) assert.equal(ids(query), expected)
  })

  test('filter them', () => {
    for (const [query, expected] of [[{ latency_min: '2' }, '03'], [{ latency_min: '1', latency_max: '2' }, '02'], [{ where: 'metadata.plan:pro' }, '0'], [{ where: 'metadata.plan:3' }, '2'], [{ where: 'metadata.plan:a:b' }, '3'], [{ where: 'metadata.plan:' }, ''], [{ cost_min: '0' }, '']]) assert.equal(ids(query), expected, JSON.stringify(query))
  })

  test('group them', () => {
    const labelled = [row(0, {}, { tags: ['x', 'y'], grades: { g: { score: 1, state: 'passed', label: { agrees: false } } } }), row(1, {}, { tags: ['x'] }), row(2, {}, { grades: {} })]
    const { groups, total } = groupRows(labelled, 'tags', ['g'])
    assert.equal(total, 3)
    assert.equal(groups.map((one) => `${one.name} ${one.cases}`).join(', '), 'x 2, null 1, y 1')
    assert.deepEqual({ ...groups[0].graders.g, sum: 0 }, { verdicts: 2, sum: 0, failed: 1, errored: 0, labels: 1, agreed: 0, mean: 0.625 })
  })

  test('stand against each other as points, and as cells where there are many', () => {
    const { known, points, cells, x } = scatterRows(rows, 'latency', 'g')
    assert.deepEqual([known, points.length, cells.length, { ...x }], [3, 3, 0, { min: 1, max: 3 }])
    const many = scatterRows(Array.from({ length: 2001 }, (_, at) => row(at, { latency: at % 2 })), 'latency', 'g')
    assert.equal(many.points.length, 0)
    assert.equal(many.cells.reduce((sum, cell) => sum + cell.count, 0), 2001)
    assert.equal([...new Set(many.cells.map((cell) => cell.column))].join(), '0,39')
  })
})

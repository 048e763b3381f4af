// Which keys the search of the book does not find: node tests/book/search.mjs HTML KEYS. Of a key that is found, a section that describes it, or
// its letter of the page of keys, is among the results that the book shows.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const [html, keys] = process.argv.slice(2)
const script = (name) => fs.readFileSync(path.join(html, fs.readdirSync(html).find((file) => file.startsWith(`${name}-`))), 'utf8')
const page = { search: {} }
page.window = page
vm.createContext(page)
vm.runInContext(script('elasticlunr'), page)
vm.runInContext(script('searchindex'), page)
const { index, doc_urls: urls, search_options: options, results_options: results } = page.search
const book = page.elasticlunr.Index.load(index)

const places = new Map()
for (const [, key, place] of fs.readFileSync(keys, 'utf8').matchAll(/^\| `(\w+)` \| \[[^\]]*\]\(([^)]*)\)/gm)) {
    const url = `suite/${place.replace('README.md', 'index.md').replace('.md', '.html')}`
    places.set(key, [...(places.get(key) ?? [`suite/keys.html#${key[0]}`]), url])
}
const missing = [...places].filter(([key, wanted]) => {
    const shown = book.search(key, options).slice(0, results.limit_results)
    return !shown.some(({ ref }) => wanted.includes(urls[ref]))
})
console.log(JSON.stringify({ keys: places.size, missing: missing.map(([key]) => key) }))

"""Lets the search of the book find keys that are common words, such as `by`, `where` and `run`: python3 dist/book_search.py HTML

mdbook leaves stop words of English out of its index. This adds such keys to the sections that the page of keys names, and takes them off the list
of stop words. Of other words that many pages use, it puts the section that describes the key before those pages.
"""

import json
import re
import sys
from pathlib import Path

HTML = Path(sys.argv[1])
INDEX = next(HTML.glob("searchindex-*.js"))
HEAD, TAIL = "window.search = Object.assign(window.search, JSON.parse('", "'));"
KEY = re.compile(r"^\| `(\w+)` \| \[[^]]*\]\(([^)]*)\)", re.MULTILINE)

def documents(words, word):
    """The sections that have a word."""
    for letter in word:
        words = words.get(letter, {})
    return words.get("docs", {})


def add(words, word, section, frequency):
    """Says how often a section has a word."""
    for letter in word:
        words = words.setdefault(letter, {"docs": {}, "df": 0})
    words["docs"][section] = {"tf": frequency}
    words["df"] = len(words["docs"])


def main():
    """Adds the keys to the index."""
    text = INDEX.read_text(encoding="utf-8")
    assert text.startswith(HEAD) and text.endswith(TAIL), f"{INDEX.name} is not as mdbook 0.5 writes it"
    book = json.loads(re.sub(r"\\(.)", r"\1", text[len(HEAD) : -len(TAIL)], flags=re.DOTALL))
    search = next(HTML.glob("elasticlunr-*.js")).read_text(encoding="utf-8")
    stop_words = set(re.findall(r'[{,]"?(\w+)"?:!0', max(re.findall(r"[sS]topWords=\{[^}]*\}", search), key=len)))
    page = (HTML.parent / "source/suite/keys.md").read_text(encoding="utf-8")
    shown = book["results_options"]["limit_results"]
    words = book["index"]["index"]["body"]["root"]
    found = []
    for key, place in KEY.findall(page):
        section = str(book["doc_urls"].index("suite/" + place.replace(".md", ".html")))
        if key in stop_words:
            found.append(key)
            # As the stemmer of the search writes it.
            add(words, re.sub("(?<=..)y$", "i", key), section, 2.0)
        elif len(documents(words, key)) > shown:
            add(words, key, section, 10.0)
    written = json.dumps(book, separators=(",", ":"), ensure_ascii=False).replace("\\", "\\\\").replace("'", "\\'")
    keys = json.dumps(sorted(set(found)))
    INDEX.write_text(f"{HEAD}{written}{TAIL}\nfor (const key of {keys}) delete elasticlunr.stopWordFilter.stopWords[key];\n", encoding="utf-8")


main()

"""Lets the search of the book find keys that are stop words of English, such as `by`, `for` and `where`: python3 dist/book_search.py HTML

mdbook leaves stop words out of its index. This adds such keys to the sections that the page of keys names, and takes them off the list of stop words.
"""

import json
import re
import sys
from pathlib import Path

HTML = Path(sys.argv[1])
INDEX = next(HTML.glob("searchindex-*.js"))
HEAD, TAIL = "window.search = Object.assign(window.search, JSON.parse('", "'));"
KEY = re.compile(r"^\| `(\w+)` \| \[[^]]*\]\(([^)]*)\)", re.MULTILINE)


def main():
    """Adds the keys to the index."""
    text = INDEX.read_text(encoding="utf-8")
    assert text.startswith(HEAD) and text.endswith(TAIL), f"{INDEX.name} is not as mdbook 0.5 writes it"
    book = json.loads(re.sub(r"\\(.)", r"\1", text[len(HEAD) : -len(TAIL)], flags=re.DOTALL))
    search = next(HTML.glob("elasticlunr-*.js")).read_text(encoding="utf-8")
    stop_words = set(re.findall(r'[{,]"?(\w+)"?:!0', max(re.findall(r"[sS]topWords=\{[^}]*\}", search), key=len)))
    page = (HTML.parent / "source/suite/keys.md").read_text(encoding="utf-8")
    found = [(key, place) for key, place in KEY.findall(page) if key in stop_words]
    for key, place in found:
        place = "suite/" + place.replace(".md", ".html")
        node = book["index"]["index"]["body"]["root"]
        # As the stemmer of the search writes it.
        for letter in re.sub("(?<=..)y$", "i", key):
            node = node.setdefault(letter, {"docs": {}, "df": 0})
        node["docs"][str(book["doc_urls"].index(place))] = {"tf": 2.0}
        node["df"] = len(node["docs"])
    written = json.dumps(book, separators=(",", ":"), ensure_ascii=False).replace("\\", "\\\\").replace("'", "\\'")
    keys = json.dumps(sorted({key for key, _ in found}))
    INDEX.write_text(f"{HEAD}{written}{TAIL}\nfor (const key of {keys}) delete elasticlunr.stopWordFilter.stopWords[key];\n", encoding="utf-8")


main()

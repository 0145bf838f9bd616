#!/usr/bin/env python3
"""Checks the links of the documentation, and builds it as a site.

    scripts/docs.py check           links between pages, their anchors, and that docs/SUMMARY.md lists every page
    scripts/docs.py build TARGET    the same, then the site in TARGET/docs, by mdBook; then the links of the site

The site works from the disk, without a network and without a server. Its pages are those of docs/ and of the repository's root: they
are copied to TARGET/docs-pages first, since mdBook wants all of them in one folder, with links to files that are no page (samples)
beside them.
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SUMMARY = DOCS / "SUMMARY.md"
# A link or an image, not within code.
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
CODE = re.compile(r"(```.*?^\s*```|^(?:    |\t).*?$|`+[^`\n]+`+)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def pages():
    """Every page: those of docs/, and those of the root that SUMMARY.md lists or pages link to."""
    return sorted(DOCS.rglob("*.md")) + sorted(ROOT.glob("*.md"))


def links(text):
    """What the text links to, without code."""
    return [target for _, target in LINK.findall(CODE.sub(hide, text))]


def hide(match):
    """Code within a link's words stays: only its brackets would confuse."""
    return re.sub(r"[\[\]()]", "x", match.group(0))


def is_local(target):
    return not urllib.parse.urlsplit(target).scheme


def anchors(text):
    """The anchors of a page's headings, as GitHub and mdBook make them."""
    found = set()
    for heading in HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number, first = 0, anchor
        while anchor in found:
            number += 1
            anchor = f"{first}-{number}"
        found.add(anchor)
    return found


def broken(page):
    """The links of a page that lead nowhere."""
    for target in filter(is_local, links(page.read_text())):
        name, _, anchor = target.partition("#")
        path = (page.parent / urllib.parse.unquote(name)).resolve() if name else page
        if not path.exists():
            yield f"{page.relative_to(ROOT)}: there is no {name}"
        elif not path.is_relative_to(ROOT):
            yield f"{page.relative_to(ROOT)}: {name} is outside of the repository"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text()):
            yield f"{page.relative_to(ROOT)}: {name or 'the page'} has no heading #{anchor}"


def unlisted():
    """Pages of docs/ that SUMMARY.md does not list, or lists twice."""
    listed = [(DOCS / name).resolve() for name in links(SUMMARY.read_text())]
    for page in sorted(DOCS.rglob("*.md")):
        if page != SUMMARY and listed.count(page) != 1:
            yield f"docs/SUMMARY.md lists {page.relative_to(ROOT)} {listed.count(page)} times"


def check():
    faults = [fault for page in pages() for fault in broken(page)] + list(unlisted())
    end_with(faults)
    print(f"docs: the links of {len(pages())} pages lead somewhere")


def end_with(faults):
    """Ends with the faults, if there are any."""
    if faults:
        sys.exit("".join(f"error: {fault}\n" for fault in faults).rstrip("\n"))


def place(path):
    """Where a file of the repository lies among the site's pages. README is its first page."""
    if path == ROOT / "README.md":
        return Path("index.md")
    return path.relative_to(DOCS) if path.is_relative_to(DOCS) else path.relative_to(ROOT)


def stage(folder):
    """Copies the pages, with links that fit; files that are linked to go with them."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = {(DOCS / name).resolve() for name in links(SUMMARY.read_text())}
    others = set()
    for page in sorted(listed | {SUMMARY}):
        copy = folder / place(page)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(rewritten(page, others))
    for path in others - listed:
        (folder / place(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / place(path))


def rewritten(page, others):
    """The page's text with its links as they are among the site's pages; adds what it links to."""

    def link(match):
        name, mark, anchor = match.group(2).partition("#")
        path = (page.parent / urllib.parse.unquote(name)).resolve()
        if not name or not is_local(match.group(2)) or not path.is_file():
            return match.group(0)
        others.add(path)
        return f"{match.group(1)}({os.path.relpath(place(path), place(page).parent)}{mark}{anchor})"

    # Links are looked for with code hidden, which does not change the length.
    text, end, parts = page.read_text(), 0, []
    for match in LINK.finditer(CODE.sub(hide, text)):
        original = LINK.match(text, match.start())
        parts += [text[end : match.start()], link(original) if original else match.group(0)]
        end = match.end()
    return "".join(parts) + text[end:]


class Site(html.parser.HTMLParser):
    """The links and the ids of a page of the site, and what it loads from a network."""

    LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src"}

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loads = [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(filter(None, [values.get("id"), values.get("name")]))
        self.links += filter(None, [values.get("href"), values.get("src")])
        load = values.get(self.LOADS.get(tag, ""))
        if load and re.match(r"(https?:)?//", load):
            self.loads.append(load)


def check_site(folder):
    sites = {path.resolve(): Site(path) for path in sorted(folder.rglob("*.html"))}
    faults = []
    for path, site in sites.items():
        faults += [f"{path.name} loads {load} from a network" for load in site.loads]
        for target in filter(is_local, site.links):
            name, _, anchor = target.partition("#")
            to = (path.parent / urllib.parse.unquote(name)).resolve() if name else path
            if path.name != "404.html" and not to.exists():
                faults.append(f"{path.relative_to(folder)}: there is no {name}")
            elif anchor and to in sites and anchor not in sites[to].ids:
                faults.append(f"{path.relative_to(folder)}: {name or 'the page'} has no #{anchor}")
    end_with(faults)
    print(f"docs: {folder}/index.html and {len(sites) - 1} more pages")


def build(target):
    check()
    mdbook = shutil.which("mdbook")
    if not mdbook:
        sys.exit("error: there is no mdbook\nhint: cargo install --locked mdbook --version 0.5.4")
    book, site = target / "docs-pages", target / "docs"
    stage(book / "src")
    shutil.copyfile(DOCS / "book.toml", book / "book.toml")
    shutil.rmtree(site, ignore_errors=True)
    subprocess.run([mdbook, "build", "--dest-dir", site, book], check=True)
    check_site(site.resolve())


def main():
    match sys.argv[1:]:
        case ["check"]:
            check()
        case ["build", target]:
            build(Path(target).resolve())
        case _:
            sys.exit(f"usage: {sys.argv[0]} check | build TARGET")


main()

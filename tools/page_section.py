"""The part of a page that a tool writes."""
import sys


def write_section(page, begin, end, text, check, tool):
    """Puts `text` between the lines `begin` and `end` of the file `page`. With `check`: writes nothing, and exits 1 if it differs."""
    old = page.read_text()
    new = old[:old.index(begin) + len(begin)] + text + old[old.index(end):]
    if check:
        sys.exit(0 if new == old else f"{page.parent.name}/{page.name} is not what {tool} writes")
    page.write_text(new)

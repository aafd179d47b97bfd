"""Holds what a PDF reader finds in a report against its figures: check_report.py PDF JSON."""
import json
import sys

from pypdf import PdfReader

path, said = sys.argv[1:]
with open(said, encoding="utf-8") as file:
    said = json.load(file)
reader = PdfReader(path, strict=True)
pages = [page.extract_text() for page in reader.pages]
assert len(pages) == said["pages"], (len(pages), said["pages"])
for number, page in enumerate(pages, 1):
    assert f"Page {number} of {len(pages)}" in page, number
text = " ".join(" ".join(pages).split())
assert reader.metadata.title.startswith("Test report"), reader.metadata
assert [item.title for item in reader.outline][:2] == ["Identity", "Contact force"], reader.outline
for word in ["not stated", "σ", "F", "±", "√", "Environment", "Timing of the loop", "Traceability", "Uncertainty"]:
    assert word in text, word
recording = said["recordings"][0]
force = recording["force"]
for key in ["mean_n", "std_n", "stat_max_n", "stat_min_n", "max_n", "min_n"]:
    assert f"{force[key]:.2f}" in text, key
for key in ["id", "name"]:
    # A long name may be broken.
    assert recording[key] in text.replace(" ", ""), key
assert "late <b>shift</b>" in text
fonts = {font for page in reader.pages for font in page["/Resources"]["/Font"]}
assert fonts == {"/F0", "/F1"}, fonts
print(f"{len(pages)} pages: all found")

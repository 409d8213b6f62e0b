"""attune profile --html, opened in a headless browser: every part of the page is drawn, and nothing goes wrong in it.

usage: profile_page_test.py ATTUNE SOURCE_DIR; exit code 77 when there is no Chromium here.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

attune, source = sys.argv[1:]
browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
if not browser:
    print("skipped: no Chromium (apt-get install chromium)")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "profile.html"
    subprocess.run([attune, "profile", f"{source}/specs/vit.attn", "--batch", "1", "--q-len", "200", "--html", page],
                   check=True, stdout=subprocess.DEVNULL)
    dom = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user",
                          "--virtual-time-budget=4000", "--dump-dom", page.as_uri()],
                         check=True, capture_output=True, text=True).stdout

drawn = dom.split('<script id="data"')[0]
wanted = {
    "the script ran to its end": re.search(r'<body[^>]*data-ready="yes"', dom),
    "facts": "matrix unit busy" in drawn and "waves a SIMD" in drawn,
    "stall bar": drawn.count('class="legend"') == 1 and re.search(r'id="stallBar"><i title="[a-z ]+: ', drawn),
    "64 banks": len(re.findall(r'title="bank \d+', drawn)) == 64,
    "tile ops": re.search(r"<td class=\"name\"[^>]*>[^<]*tile\.mma", drawn),
    "instructions": re.search(r"<td class=\"name\">v_mfma", drawn),
    "a timeline of some height": re.search(r'<canvas id="timeline"[^>]*height: (\d{2,})px', drawn),
}
missing = [name for name, found in wanted.items() if not found]
if missing:
    sys.exit(f"the page lacks: {', '.join(missing)}")
print("profile page: " + ", ".join(wanted))

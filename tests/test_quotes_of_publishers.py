"""Quotes of pages and files as publishers, wikis and journals write them: honest ones, and ones that are not there."""

from __future__ import annotations

import pytest
from corpus import for_each

from debate_orchestrator.core.verbatim import paragraphs
from debate_orchestrator.evidence.match import compare
from debate_orchestrator.evidence.pages import html_page, plain


def link(number: int) -> str:
    return f'<a href="#ref{number}">{number}</a>'


YEAR = "Vaccines save millions of lives each year{} in many of the poor countries."
AREA = "The town has 3,662,381{} inhabitants and an area of 891.3 km<sup>2</sup> in all."
NOTES = {
    "list and range": f"<sup>{link(1)},{link(2)}–{link(5)}</sup>",
    "list": f"<sup>{link(1)}, {link(2)}</sup>",
    "one": f"<sup>{link(1)}</sup>",
    "after a space": f" <sup>{link(1)}</sup>",
    "bracketed": f"<sup>[{link(1)}]</sup>",
    "parts in spans": '<sup><a href="#n1"><span>[</span>1<span>]</span></a></sup>',
    "two": f"<sup>[{link(1)}]</sup><sup>[{link(2)}]</sup>",
    "in round brackets": f"<sup>({link(1)})</sup>",
    "in line": f" [{link(1)}, {link(2)}]",
    "wanted": '<sup>[<i><a href="/wiki/W">citation needed</a></i>]</sup>',
}
HONEST = [
    *((f"note: {name}", YEAR.format(note), YEAR.format("")) for name, note in NOTES.items()),
    ("note: shown", YEAR.format(NOTES["in line"]), YEAR.format(" [1, 2]")),
    ("note: kept", YEAR.format(NOTES["two"]), YEAR.format("[1][2]")),
    ("note: behind a figure", AREA.format(NOTES["bracketed"]), "the town has 3,662,381 inhabitants and an area"),
    ("unit", AREA.format(""), "inhabitants and an area of 891.3 km² in all"),
    ("typed dashes", "The plan – first made in 1999 – was dropped.", "The plan -- first made in 1999 -- was dropped"),
    ("hyphens", "The plan - first made in 1999 - was dropped.", "The plan – first made in 1999 – was dropped"),
    ("Chinese", "统计局公布，去年国内生产总值增长百分之五点二。", "去年国内生产总值增长百分之五点二"),
    ("Hindi", "सरकार इस साल किसानों को नई सहायता देगी।", "सरकार इस साल किसानों को नई सहायता देगी"),
    ("Urdu", "حکومت اس سال کسانوں کو نئی امداد دے گی۔", "حکومت اس سال کسانوں کو نئی امداد دے گی"),
    ("linked behind a word", YEAR.format(link(3)), YEAR.format("")),
    ("linked behind a figure", f"In it 12,000{link(3)} people were killed there.",
     "in it 12,000 people were killed there"),
    ("note behind a capital", YEAR.format(f" in the EU<sup>{link(3)}</sup>"), YEAR.format(" in the EU")),
    ("note kept behind a capital", YEAR.format(f" in the EU<sup>{link(3)}</sup>"), YEAR.format(" in the EU[3]")),
    ("spans", "The <b>COVID</b>-19 rate is <i>$</i><b>5</b>.<b>50</b> for <b>H</b><sub>2</sub>O, <b>5</b>km from "
     "<i>un</i>it 5.",
     "the COVID-19 rate is $5.50 for H2O, 5km from unit 5"),
    ("empty styles", '<i style="float:none;position:relative">The drug</i> is safe for all <wbr>children.',
     "the drug is safe for all children"),
    ("system fonts", '<i style="font-family:system-ui,Segoe UI Symbol">The drug is safe for all children.</i>',
     "the drug is safe for all children"),
    ("sentences of paragraphs", "<p>The drug is safe.</p><p>It is sold here.</p>", "the drug is safe. It is sold here"),
    ("closed mark", "He said ‘the law protects the teachers’ there.", "the law protects the teachers"),
]  # fmt: skip
HONEST_OF_FILES = [
    ("comma in wrapped lines", "The bank, as it says,\nraised its rate, it is said, in the town.",
     "the bank, as it says, raised its rate"),
    ("sentence and two spaces", "So it is.  The bank raised its\nrate in the town.",
     "the bank raised its rate in the town"),
    ("items", "1.  The bank raised its\n    rate in the town.", "the bank raised its rate in the town"),
    ("note of a Chinese word", "新药在试验中[3]被认为对所有儿童都是安全的。", "新药在试验中被认为对所有儿童都是安全的"),
    ("note of markdown", "The bank raised its rate[^1] in the town.", "The bank raised its rate in the town"),
]  # fmt: skip
HOSTILE = [
    ("power after a space", "The area of the wood is 5 km <sup>2</sup> in all.", "the area of the wood is 5 km"),
    ("power of a letter", "The area of the figure is x <sup>2</sup> in all.", "the area of the figure is x"),
    ("figure after a space", "More than 10 <sup>6</sup> people were killed.", "more than 10 6 people were killed"),
    ("half a power", "More than 10<sup>6</sup> people were killed.", "more than 106 people were killed"),
    ("linked power", f"The field of fifty km<sup>{link(2)}</sup> is big.", "the field of fifty km is big"),
    ("power in brackets", "The number of people is (10)[6]; many.", "the number of people is (10)"),
    ("power of a bracket", "The output is (AB)\u00b2 as is said.", "the output is (AB) as is said"),
    ("function", "The value of sin<sup>2</sup> x is small.", "the value of sin x is small"),
    ("note that is not there", "The bank raised its rate in the town.", "The bank raised its rate[1] in the town"),
    ("other note", YEAR.format(NOTES["one"]), YEAR.format("[3]")),
    ("word in brackets", "Deaths fell by [90] percent in it.", "deaths fell by percent in it"),
    ("Greek question", "Το φάρμακο είναι ασφαλές για όλα;", "Το φάρμακο είναι ασφαλές για όλα"),
    ("question behind a note", "The drug is safe for all children[3]?", "the drug is safe for all children"),
    ("half a word", "It was quite un-\nsafe for all the children.", "safe for all the children"),
    ("cut figure", "统计局公布，2023年人口总数为14亿。", "统计局公布，2023年人口总数为14"),
    ("negation", "The plan is <del>not</del> safe for all of us.", "the plan is safe for all of us"),
    ("hidden", 'The plan is good. <i style="display:none">It is safe for all of us here.</i>',
     "It is safe for all of us here"),
    ("minus", "The mean of it was -5 degrees there.", "the mean of it was 5 degrees there"),
    ("raised without a link", "The energy grows as the velocity<sup>2</sup> of it.", "grows as the velocity of it"),
    ("raised after a space", "The town has an area of six km \u00b2 in all.", "the town has an area of six km"),
    ("product of a group", "It is the number (see below)[2] of the people.", "the number (see below) of the people"),
    ("symbol", "The deviation of it is \u03c3[2] of the mean.", "deviation of it is \u03c3 of the mean"),
    *((f"raised by {name}", f"The limit of it is 10{three} kg of dust.", "the limit of it is 103 kg of dust")
      for name, three in {
          "class": '<span class="super">3</span>', "font": '<font size="1">3</font>', "element": "<x-sup>3</x-sup>",
          "link": '<a href="/notes/3">3</a>', "spans": "<i><i>3</i></i>", "script": "<script>x</script>3",
          "linked number": '<a href="#3">3</a>',
      }.items()),
    ("negative power", "The limit of it is 10<i class=s>-3</i> kg of dust.", "the limit of it is 10-3 kg of dust"),
    ("two figures", "It was <b>52</b><b>48</b> in the country.", "it was 5248 in the country"),
    ("raised unit", "The limit is 5 m<i class=s>2</i> of land for each.", "the limit is 5 m2 of land for each"),
    ("half a raised unit", "The limit of all land is 5 km<i class=s>2</i> each.", "the limit of all land is 5 km"),
    ("fraction", "It takes 2<i class=f>1/2</i> litres of it.", "it takes 21/2 litres of it"),
    *((f"formula: {name}", f"It needs {formula} a litre of water.", "it needs a litre of water") for name, formula in {
        "script": '<script type="math/tex">1</script>', "MathJax": '<i class="MathJax_SVG"></i>',
        "KaTeX": '<i class="a katex"><i></i></i>', "element": '<m-c class="MathJax"><m-n></m-n></m-c>',
    }.items()),
    *((f"symbol: {font}", f"She was given 5 <font {font}>m</font>g of it daily.", "she was given 5 mg of it daily")
      for font in ("face=Symbol", "style='font-family:Symbol'", "style='font:9px \"Wingdings\",serif'",
        "style='font-family:Webdings'",
    )),
    *((f"index: {text}", f"Then {text} is what it is for all.", f"then {quoted} is what it is for all")
      for text, quoted in {
        "CO[2]": "CO", "NO[2]": "NO", "PM[10]": "PM", "9 m/sec[2]": "9 m/sec", "500 miles[2]": "500 miles",
        "<code>list[0]</code>": "list", "<code><b>argv</b>[<b>0</b>]</code>": "argv", "5 cm.<sup>3</sup>": "5 cm.",
        "the rest<sub>[2]</sub>": "the rest", "<pre>argv[0]</pre>": "argv",
    }.items()),
    ("index at the end", "It is the great rise of CO[2] in the air.", "it is the great rise of CO"),
    *((f"question: {question}", f"{question} Όχι.", question.rstrip(";")) for question in (
        "Είναι επικίνδυνο το εμβόλιο της Pfizer;", "Είναι επικίνδυνο το εμβόλιο για COVID-19;",
        "Είναι επικίνδυνο το εμβόλιο (Σπούτνικ);",
    )),
    *((f"question: {mark}", f"The vaccine is bad for children{mark} No.", "the vaccine is bad for children")
      for mark in (" ❓", " ❔", ", ?", " – ?", " — ?", " :?", " [3]?", "[3]?", " (yes/no)?", ". ?")),
    ("question: か", "この新しいワクチンは子どもにも安全ですか？", "この新しいワクチンは子どもにも安全です"),
    ("question: 吗", "这种新疫苗对儿童是安全的吗？", "这种新疫苗对儿童是安全的"),
    ("question: mi", "Bu yeni aşı çocuklar için güvenli mi? Hayır.", "Bu yeni aşı çocuklar için güvenli"),
    *((style, f"<i>Failed</i> <i style='{style}'>School funding rule</i> <i style='{style}'>Passed</i>",
       "School funding rule Passed") for style in (
        "display:block", "display:table-cell", "display:inline-block", "display:flex", "float:left",
        "position:absolute",
    )),
    ("hidden in any case", "It is <i style='display:none ! important'>un</i>safe for all of us here.",
     "It is unsafe for all of us here"),
    ("no embedding", "It is. <noembed>It is safe for all of us here.</noembed>", "It is safe for all of us here"),
    *((f"border of {one}", f"<table><{one}>True.</{one}><{two}>The drug is safe for us.</{two}></table>",
       "True. The drug is safe for us") for one, two in (("td", "td"), ("th", "td"))),
    ("border of dt", "<dl><dt>True.<dd>The drug is safe for us.</dl>", "True. The drug is safe for us"),
    ("border of a heading", "<h2>True.</h2>The drug is safe for us.", "True. The drug is safe for us"),
    ("soft hyphen", "It is un&shy;\nsafe for all of the children.", "safe for all of the children"),
    ("soft hyphen in spans", "It is <i>un&shy;</i> <i>safe for all of the children.</i>",
     "safe for all of the children"),
    ("double hyphen", "It is un\u2e17<br>safe for all of the children.", "safe for all of the children"),
    ("sign", "It was shown that a <= b in all.", "it was shown that a < b in all"),
]  # fmt: skip


HOSTILE_FILES = [
    ("columns", "Failed     School funding rule\nPassed     Road repair rule", "School funding rule Passed"),
    ("two spaces", "Failed  School funding rule\nPassed  Road repair rule", "School funding rule Passed"),
    ("two columns", "The drug was not    We use the data\nshown to be safe    of two trials.",
     "We use the data shown to be safe"),
    ("one row", "The school funding\nfailed      passed\nin the old town", "the school funding failed"),
    ("commas", "Failed, School funding rule\nPassed, Road repair rule", "School funding rule Passed"),
    ("close commas", "failed,school funding rule\npassed,road repair rule", "school funding rule passed"),
    ("semicolons", "failed; school funding rule\npassed; road repair rule", "school funding rule passed"),
    ("bars", "failed | school funding rule\npassed | road repair rule", "school funding rule passed"),
    ("line before rows", "The school funding rule\nfailed | yes\npassed | no", "the school funding rule failed"),
    ("keys", "not safe for: small children\nsafe for: adults over 50", "small children safe for: adults"),
    ("sentences of cells", "False.\tIt is only a small fever.\nTrue.\tIt is bad.", "It is only a small fever. True."),
    ("double hyphen", "It is un\u2e17\nsafe for all of the children.", "safe for all of the children"),
    ("index", "He saw the big rise of CO[2] in the air.", "the big rise of CO in the air"),
    ("heading", "# True.\nThe drug is safe for us.", "True. The drug is safe for us"),
]  # fmt: skip


@for_each([row[1:] for row in HONEST])
def test_an_honest_quote_of_a_page_is_verified(page: str, quote: str) -> None:
    """However publishers mark their notes, a quote that keeps the words and figures is verified."""
    match = compare(quote, html_page(f"<p>{page}</p>".encode(), "utf-8").text)
    assert match.state == "verified", match


@for_each([row[1:] for row in HONEST_OF_FILES])
def test_an_honest_quote_of_a_plain_text_is_verified(text: str, quote: str) -> None:
    """So it is in plain text, which may be markdown."""
    match = compare(quote, plain(text.encode(), "utf-8").text)
    assert match.state == "verified", match


@for_each([row[1:] for row in HOSTILE_FILES])
def test_what_a_plain_text_does_not_show_is_not_verified(text: str, quote: str) -> None:
    """Cells and rows are apart in plain text, and in what is preformatted."""
    for page in (plain(text.encode(), "utf-8"), html_page(f"<pre>{text}</pre>".encode(), "utf-8")):
        match = compare(quote, page.text)
        assert match.state != "verified" and "too short" not in match.why, match


@pytest.mark.timeout(30)
def test_a_long_paragraph_is_read_once() -> None:
    """Its lines are joined all at once: one by one, this would take a minute."""
    assert paragraphs("a word\n" * 200_000).count("a word") == 200_000


@for_each([row[1:] for row in HOSTILE])
def test_what_a_page_does_not_show_is_not_verified(page: str, quote: str) -> None:
    """A part of a term, figure or word, a question, a word left out or hidden: none is a quote of the page."""
    match = compare(quote, html_page(f"<p>{page}</p>".encode(), "utf-8").text)
    assert match.state != "verified" and "too short" not in match.why, match


def test_a_linked_year_in_brackets_keeps_its_blank() -> None:
    """A year in brackets is not a note, though it links to a place of the page."""
    text = html_page(b'<p>It was shown by Smith [<a href="#s">2020</a>] in all.</p>', "utf-8").text
    assert text == "It was shown by Smith [2020] in all."


def test_a_long_run_of_brackets_is_read_quickly() -> None:
    """Signs without a letter are not words, and each is looked at once: else this would take half a minute."""
    assert compare(HOSTILE[0][2], "[" * 40_000).why == "the page shows no text without running its scripts"

"""What a visitor sees of a page of HTML is its text: in order, with no word missing, and nothing that is hidden."""

from __future__ import annotations

import re

from corpus import for_each
from evidence_site import ARTICLE

from debate_orchestrator.evidence import reader_process
from debate_orchestrator.evidence.pages import html_page

QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"


def visible(html: str) -> str:
    return html_page(html.encode(), "utf-8")[0].text


HIDDEN_TEXT = "The wall was shown to keep out nine floods of ten"


@for_each(
    [
        "<p style='display:none'>{}.</p>", "<p style='visibility: hidden'>{}.</p>", "<p hidden>{}.</p>",
        "<div hidden><p>{}.</p></div>", "<template><p>{}.</p></template>", "<noscript><p>{}.</p></noscript>",
        "<textarea>{}.</textarea>", "<iframe>{}.</iframe>", "<object><p>{}.</p></object>",
        "<canvas><p>{}.</p></canvas>", "<svg><text>{}.</text></svg>", "<select><option>{}.</select>",
        "<noframes><p>{}.</p></noframes>", "<noembed>{}.</noembed>", "<datalist><option>{}.</datalist>",
        "<ruby>a<rp>{}.</rp></ruby>", "<progress>{}.</progress>", "<meter>{}.</meter>", "<video>{}.</video>",
        "<math><annotation>{}.</annotation></math>", "<math><mphantom><mtext>{}.</mtext></mphantom></math>",
    ]
)  # fmt: skip
def test_no_quote_stands_in_what_is_hidden(element: str) -> None:
    """A quote that no visitor sees is not found."""
    page = ARTICLE.replace("<p>The engineers", f"{element.format(HIDDEN_TEXT)}<p>The engineers").encode()

    assert reader_process.read(page, "html", "utf-8", HIDDEN_TEXT)["state"] == "not found"
    assert reader_process.read(page, "html", "utf-8", QUOTE)["state"] == "verified"


HIDING = [
    "style='display:none'", "style=' DISPLAY : None '", "style='color:red;visibility:hidden;'", "hidden",
    "style='visibility: collapse'", "style='display:block;display:none'", "style='display:none!important;display:flex'",
    "style='display:none;display:nothing'", "hidden style='color:red'", "hidden=until-found",
    "hidden style='all:unset'",
    "style='background:url(data:image/png;base64,x);display:none'", """style="content:';';display:none" """,
    "style='display:none;--x:(;display:block;)'", "hidden style='display:none'",
    """style='a:url(x"y);display:none' """, """style="a: URL( x(' );display:none" """,
    """style='a:"\n;display:none' """,
    """style="a:'x\n;visibility:hidden" """, """style='a:url("x;)");display:none' """, "style='a:url(/*);display:none'",
]  # fmt: skip
SHOWING = [
    "style='backface-visibility:hidden'", "style='--menu-display:none'", "style='color:none'", "style='display:flex'",
    "style='overflow:hidden;display:block;text-decoration:none'", "style='visibility:visible'", "title=hidden",
]  # fmt: skip


@for_each(HIDING + SHOWING)
def test_an_element_may_hide_itself(attributes: str) -> None:
    """What an element that may be hidden holds is left out; no other element's is."""
    seen = HIDDEN_TEXT in visible(f"<p>Before.</p><p {attributes}>{HIDDEN_TEXT}.</p>")

    assert seen is (attributes in SHOWING)


SHOWN_BY_BROWSERS = [
    *(f"<b {attributes}>not</b>" for attributes in (
        "style='display:none;display:math'", "hidden style='display:flow'", "style='display:none;display:inline'",
        "hidden style='all:unset'", "style='display:none;all:initial'", "style='visibility:hidden;all:unset'",
        "style='display:none!important;display:block!important'", "style='display:inline;display:none!x'",
        "style='/*display:none*/'", "style='a:\"display:none\"'", "style='a:url(x;display:none)'",
        "style='display:none-such'", "style='display:\xa0none'", "style='a:(;display:none'",
        "style='x display:none'", "style='@x;display:none;display:inline'", "hidden=until-found",
    )),
    "<span style='visibility:hidden'><b style='visibility:visible'>not</b></span>",
    "<math><mphantom><mtext style='visibility:visible'>not</mtext></mphantom></math>",
    "<svg><span>not</span></svg>", "<svg><style><b>not</b></style></svg>", "<annotation>not</annotation>",
    "<math><mphantom><b>not</b></mphantom></math>", "<mphantom>not</mphantom>",
    "<math><b></b><mphantom>not</mphantom></math>", "<math><mi hidden>not</mi></math>",
    "<math><small hidden>not</small></math>",
    "<noscript><p title='</noscript>not <b title='></noscript>", "<form><form hidden>not</form></form>",
    "<h1 hidden>x<h2>not</h2></h1>", "<table hidden>not<tr><td>x</table>", "<td hidden>not</td>",
    "<table style='display:none'><p>not</p></table>", "<caption hidden>not</caption>", "<p hidden><p>not</p></p>",
    "<tr style='display:none'>not</tr>", "<rp style='display:inline'>not</rp>", "<image src=not.png>",
    "<script style='display:inline'>not</script>", "<span hidden>x<p>not</p></span>",
    "<wbr hidden>not</wbr>", "<image alt=''>not</image>", "<math><mtext><![CDATA[not]]></mtext></math>",
    "<svg><text><![CDATA[not]]></text></svg>", "<svg><use href='#not'/></svg>",
    "<svg><foreignObject><img src=not.png></foreignObject></svg>", "<svg><image href=not.png /></svg>",
    "<svg><svg><use href='#not'/></svg></svg>", "<option label=not></option>", "<optgroup label=not></optgroup>",
    "<span><template shadowrootmode=open>not</template></span>",
    "<span><b></b><template shadowrootmode=closed>not</template></span>",
    "<span hidden><template shadowrootmode=open>not</template></span>",
]  # fmt: skip


@for_each(SHOWN_BY_BROWSERS)
def test_no_sentence_joins_across_what_a_browser_may_show(element: str) -> None:
    """Where an element is left out whose words Chromium shows, the words around it are not one quote."""
    page = f"<body><p>As known.</p><div>The costs of transport did {element} fall within the year.</div>"

    said = reader_process.read(page.encode(), "html", "utf-8", "The costs of transport did fall within the year.")
    assert said["state"] != "verified"


RAISED = [
    ("<sup>1</sup>5 million", "15 million"), ("\u00b95 million", "15 million"), ("<sup>4</sup>40", "440"),
    ("3.<sup>2</sup>5 million", "3.25 million"), ("3.\u00b25 million", "3.25 million"),
    ("10<sup>\u20133</sup>", "10\u20133"),
    ("10<sup>\u2010</sup>3", "10-3"), ("3<sup>1</sup>/<sub>2</sub>", "31/2"), ("m<sup>2</sup>5", "m25"),
    ("<sup>1</sup>/<sub>2</sub>50", "1/250"), ("3%<sup>2</sup>5", "3%25"), ("(3)<sup>2</sup>", "(3)2"),
    ("7<sup>*</sup>5", "7*5"), ("<sup>1</sup>500", "1 500"), ("<sup>1</sup> 500", "1 500"), ("\u00b9500", "1 500"),
    ("<sup>1</sup><b>5</b>", "15"), ("<b><sup>1</sup></b>.5", "1.5"), ("5<sub>,</sub>2", "5,2"),
    ("10<sup>e5</sup>", "10e5"),
    ("10<sup>e</sup>5", "10e5"), ("10\u1d495", "10e5"), ("5&nbsp;<sup>500</sup>", "5 500"),
    ("2019.<sup>2</sup>", "2019.2"),
    ("5<span style='vertical-align: super'>99</span>", "599"), ("<a href='#r'><sup>1</sup></a>5", "15"),
    ("x<sup>2</sup><sub>5</sub>", "x25"), ("5<sup>9<sup>9</sup></sup>", "599"), ("\u24605", "15"),
    ("<sup>1</sup>\x01\x005", "15"), ("km<sup>9</sup>e7", "km9e7"), ("km\u2079-6", "km9-6"), ("8/<sup>7</sup>", "8/7"),
    ("8/\u2077", "8/7"), ("\u2077/76", "7/76"), ("<sup>7</sup>/76", "7/76"), ("\u00bd<sub>6</sub>", "\u00bd6"),
    ("<sup>1</sup>&#8203;5", "15"), ("<sup>1</sup>&frac12;", "1\u00bd"), ("<sup>5</sup> million", "5 million"),
    ("\u2075 million", "5 million"), ("<sup>1</sup>\u20135", "1-5"), ("<sup>5</sup>%", "5%"), ("\u2075%", "5%"),
    ("10 \u2075\u2070\u2070", "10 500"), ("10e<sup>5</sup>", "10e5"), ("10 x<sup>5</sup>", "10 x5"),
    ("10e\u2075", "10e5"), ("<sup>1</sup>  500", "1 500"), (f"5{'<i> </i>' * 200}<sup>500</sup>", "5 500"),
    (f"5<sup>{'<i></i>' * 200}9</sup>", "59"),
]  # fmt: skip


@for_each(RAISED)
def test_no_figure_is_joined_of_a_raised_one_and_its_neighbour(case: tuple[str, str]) -> None:
    """Raised and lowered figures are kept apart at both ends."""
    inside, joined = case
    page = f"<body><p>As known.</p><div>The costs of transport rose by {inside} in the year.</div>"

    said = reader_process.read(page.encode(), "html", "utf-8", f"The costs of transport rose by {joined} in the year.")
    assert said["state"] != "verified"


def test_a_figure_in_a_character_data_section_is_part_of_its_figure() -> None:
    """A formula whose figure is written half as character data is not read as the other half."""
    page = "<body><p>The costs of transport rose by <math><mn>5<![CDATA[00]]></mn></math> percent in the year.</p>"

    said = reader_process.read(page.encode(), "html", "utf-8", "The costs of transport rose by 5 percent in the year.")
    assert said["state"] != "verified"


@for_each(["<span>safe{}</span>", "<option>{}safe</option>", "<option label=not>{}safe</option>"])
def test_what_browsers_show_otherwise_is_not_read(element: str) -> None:
    """Where browsers show other words than the page's own, or more of them, no quote holds these."""
    shown = element.format("<template shadowrootmode=open>not</template><span hidden>not </span>")
    page = f"<body><div>As known, the new bridge is {shown} for heavy trucks in winter.</div>"

    said = reader_process.read(page.encode(), "html", "utf-8", "the new bridge is safe for heavy trucks in winter")
    assert said["state"] != "verified"


@for_each(["embed", "image", "source", "track", "wbr"])
def test_what_follows_an_element_without_an_end_is_read(tag: str) -> None:
    """Elements that hold nothing in browsers leave out nothing of what follows them."""
    page = f"<body><div><{tag} src=x alt=''> {QUOTE}.</div>"

    assert reader_process.read(page.encode(), "html", "utf-8", QUOTE)["state"] == "verified"


def test_honest_raised_figures_are_verified() -> None:
    """Formulas, fractions and notes are found as they are read."""
    for inside, quoted in [
        ("10<sup>6</sup> of", "10\u2076 of"), ("10<sup>\u22123</sup> m", "10\u207b\u00b3 m"),
        ("CO<sub>2</sub> of", "CO\u2082 of"),
        ("<sup>1</sup>/<sub>2</sub> of", "1/2 of"), ("\u00b95 of", "<sup>1</sup>5 of"),
        ("the 5<sup>th</sup> of", "the 5th of"),
        ("all.<sup>2</sup> It fell", "all. It fell"), ("2019.<sup>2</sup> It fell", "2019. It fell"),
    ]:  # fmt: skip
        page = f"<body><div>The costs of transport rose by {inside} the year.</div>"
        quote = f"The costs of transport rose by {visible(quoted)} the year."
        assert reader_process.read(page.encode(), "html", "utf-8", quote)["state"] == "verified", inside


SENTENCE = "The report says that the town grew by {} the last of these years, as all know"
AROUND = "<p>" + "The municipality publishes its figures every year and they are read by many. " * 4 + "</p>"
ELEMENTS = [
    "a", "abbr", "acronym", "aside", "b", "bdi", "bdo", "big", "blink", "blockquote", "button", "canvas", "caption",
    "center", "cite", "code", "data", "dd", "del", "details", "dfn", "dialog", "dir", "div", "dl", "dt", "em",
    "fieldset", "figcaption", "figure", "font", "footer", "form", "h1", "header", "hgroup", "i", "ins", "kbd",
    "label", "legend", "li", "main", "mark", "marquee", "menu", "meter", "nav", "nobr", "object", "ol", "output",
    "p", "pre", "progress", "q", "rb", "rt", "ruby", "s", "samp", "search", "section", "select", "slot", "small",
    "span", "strike", "strong", "sub", "summary", "sup", "table", "td", "textarea", "time", "tt", "u", "ul", "var",
    "video", "x-unit",
]  # fmt: skip
CHANGING = [f"5 <{tag}>million</{tag}> in" for tag in ELEMENTS] + [
    "5<del>0</del> in", "<del>5</del><ins>4</ins> in", "5<ins>0</ins> in", "5<s>0</s> in", "5<sub>000</sub> in",
    "5<sup>6</sup> in", "5<b><sup>6</sup></b> in", "5 × 10<sup>6</sup> in", "5<sup>million</sup> in", "5<wbr>000 in",
    "5<br>million in", "5<hr>million in", "5<table><tr><td>million</td></tr></table> in", "5<ul><li>million</ul> in",
    "5 <ruby>million<rp>(</rp><rt>x</rt><rp>)</rp></ruby> in", "5 <ruby>x<rt>million</rt></ruby> in",
    "5 <img src=million.png> in", "5 <img alt=million> in", "<img alt=2.>5 in", "5 <svg><text>million</text></svg> in",
    "5 <input value=million> in", "5 <select><option selected>million</select> in", "5 <embed src=million.svg> in",
    "5 <iframe src=million></iframe> in", "5 <audio controls src=million></audio> in",
    "5 <span class=share>million</span> in", "5 <span class=caption>million</span> in",
    "5 <span class=post-meta>million</span> in", "<time>1</time>5 in", "<label>-</label>5 in",
    "5<math><mo>×</mo><msup><mn>10</mn><mn>6</mn></msup></math> in", "<math><mo>−</mo></math>5 in",
    "<math><mo>&lt;</mo></math> 5 in", "5<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> in",
    "5<math><semantics><mn>0</mn><annotation>5</annotation></semantics></math> in", "5 <math><mi>k</mi></math> in",
]  # fmt: skip


@for_each(CHANGING)
def test_no_sentence_is_verified_without_what_stands_in_it(inside: str) -> None:
    """A sentence is not verified where a visitor sees more in the middle of it, whatever element holds that."""
    sentence = SENTENCE.format(inside)
    page = f"<html><body><article><h1>Town</h1>{AROUND}<p>{sentence}.</p>{AROUND}</article></body></html>"

    assert reader_process.read(page.encode(), "html", "utf-8", SENTENCE.format("5 in"))["state"] != "verified"


@for_each(
    [
        "5<style>b {}</style> in", "5<i hidden>million</i> in", "5<img alt='' src=line.png> in", "5<wbr> in",
        "5<svg><path d='M0 0'/></svg> in", "5<input type=hidden value=million> in", "5<map><area alt=million></map> in",
        "5<meta itemprop=unit content=million> in", "<b>5</b> <i>in</i>", "<math><mn>5</mn></math> in",
        "5<audio src=x></audio> in", "5<del></del> in", "<label>5</label> <time>in</time>", "<output>5</output> in",
        "5\nin", "5 <math><mphantom><mn>6</mn></mphantom></math> in", "5<!-- million --> in", "5<!-- --> <!-- -->in",
        "5<i hidden><!-- --></i> in", "5<svg><!-- icon --><path d='M0 0'/></svg> in",
        "5<template>million</template> in",
    ]
)  # fmt: skip
def test_a_sentence_is_verified_as_it_is_seen(inside: str) -> None:
    """What a visitor does not see, or sees as decoration, parts no sentence."""
    page = f"<html><body>{AROUND}<p>{SENTENCE.format(inside)}.</p></body></html>"

    assert reader_process.read(page.encode(), "html", "utf-8", SENTENCE.format("5 in"))["state"] == "verified"


VISIBLE_TEXTS = [
    ("<p>one <b>two</b>three</p>", "one twothree"), ("<p>one</p><p>two</p>", "one\ntwo"),
    ("<p>one<br>two</p>", "one\ntwo"), ("<table><tr><td>one</td><td>two</td></tr></table>", "one\ntwo"),
    ("<table><tr><td>in 5</td><td>300 towns</td></tr></table>", "in 5\n| 300 towns"),
    ("<ul><li>one<li>two</ul>three", "one\ntwo\nthree"), ("<p>one <!-- no --> two</p>", "one two"),
    ("<p>one\n  two</p><pre>three\n  four</pre>five\nsix", "one two\nthree\nfour\nfive six"),
    ("<p>one<script>no</script><style>no</style><noscript>no</noscript> two</p>", "one[hidden] two"),
    ("<p>one<span hidden>no</span><span style='color: red; DISPLAY : none'>no</span> two</p>", "one two"),
    ("<p>one<template>no</template> <i style='visibility:hidden'>no<b>no</b></i>two</p>", "one [hidden]two"),
    ("<p>&lt;b&gt; &amp;amp; &#x41;&nbsp;x</p>", "<b> &amp; A x"),
    ("<p>10<sup>2</sup> and 10<sup>\u22126</sup></p>", "10^2 and 10^\u22126"),
    ("<p>10<sup> 6</sup>5, <b>10</b> <sup>6</sup>, 10<sup><i hidden>1</i>6</sup></p>", "10^6 | 5, 10 ^6, 10^6"),
    ("<p>in 2019<sup><a href='#n'>3</a></sup> and <sup>4</sup>He, x<sup>2</sup></p>", "in 2019[3] and 4He, x2"),
    ("<p>in 2019<a href='#n'><sup>3</sup></a>, <a href='/'>10<sup>6</sup> of us</a></p>", "in 2019[3], 10^6 of us"),
    ("<p>in 2019<a href='#n'><!-- --><sup>3</sup></a>, <a><!-- -->10<sup>6</sup> of</a></p>", "in 2019[3], 10^6 of"),
    ("<p>in <b>2019</b><sup>3</sup>.</p>", "in 2019^3."), ("<p>in 2019</p><sup>1</sup> Note", "in 2019\n| 1 Note"),
    ("<p>101<sub>2</sub> H<sub>2</sub>O</p>", "101_2 H2O"), ("<p>exam<wbr>ple</p>", "example"),
    ("<p>was <del>not</del> $<s>50</s><ins>40</ins><s></s></p>", "was [struck: not] $[struck: 50]40"),
    ("<p>He said <q>no</q>.</p>", 'He said "no".'), ("<p>an <img alt=x><input><svg></svg>", "an [image][field]"),
    ("<p>x<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby></p>", "x漢(kan)"),
    ("<p>この<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>は</p>", "この漢字は"),
    ("no markup at all", "no markup at all"), ("<p>one<p>\x1b[2Jtwo\u202e", "one\n␛[2Jtwo"),
    ("<?php no ?><p>one", "one"), ("<svg><text>no</text></svg><p>one", "[image]\none"),
]  # fmt: skip


def test_what_a_visitor_sees() -> None:
    """Blocks are apart, inline elements are not; raised figures are kept from those before them."""
    for html, text in VISIBLE_TEXTS:
        assert visible(f"<html><body>{html}</body></html>") == text, html


FORMULAS = [
    ("<mo>×</mo>\n <msup>\n <mn>10</mn>\n <mrow><mo>−</mo><mn>6</mn></mrow>\n</msup>", "×10^(−6)"),
    ("<mfrac><mn>1</mn><mn>2</mn></mfrac><mn>3</mn>", " 1/2 3"), ("<msqrt><mn>2</mn></msqrt>", "√(2)"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mi>c</mi></mrow></mfrac>", "(a+b)/c"),
    ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mroot><mn>8</mn><mn>3</mn></mroot>", "x_i^2 8^1/3"),
    ("<munderover><mo>∑</mo><mn>1</mn><mi>n</mi></munderover><mi>k</mi>", "∑_1^nk"),
    ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>", "\n1\n| 2\n"),
    ("<msup><!-- a -->\n<mn>10</mn><!-- b -->\n<mrow><!-- c --><mn>6</mn></mrow></msup>", "10^6"),
    ("<semantics><mi>E</mi><annotation>no</annotation></semantics><mspace/><mphantom>no</mphantom><mi>F</mi>", "E F"),
]  # fmt: skip


def test_formulas_stand_in_their_line() -> None:
    """A formula is read with its powers, indices and fractions, as a part of its sentence."""
    for formula, text in FORMULAS:
        said = visible(f"<html><body>for x<math>{formula}</math> it is</body></html>")
        assert said == re.sub(" *\n *", "\n", f"for x{text} it is"), formula
    assert visible("<p>so 5<math display=block><mn>6</mn></math>is</p>") == "so 5\n| 6\nis"


def test_empty_formulas_are_read_in_time() -> None:
    """A page of very many empty fractions is read; the time grows with its length alone."""
    assert visible("<p>one<math>" + "<mfrac></mfrac>" * 200_000 + "</math>two</p>") == "onetwo"


def test_very_many_comments_are_read_in_time() -> None:
    """A page of very many comments is read; the time grows with its length alone."""
    assert visible("<p>one" + "<!-- -->a" * 200_000 + "<![CDATA[b]]>" * 100_000).startswith("onea")

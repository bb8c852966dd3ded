// k6/html: the selectors that it knows, and those that it does not
import { parseHTML } from 'k6/html';

export const options = { iterations: 1 };

const PAGE = `<html lang="en-GB"><body>
<h1 id="1st" title="Big News">Hello</h1>
<form><fieldset disabled><legend><input name="in-legend"></legend><input name="off" value="a.b"></fieldset>
<input name="on" type="checkbox" checked><input name="radio" type="RADIO" checked><input type="text" disabled name="text">
<select><option selected>s<option>t</select><button>go</button></form>
<p class="intro  Lead" lang="de">Ein <em>Wort</em></p><p>Other <em>word</em> here</p><p> </p><p><!-- only a comment --></p>
<a href="http://a.example/x.html" hreflang="en-US">A</a><a href="/y.HTML">B</a><a name="c">C</a><a href="">D</a>
<ul><li>1<li>2<li>3<li>4<li>5<li>6<li>7</ul>
<div><span>only</span></div><div data-x="a b c" data-q='say "hi"'><span>x</span><b>y</b><span>z</span></div>
<svg><foreignObject></foreignObject><text>t</text></svg>
</body></html>`;

const SELECTORS = [
  '*', 'p', 'P', 'body *', 'html', 'foreignObject', 'foreignobject', '#1st', 'h1#1st', '#\\31st', '.intro', '.lead', '.Lead', 'p.intro.Lead', '.none',
  '[title]', '[title="Big News"]', "[title='Big News']", '[title=Big]', '[title="big news" i]', '[title="big news"I]', '[title~=News]', '[title~="news" i]',
  '[title^=Big]', '[title$=News]', '[title*="g N"]', '[title*=""]', '[href^=""]', '[href=""]', '[hreflang|=en]', '[lang|=en]', '[lang|=e]', 'a[href!="/y.HTML"]', 'p[class!=intro]',
  'a[href#=\\.html$]', 'a[href#=(?i)\\.html$]', 'a[href#=[xy]]', '[data-q=\'say "hi"\']', '[data-q="say \\"hi\\""]', '[data-x=a\\ b\\ c]', '[TITLE]', '[ title = "Big News" ]', '[value=a.b]', '[value="a.b"]',
  'ul > li', 'ul>li:first-child', 'li + li', 'li ~ li', 'h1 ~ p', 'p + p', 'h1 + form', 'h1 + p', 'div span + b', 'div > span ~ span', 'body > * > li', 'html body ul li', 'a, b', 'a,b , em', '> p', 'p >', '+ p', ', p', 'p,', 'p, ,b',
  'li:nth-child(2)', 'li:nth-child(odd)', 'li:nth-child(even)', 'li:nth-child(ODD)', 'li:nth-child(2n+1)', 'li:nth-child( 3n - 1 )', 'li:nth-child(-n+3)', 'li:nth-child(n)', 'li:nth-child(+2)', 'li:nth-child(n+6)', 'li:nth-child(0)', 'li:nth-child(-1)',
  'li:nth-last-child(1)', 'li:nth-last-child(2n)', 'span:nth-of-type(2)', 'span:nth-last-of-type(2)', 'span:first-of-type', 'span:last-of-type', 'span:only-child', 'b:only-of-type', 'li:last-child', 'li:nth-child(x)', 'li:nth-child()', 'li:nth-child(2', 'li:nth-child(-)',
  'p:empty', ':root', 'a:link', ':input', 'input:enabled', 'input:disabled', ':disabled', ':enabled', ':checked', 'option:checked', 'em:lang(de)', 'em:lang(en)', 'p:lang(EN)', 'a:hover', 'a:visited',
  'p:not(.intro)', 'p:not(.intro, :empty)', 'li:not(:first-child):not(:last-child)', ':not(*)', 'p:has(em)', 'div:has(b, em)', 'body:has(div > b)', 'div:has(> b)', 'div:haschild(b)', 'body:haschild(b)',
  'p:contains(Wort)', 'p:contains("WORT")', 'em:contains(or)', 'p:containsOwn(Wort)', 'p:containsOwn("Ein")', ':containsOwn(hello)', 'p:contains()', 'p:contains', 'p:matches(^Ein)', 'p:matches((?i)W.rt)', 'p:matchesOwn(here$)', 'p:matches([)',
  'p::before', 'p:before', 'p::first-line', ':first', 'p:first', 'li:eq(1)', 'li:even', 'p:unknown', 'p:not(', 'p:not()', '', ' ', '  p  ', '/* c */ p', 'p/* c */.intro', 'p /* c */ em', '*|*', '*|p', 'svg|text', 'p.', 'p#', '#', '.', '[', '[]', '[=x]', '[x', '[x=', '[x=y', 'p[x=y', '--x', '-p', '1p', 'p..x', 'p{}', 'p & b', '\\70', 'p\\', '.\\49ntro', ':contains(only)', 'b :contains(x)',
];

export default function () {
  const page = parseHTML(PAGE);
  for (const selector of SELECTORS) {
    const found = page.find(selector);
    const shown = found.get().map((element) => `${element.nodeName()}${found.size() < 8 ? ` ${element.textContent().trim()}` : ''}`);
    console.log(selector, found.size(), JSON.stringify(shown), page.find('p, li').filter(selector).size(), page.find('p').is(selector));
  }
}

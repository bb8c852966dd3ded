// k6/html: what selections find, hold and say
import { parseHTML } from 'k6/html';

export const options = { iterations: 1 };

const PAGE = `<!DOCTYPE html>
<html lang="en"><head><title>A &amp; B</title><style>p > b { color: red }</style></head><body>
<!-- a comment -->
<div id="one" class="box wide" data-user-id="7" data-is-on="true" data-none="null" data-list='[1, {"a": 2}]' data-broken="{x" data-text="01" data-fraction="1.50" data-empty>
  first <p class="a">two <b>bold</b></p><p class="b c">three<!-- inner --></p><hr><p>four</p>
</div>
<div id="two"><ul><li>1<li class="x">2<li>3<ul><li id="deep">3.1</ul><li>4</ul></div>
<pre>
kept
</pre><script>if (a < b && "c") {}</script><table><tr><td>cell</table><svg viewBox="0 0 1 1"><a xlink:href="#z">s</a></svg>
</body></html>`;

export default function () {
  const page = parseHTML(PAGE);
  const show = (name, f) => {
    let shown;
    try {
      const value = f();
      const ids = (selection) => selection.toArray().map((one) => one.attr('id') || one.attr('class') || one.text().trim());
      const is = (value) => value !== null && typeof value === 'object' && typeof value.toArray === 'function';
      shown = value === undefined ? 'undefined' : JSON.stringify(is(value) ? ids(value) : value);
    } catch (e) {
      shown = `threw ${e.message}`;
    }
    console.log(name, shown);
  };

  const paragraphs = page.find('#one p');
  const items = page.find('#two li');
  show('find', () => page.find('div'));
  show('find within', () => page.find('div').find('p'));
  show('find selection', () => page.find('#one').find(page.find('p, li')));
  show('find nothing', () => page.find('p[').size());
  for (const [name, value] of [['nothing', undefined], ['null', null], ['number', 5], ['fraction', 1.5], ['boolean', true], ['object', {}], ['array', []]]) {
    show(`find ${name}`, () => page.find(value));
    show(`not ${name}`, () => page.not(value));
  }
  show('add', () => paragraphs.add('#two li.x').add('p.a'));
  show('add selection', () => page.find('#one').add(page.find('div')));
  show('add element', () => page.find('#two').add(page.find('#one').get(0)));
  show('add link', () => page.find('#two').add(page.find('a').get(0)));
  show('add invalid', () => paragraphs.add(1));
  show('attr', () => [page.find('div').attr('id'), page.find('div').attr('none'), page.find('div').attr('none', 'other'), page.find('zz').attr('id')]);
  show('attr of svg', () => page.find('svg').attr('viewbox'));
  show('children', () => page.find('#one').children());
  show('children filtered', () => page.find('#one').children('.a, hr'));
  show('closest', () => items.closest('ul').size());
  show('closest of itself', () => page.find('#deep').closest('li'));
  show('closest selection', () => page.find('b').closest(page.find('div')));
  show('closest element', () => page.find('b').closest(page.find('#one').get(0)));
  show('contents', () => page.find('p.a').contents().size());
  show('contents', () => page.find('#one').contents().toArray().map((node) => node.text().trim()));
  show('data', () => Object.entries(page.find('#one').data()).sort());
  show('data of nothing', () => page.find('hr').data());
  for (const name of ['userId', 'userID', 'user-id', 'isOn', 'none', 'list', 'broken', 'text', 'fraction', 'empty', 'missing']) {
    show(`data ${name}`, () => page.find('#one').data(name));
  }
  show('end', () => page.find('#one').children('p').end());
  show('end of find', () => page.find('#one').find('p').end());
  show('end of all', () => page.end().size());
  show('eq', () => [0, 2, -1, 3, -4, '1'].map((index) => paragraphs.eq(index).text()));
  show('first', () => paragraphs.first());
  show('last', () => items.last());
  show('filter', () => paragraphs.filter('.a, .c'));
  show('filter selection', () => items.filter(page.find('.x, #deep')));
  show('filter function', () => paragraphs.filter((index, one) => index > 0 && one.text() !== 'four'));
  show('filter throws', () => paragraphs.filter(() => { throw new Error('mine'); }));
  show('filter number', () => paragraphs.filter(1));
  show('get', () => [paragraphs.get(0).textContent(), paragraphs.get(-1).textContent(), paragraphs.get(-3), paragraphs.get(3), paragraphs.get().length]);
  show('get of nothing', () => page.find('zz').get());
  show('has', () => page.find('div, ul').has('#deep'));
  show('has selection', () => page.find('div, p').has(page.find('b')));
  show('has element', () => page.find('div, p').has(page.find('b').get(0)));
  show('html', () => [page.find('#one p').html(), page.find('zz').html(), page.find('hr').html(), page.find('pre').html(), page.find('script').html()]);
  show('html of all', () => page.html());
  show('index', () => [items.index(), items.last().index(), items.index(page.find('#deep')), page.find('#deep').index('li'), items.index('zz'), page.find('zz').index()]);
  show('index of element', () => page.find('div').index(page.find('#two').get(0)));
  show('is', () => [paragraphs.is('.c'), paragraphs.is('li'), paragraphs.is(page.find('.a')), paragraphs.is((index) => index === 2), page.find('zz').is('*')]);
  show('is number', () => paragraphs.is(1));
  show('map', () => paragraphs.map((index, one) => `${index} ${one.text()} ${one.attr('class')}`));
  show('map that throws', () => paragraphs.map((index, one) => { if (index === 1) { throw new Error('mine'); } return one.size(); }));
  show('map without a function', () => paragraphs.map());
  const seen = [];
  show('each', () => paragraphs.each((index, element) => { seen.push(index, element.nodeName(), element.textContent()); }).size());
  show('seen', () => seen);
  show('each without a function', () => paragraphs.each('x'));
  for (const [name, of] of [['a', '.a'], ['b', '.b'], ['x', '.x'], ['deep', '#deep'], ['one', '#one'], ['all', 'p, li']]) {
    const from = page.find(of);
    for (const method of ['next', 'nextAll', 'prev', 'prevAll', 'parent', 'parents', 'siblings']) {
      show(`${method} of ${name}`, () => from[method]().size());
      show(`${method} of ${name}, filtered`, () => from[method]('p, li, ul, [id]'));
    }
    for (const method of ['nextUntil', 'prevUntil', 'parentsUntil']) {
      show(`${method} of ${name}`, () => from[method]().size());
      show(`${method} of ${name}, null`, () => from[method](null).size());
      show(`${method} of ${name}, text`, () => from[method]('hr, body, li:nth-child(3)').size());
      show(`${method} of ${name}, selection`, () => from[method](page.find('hr, #two')).size());
      show(`${method} of ${name}, filtered`, () => from[method]('body, hr', 'p, li, ul'));
      show(`${method} of ${name}, only filtered`, () => from[method](null, 'p, li, ul'));
      show(`${method} of ${name}, selection filtered`, () => from[method](page.find('body'), 'li, div'));
      show(`${method} of ${name}, number`, () => from[method](4));
    }
  }
  show('not', () => paragraphs.not('.a'));
  show('not invalid', () => paragraphs.not('p['));
  show('not selection', () => paragraphs.not(page.find('.b')));
  show('not element', () => page.find('div').not(page.find('#one').get(0)));
  show('not function', () => paragraphs.not((index) => index === 1));
  show('size', () => [page.size(), items.size(), page.find('zz').size()]);
  show('slice', () => [items.slice(1).size(), items.slice(1, 3).size(), items.slice(-2).size(), items.slice(0, -1).size(), items.slice(1, 99).size()]);
  show('text', () => [paragraphs.text(), page.find('title').text(), page.find('#two').text(), page.find('script').text(), page.find('zz').text()]);
  show('toArray', () => items.toArray().map((one) => one.text()));
  show('url', () => page.find('p').url);

  for (const text of ['', 'plain', '<b>x<i>y</b>z</i>', '<p>a<p>b', '<table><b>x</table>', '<a b=1 B=2 c>d</a>', '&lt;&copy;&amp;nbsp;&#39;"', '<!--x--><br/></br>',
    '<textarea>\n\nx</textarea>', '<p a="&quot;<>\'">&nbsp;</p>', '<svg><title><b>x</b></title><foreignObject><p>y</p></foreignObject></svg>', '<math><mi>x</mi></math>',
    '<template><p>x</p></template>', '<noscript><p>x</p></noscript>', '<frameset><frame></frameset>', '<select><option>a<option>b<optgroup><option>c</select>',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><p>', '<body a=1><body a=2 b=3>', '\r\nx\ry\0z', '<input><hr><img src=x>tail', '<!-- a & b > c --!>d']) {
    show(`parsed ${JSON.stringify(text)}`, () => parseHTML(text).html());
  }
  show('parsed number', () => parseHTML(5).html());
  show('parsed nothing', () => [parseHTML().html(), parseHTML(null).html(), parseHTML(undefined).text()]);
  show('deep', () => parseHTML('<div>'.repeat(510)).find('div').size());
  show('too deep', () => parseHTML('<div>'.repeat(511)));
}

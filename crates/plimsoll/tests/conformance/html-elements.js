// k6/html: elements and what they have of their own
import { parseHTML } from 'k6/html';

export const options = { iterations: 1 };

const PAGE = `<html><head><base href="/base/" target=t><title>the title</title><meta name=m content=c http-equiv=refresh><link rel="a b" href="l.css" hreflang=en media=print type=x crossorigin=anonymous referrerpolicy=origin>
<style media=screen>x</style><script src="s.js" async defer nomodule charset=c type=t crossorigin=y>code</script></head><body lang=en>
<p id=p class="x  y" title=t>text<!--note--><b id=b>bold</b> tail</p>
<a id=a href="http://user:p%20w@host.example:8080/a/b%20c?q=1&amp;r#frag%20x" rel="nofollow  noopener" target=_blank type=text/html accesskey=k hreflang=de download=d referrerpolicy=origin>link</a>
<a href="../up?x">rel</a><a href="https://host.example:443/">s</a><a href="mailto:a@b.example">m</a><a href="//other.example">o</a><a href="#f">f</a><a href="http://[::1]:80/x">6</a><a href="%zz">bad</a><a href="file:///x/y">file</a><a>none</a><a href="">empty</a><a href="?n=1">query</a><a href="a b/ü">space</a><a href="http://host.example">bare</a><a href="/a/./b/../c/">dots</a>
<map id=map name=n><area href="/area" shape=rect></map><img usemap="#map" id=img src="i.png" alt=al width=10 height=x ismap sizes=s srcset=ss crossorigin=use-credentials name=in>
<audio src="a.ogg" autoplay controls loop muted preload=none crossorigin=x mediagroup=g><track kind=captions src=t.vtt srclang=en label=l default></audio><video src="v" preload=odd></video>
<canvas width=7></canvas><data value=v></data><del cite=c datetime=d>x</del><ins cite=c2>y</ins><embed src=e type=t width=1 height=2><iframe src=f.html name=fn width=3 allowfullscreen></iframe><object id=o data=d.swf type=t tabindex=3 typemustmatch usemap="#map"></object>
<form id=form action="act?x=1" method=post enctype=text/plain name=fname target=_top accept-charset=utf-8 novalidate autocomplete=off>
<fieldset id=fs name=fsn disabled><legend id=legend accesskey=q>L</legend><input id=i1 name=n1 value=v1 type=checkbox checked tabindex=2 maxlength=9 size=4 list=dl required readonly multiple pattern=p placeholder=ph min=1 max=5 step=2 dirname=dn accept=im accesskey=z></fieldset>
<label id=lab for=i1>label <input id=i2 list=dl formaction="/other" formmethod=GET formenctype=multipart/form-data formtarget=ft formnovalidate type=weird></label>
<button id=but name=bn type=menu>go <i>now</i></button><button id=but2 value=bv></button>
<select id=sel name=sn><option>one<option selected value=2>two<optgroup label=og disabled><option id=op label=lb>three</optgroup></select><select id=multi multiple><option selected>a<option selected>b</select><select id=none><option>x</select>
<textarea id=ta name=tn rows=3 cols=x maxlength=5 wrap=hard autocapitalize=none readonly value=wert>area</textarea><output id=out for="i1 i2" name=on>o</output><progress id=pr value=3 max=4></progress><progress value=x></progress><progress></progress><meter id=me min=1 max=9 low=2 high=8 optimum=4 value=3></meter></form>
<input id=outside form=form><datalist id=dl><option>d1<option>d2</datalist><label id=lab2 for=nowhere>x</label><keygen id=kg keytype=DSA challenge=ch name=kn>
<ol reversed start=4 type=a><li value=5 type=I>1<li>2</ol><ul type=disc></ul><pre name=pn>p</pre><quote cite=qc>q</quote><time datetime=2020>t</time><param name=par value=pv><source src=so srcset=sos media=som type=sot>
<table id=t sortable><caption>cap</caption><colgroup><col span=2><col span=0></colgroup><thead><tr><th abbr=ab scope=col sorted>h</thead><tbody><tr id=tr><td>1<td id=td colspan=2 rowspan=x headers=h>2<tbody><tr><td>3</tbody><tfoot><tr><td>f</tfoot></table>
<svg id=svg viewBox="0"><a xlink:href="#x">svg</a></svg></body></html>`;

const METHODS = 'accept acceptCharset accessKey action abbr allowfullscreen alt areas async autocapitalize autocomplete autofocus autoplay caption cellIndex cells challenge charset '
  + 'checked childElementCount childNodes children cite classList className colSpan cols content control controls crossOrigin currentSrc data datetime default defaultChecked defaultMuted '
  + 'defaultSelected defaultValue defer dirName disabled download elements encoding enctype firstChild firstElementChild form formAction formEnctype formMethod formNoValidate formTarget '
  + 'hasAttributes hasChildNodes hash headers height high host hostname href hrefLang hreflang htmlFor httpEquiv id images index innerHTML isDefaultNamespace isMap keySystem keytype kind label '
  + 'labels lang lastChild lastElementChild length list loop low max maxLength media mediaGroup method min multiple muted name namespaceURI nextElementSibling nodeName nodeType '
  + 'nodeValue noModule noValidate optimum options origin ownerDocument parentElement parentNode password pathname pattern placeholder port position preload previousElementSibling '
  + 'previousSibling protocol readOnly readonly referrerPolicy rel relList required reversed rowIndex rowSpan rows scope search sectionRowIndex selected selectedIndex selectedOptions selection '
  + 'size sizes sortable sorted span src srclang srcset start step tBodies tFoot tHead tabIndex target text textContent textTracks toString type typeMustMatch useMap username validity value width wrap';

const shownOf = (value) => {
  if (value === undefined || value === null) { return String(value); }
  if (Array.isArray(value)) { return `[${value.map(shownOf)}]`; }
  if (typeof value !== 'object') { return JSON.stringify(value); }
  return typeof value.nodeName === 'function' ? `<${value.nodeName()} ${value.id()}>` : `(${value.size()})`;
};

export default function () {
  const show = (name, f) => {
    try {
      console.log(name, shownOf(f()));
    } catch (e) {
      console.log(name, 'threw');
    }
  };
  for (const url of ['', 'http://base.example:80/dir/page?q#h']) {
    const page = parseHTML(PAGE);
    page.url = url;
    page.find('*').each((index, element) => {
      // Without a child or sibling k6 breaks.
      const known = METHODS.split(' ').filter((name) => typeof element[name] === 'function'
        && (!/^(first|last)Child$/.test(name) || element.hasChildNodes()) && (!/^(next|previous)Sibling$/.test(name) || element[name.replace('S', 'ElementS')]() !== undefined));
      if (url === '') { console.log(index, element.nodeName(), known.join()); }
      const asked = known.filter((name) => (url === '' || /href|host|hash|port|origin|path|search|user|pass|protocol|src|Src|action|Action|data|toString/.test(name))
        && (element.childElementCount() < 3 || !/^(innerHTML|text|textContent)$/.test(name)));
      const values = asked.map((name) => [name, shownOf(element[name]())]).filter(([, value]) => !['undefined', 'false', '""', '[]'].includes(value));
      console.log(index, `from '${url}'`, element.nodeName(), values.map((pair) => pair.join('=')).join(' '));
    });
  }
  const page = parseHTML(PAGE);
  const p = page.find('#p').get(0);
  const b = page.find('#b').get(0);
  const a = page.find('#a').get(0);
  show('attributes', () => Object.keys(p.attributes()).sort());
  show('attribute', () => { const { name, value, localName, prefix, namespaceURI, owner_element } = p.attributes().title; return [name, value, localName(), prefix(), namespaceURI(), owner_element.id()]; });
  show('attribute with a prefix', () => { const of = page.find('svg a').get(0).getAttributeNode('href'); return [of.name, of.value, of.prefix(), of.namespaceURI()]; });
  show('getAttribute', () => [p.getAttribute('id'), p.getAttribute('none')]);
  show('getAttributeNode', () => [p.getAttributeNode('id').value, p.getAttributeNode('none')]);
  show('hasAttribute', () => [p.hasAttribute('id'), p.hasAttribute('none')]);
  show('getElementsByClassName', () => page.find('body').get(0).getElementsByClassName('x'));
  show('getElementsByTagName', () => p.getElementsByTagName('b'));
  show('querySelector', () => [p.querySelector('b'), p.querySelector('zz'), page.find('table').get(0).querySelector('td').textContent()]);
  show('querySelectorAll', () => page.find('#form').get(0).querySelectorAll('input'));
  show('contains', () => [p.contains(b), b.contains(p), p.contains(p), page.find('body').get(0).contains(a), p.contains(5)]);
  show('isEqualNode', () => [p.isEqualNode(p), p.isEqualNode(b), a.isEqualNode(a), p.isEqualNode('x')]);
  show('isSameNode', () => [p.isSameNode(page.find('#p').get(0)), p.isSameNode(b), a.isSameNode(a), p.isSameNode('x')]);
  show('matches', () => [p.matches('p.x'), p.matches('a'), p.matches('p[')]);
  show('nextSibling', () => p.nextSibling().textContent());
  show('comment', () => { const note = page.find('#p').contents().eq(1).get(0); return [note.nodeName(), note.nodeType(), note.nodeValue(), note.toString()]; });
  show('text', () => { const text = p.firstChild(); return [text.nodeName(), text.nodeType(), text.nodeValue(), text.toString(), text.id(), Object.keys(text.attributes())]; });
  show('document', () => [p.ownerDocument().nodeName(), p.ownerDocument().nodeType(), p.ownerDocument().toString(), page.get(0).nodeName()]);
  show('doctype', () => { const type = parseHTML('<!doctype HTML>').contents().get(0); return [type.nodeName(), type.nodeType(), type.textContent()]; });
  show('several', () => page.find('li').get(0).selection());
  show('as text', () => [`${p}`, `${a}`]);

  const forms = parseHTML(`<form id=f><input name=a value="x y&amp;"><input name=b type=checkbox><input name=c type=checkbox checked=checked><input name=d type=radio value=r checked=checked>
    <input name=e type=submit value=s><input name=g type=file><input value=unnamed><input name=h disabled=disabled><input name=i disabled><select name=j><option>1<option selected>2</select>
    <select name=k multiple><option selected>1<option selected value="2'">two</select><select name=l><option>x</select><textarea name=m>t &lt;</textarea><input name=a value=again><button name=n>b</button></form><input name=alone value="(*)!~">`);
  show('serialize', () => forms.find('form').serialize());
  show('serialize fields', () => forms.find('input').serialize());
  show('serialize nothing', () => forms.find('p').serialize());
  show('serializeArray', () => forms.find('form').serializeArray().map(({ name, value }) => `${name}=${JSON.stringify(value)}`));
  show('serializeObject', () => Object.entries(forms.find('form').serializeObject()).map(([name, value]) => `${name}=${JSON.stringify(value)}`).sort());
  for (const field of ['[name=a]', '[name=b]', '[name=j]', '[name=k]', '[name=l]', '[name=m]', '[name=n]', 'option', 'p', 'form']) {
    show(`val of ${field}`, () => forms.find(field).val());
  }
}

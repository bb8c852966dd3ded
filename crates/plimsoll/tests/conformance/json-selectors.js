// Response: json(selector) with all that its selectors know
import http from 'k6/http';

export const options = { iterations: 1 };

const SELECTORS = [
  '', 'name', 'name.last', 'name.none', 'age', 'age.x', 'children', 'children.#', 'children.1', 'children.-1', 'children.01', 'children.9', 'children.x', 'child*.2', 'c?ildren.0', 'fav\\.movie', 'fav.movie',
  'friends.#', 'friends.#.first', 'friends.#.none', 'friends.1.last', 'friends.#.nets', 'friends.#.nets.#', 'friends.#.nets.0', 'friends.#.nets.#(=="fb")', 'children.#.x', 'none.#', 'none.#.x', 'empty.#', 'empty.x', 'nothing', 'nothing.x', 'yes', 'no', 'twice.b', 'twice.x', 'same',
  'friends.#(last=="Murphy").first', 'friends.#(last=="Murphy")#.first', 'friends.#(last=="Murphy")', 'friends.#(last=Murphy).first', 'friends.#[last=="Murphy"]#.first', 'friends.#(age>45)#.last', 'friends.#(age>=47)#.first', 'friends.#(age<45).first', 'friends.#(age<=44)#.first', 'friends.#(age!=44)#.first', 'friends.#(age==44.0).first',
  'friends.#(first%"D*").last', 'friends.#(first!%"D*").last', 'friends.#(first%"?a*")#.first', 'friends.#(nets.#(=="fb"))#.first', 'friends.#(nets.#(=="none"))#.first', 'friends.#(note)#.first', 'friends.#(none)#', 'friends.#(none)', 'friends.#(on==true)#.first', 'friends.#(on!=true)#.first', 'friends.#(on==~true)#.first', 'friends.#(on==~false)#.first', 'friends.#(note==~null)#.first', 'friends.#(note==~*)#.first', 'friends.#(on>false)#.first', 'friends.#(on<true)#.first',
  'friends.#(note=="say \\"hi\\"").first', 'friends.#( last == "Craig" ).first', 'friends.#(last=="Mur', 'friends.#(', 'friends.#()', 'friends.#()#', 'friends.#(=="text")', 'friends.#(=5)', 'friends.#(>4)#', 'friends.#(last=="Murphy")#.#', 'friends.#(last=="Murphy")#|#', 'friends.#(last=="Murphy")#|0.first', 'friends.#(last=="Murphy")#.nets.#', 'friends.#(first<"J")#.first', 'friends.#(first>="Jane")#.first',
  'vals.#(>0)#', 'vals.#(=="0")', 'vals.#(==~true)#', 'vals.#(==~false)#', 'vals.#(==~null)#', 'vals.#(==~*)#', 'vals.#(==~x)#', 'vals.#(==true)', 'vals.#(!=true)#', 'vals.#(>=true)#', 'vals.#(<=false)#', 'vals.#(=="")', 'vals.#(%"*")#', 'vals.#(==1000)', 'vals.#(=="a")#', 'vals.2', 'vals.#', 'vals.#(==null)',
  'name.*', 'n*.f*', '*.x', 'wide.ab*', 'wide.ab*.v', 'wide.*.v', 'wide.?', 'a\\*b', 'a\\?b', 'a\\|b', '\\@x', '@x', '#', '1', 'a*b', 'caf\u00e9', 'caf?', 'back\\\\slash', 'back\\slash', 'uni', 'name.first.0', 'name|first', 'name|none', 'friends|#', 'friends.#|0', 'friends|0|first', 'friends.0|first', 'children|1', 'children|@reverse', 'friends.#.first|0', 'friends.#.first|#', 'friends.#.nets|0', 'friends.#.nets|#.0',
  '@this', '@this.name.first', '@this|age', 'children.@reverse', 'children.@reverse.0', 'children|@reverse|0', 'name.@reverse', 'age.@reverse', '@reverse.age', 'grid.@flatten', 'grid.@flatten:{"deep":true}', 'grid.@flatten:{"deep":false}', 'name.@keys', 'name.@values', 'children.@keys', 'children.@values', 'age.@keys', 'age.@values', 'friends.@keys.#', 'name.@tostr', 'children.@tostr', 'age.@tostr', 'text.@fromstr', 'text.@fromstr.a.1', 'name.@fromstr', 'children.0.@fromstr', 'age.@fromstr', 'name.@valid', 'name.@valid.first', 'name.@ugly', 'name.@pretty', 'name.@pretty:{"sortKeys":true}', 'name.@ugly.@tostr',
  'groups.@group', 'groups.@group.#', 'children.@group', 'friends.@join', '[name,{"first":@this}]', '[name.first,age]', '{name.first,age}', '{"who":name.first,"old":age}', '{who:name.first,age}', '{name.first,children.#,friends.#.first}', '[name.none,age]', '{name.none}', '{}', '[]', 'name.[first,last]', 'name.{first,"l":last}', 'friends.#.{first,age}', 'friends.#.[first,nets.#]', 'friends.0.{first,n:nets|@reverse}', '[age].0', '[age]|0', '{age}.age', '[name.first,children.1]|@reverse', '{age}x', '[age', '{"a":age,"b":[age,@this.yes]}', '{children.#(=="Alex"),friends.#(age>60).first}',
  '!"static"', '!5', '!true', '!null', '!{"a":1}', '!{"a":1}.a', '![1,2]|1', '!x', '[age,!"x",!1]', '{"a":!"x"}', '@dig:first', 'friends.@dig:first', 'friends.@dig:first|#', '@none', 'name.@none', '@this.@this', '@this@this', 'children.@reverse.@reverse', 'children.@reverse@this', '..#', '..0', '..0.age', '..#.age', '..1', '...', '..', '.', 'name.', '.name', 'name..first', 'children.', 'children.#.', 'friends.#.#', '#.x', '1.x', 'name.first.@tostr', 'friends.#(last=="Murphy")#.first.@reverse', 'friends.#(last=="Murphy")#.@this', 'friends.#(age>45)#.{first}', 'friends.#(nets)#.nets.@flatten', 'friends.#.nets.@flatten', 'friends.#.nets|@flatten', 'friends.#.first.@reverse', 'friends.#.last|@reverse',
];

export default function () {
  for (const [name, selectors] of [
    ['document', SELECTORS],
    ['list', ['', '#', '0', '0.a', '#.a', '#.b.0', '#(a==2).b', '#(a)#', '@reverse', '@this.#', '1.b.#', '#.#', '2.#', '#|#', '*', '0.*', '..#', '..0.0.a', '@flatten', '@join', '@join:{"preserve":true}', '@keys', '[0.a,1.a]', '#(>4)', '3', '4', '..0']],
    ['string', ['', 'a', '@this', '@tostr', '0', '#', '[@this]', '@valid', '@keys', '@values']],
    ['number', ['', '@this', '@reverse', '@flatten', '@join', '@group', '@tostr', '@fromstr']],
    ['nothing', ['', 'a', '@this', '@keys']],
    ['broken', ['a', '@this', '@valid', '!1']],
    ['lines', ['..#', '..1.a']],
    ['deep', ['@flatten:{"deep":true}', '0.0.0.#', '@dig:#.0|#']],
  ]) {
    const response = http.get(`${__ENV.BASE}/json/${name}`);
    for (const selector of selectors) {
      let shown;
      try {
        const value = response.json(selector);
        shown = value === undefined ? 'undefined' : JSON.stringify(value, (key, part) => (part !== null && typeof part === 'object' && !Array.isArray(part)
          ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part));
      } catch (e) {
        shown = `threw ${e.message}`;
      }
      console.log(name, selector, shown.length > 300 ? `${shown.slice(0, 300)} ${shown.length}` : shown);
    }
  }
}

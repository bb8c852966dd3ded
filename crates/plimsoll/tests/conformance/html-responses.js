// k6/http: html, submitForm and clickLink of responses
import http from 'k6/http';

export const options = { iterations: 1 };

export default function () {
  const at = (text) => String(text).replaceAll(__ENV.BASE, 'BASE');
  const show = (name, f) => {
    try {
      console.log(name, at(f()));
    } catch (e) {
      console.log(name, 'threw', at(e.message));
    }
  };
  const sent = (response) => {
    const { method, url, body, headers } = response.request;
    return JSON.stringify([response.status, method, url, body, headers['Content-Type'], headers['X-Mine']]);
  };
  const page = http.get(`${__ENV.BASE}/shop/page`);
  show('html', () => page.html().find('title').text());
  show('html of a selector', () => page.html('a').size());
  show('html of nothing', () => page.html('none').size());
  show('url', () => page.html('a').url);
  show('href', () => page.html('a').toArray().map((a) => a.get(0).href()));
  show('of text', () => http.get(`${__ENV.BASE}/text`).html('body').text());
  show('of bytes', () => http.get(`${__ENV.BASE}/shop/page`, { responseType: 'binary' }).html('title').text());
  show('of nothing', () => http.get(`${__ENV.BASE}/shop/page`, { responseType: 'none' }).html());
  show('submit', () => sent(page.submitForm()));
  show('submit an empty object', () => sent(page.submitForm({})));
  show('submit by get', () => sent(page.submitForm({ formSelector: '#search', fields: { q: 'a b', list: ['1', '2'] } })));
  show('submit by post', () => sent(page.submitForm({ formSelector: '#login' })));
  show('submit with fields', () => sent(page.submitForm({ formSelector: '#login', fields: { user: 'ä & b', many: 'one', extra: 7 }, params: { headers: { 'X-Mine': '1' } } })));
  show('submit by another button', () => sent(page.submitForm({ formSelector: '#login', submitSelector: '[name=user]' })));
  show('submit without an action', () => sent(page.submitForm({ formSelector: '#here' })));
  show('submit nothing', () => sent(page.submitForm({ formSelector: '#none' })));
  show('submit without a body', () => http.get(`${__ENV.BASE}/shop/page`, { responseType: 'none' }).submitForm());
  show('click', () => sent(page.clickLink()));
  show('click a selector', () => sent(page.clickLink({ selector: '.up', params: { headers: { 'X-Mine': '2' } } })));
  show('click nothing', () => sent(page.clickLink({ selector: '#none' })));
  show('click what has no link', () => sent(page.clickLink({ selector: 'a' })));
}

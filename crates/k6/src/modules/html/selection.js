// Selections of `k6/html`: what k6 makes of goquery. Contexts have collections and typed arrays only where the script names them.
// `library` has what documents inherit from, `elementsOf` makes the classes of elements.
(library, elementsOf) => {
    const INITIALISMS = ('ACL API ASCII CPU CSS DNS EOF ETA GPU GUID HTML HTTP HTTPS ID IP JSON LHS OS QPS RAM RHS RPC SLA SMTP '
        + 'SQL SSH TCP TLS TTL UDP UI UID UUID URI URL UTF8 VM XML XMPP XSRF XSS OAuth').split(' ');
    // What is missing is empty, as where Go is given a string or a number.
    const textOf = (value) => (value === undefined || value === null ? '' : String(value));
    const integerOf = (value) => Math.trunc(Number(value)) || 0;

    const wordInCamelCase = (word) => {
        if (word === 'oauth') { return 'OAuth'; }
        const upper = word.toUpperCase();
        return INITIALISMS.includes(upper) ? upper : word.charAt(0).toUpperCase() + word.slice(1);
    };
    const attributeToProperty = (name) => {
        const dash = name.indexOf('-');
        return dash < 0 ? name
            : name.slice(0, dash) + name.slice(dash + 1).replaceAll('-', '_').split('_').map(wordInCamelCase).join('');
    };
    const propertyToAttribute = (name) => {
        const words = [];
        let last = 0;
        for (let at = 1; at < name.length; at += 1) {
            if (!/\p{Lu}/u.test(name[at])) { continue; }
            const known = [5, 4, 3, 2].find((length) => INITIALISMS.includes(name.substr(last, length)) && last + length <= name.length);
            if (known) {
                words.push(name.substr(last, known));
                at += known - 1;
            } else {
                words.push(name.slice(last, at));
            }
            last = at;
        }
        if (last < name.length) { words.push(name.slice(last)); }
        return words.join('_').toLowerCase().replaceAll('_', '-');
    };

    // A number without an exponent.
    const inDigits = (number) => {
        const [, sign, whole, , fraction = '', exponent] = /^(-?)(\d+)(\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? [];
        if (exponent === undefined) { return Object.is(number, -0) ? '-0' : String(number); }
        const zeros = '0'.repeat(Math.abs(exponent));
        return Number(exponent) < 0
            ? `${sign}0.${zeros.slice(1)}${whole}${fraction}`
            : sign + (whole + fraction).padEnd(Number(exponent) + 1, '0');
    };
    const dataOf = (text) => {
        if (/^[{[]/.test(text)) {
            try { return JSON.parse(text); } catch { return text; }
        }
        if (text === '' || text === 'null' || text === 'undefined') { return undefined; }
        if (text === 'true' || text === 'false') { return text === 'true'; }
        if (text === 'NaN') { return NaN; }
        if (text === '+Inf' || text === '-Inf') { return text === '+Inf' ? Infinity : -Infinity; }
        return /^-?\d+(\.\d+)?$/.test(text) && inDigits(Number(text)) === text ? Number(text) : text;
    };
    const queryEscaped = (text) => encodeURIComponent(text)
        .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+');
    const encoded = (pairs) => pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
        .map(([name, value]) => `${queryEscaped(name)}=${queryEscaped(value)}`).join('&');

    class Selection {
        #document;
        #nodes;
        #previous;

        constructor(document, nodes, url, previous) {
            this.#document = document;
            this.#nodes = nodes;
            this.#previous = previous;
            this.url = url;
        }

        static documentOf(selection) { return selection.#document; }
        static nodesOf(selection) { return selection.#nodes; }

        #push(nodes) { return new Selection(this.#document, nodes, this.url, this); }
        #refuse(value) {
            const name = Element.goTypeOf(value) ?? (typeof value === 'function' ? 'func(sobek.FunctionCall) sobek.Value'
                : value instanceof Selection ? 'html.Selection' : library.typeName(value));
            throw new Error(`invalid argument, cannot use a '${name}' as a selector`);
        }
        // A selector as it is; of selections and elements their nodes.
        #target(value) {
            if (typeof value === 'string') { return value; }
            if (value instanceof Selection) { return value.#nodes; }
            return Element.plainNode(value) ?? this.#refuse(value);
        }
        #found(target) {
            return typeof target === 'string' ? this.#document.find([0], target) : target;
        }
        #around(kin, filter) {
            const nodes = this.#document.around(this.#nodes, kin);
            return this.#push(filter.length === 0 ? nodes : this.#document.filter(nodes, textOf(filter[0])));
        }
        #aroundUntil(kin, given) {
            const [until] = given;
            if (given.length > 2 || !(until === undefined || until === null || typeof until === 'string' || until instanceof Selection)) {
                this.#refuse(until);
            }
            const nodes = this.#document.around(this.#nodes, kin, until instanceof Selection ? until.#nodes : until ?? undefined);
            return this.#push(given.length < 2 ? nodes : this.#document.filter(nodes, String(given[1])));
        }
        #kept(test) {
            return this.#nodes.filter((node, index) => test.call(test, index, this.#push([node])));
        }
        #filtered(value, what) {
            if (typeof value === 'string') { return this.#document.filter(this.#nodes, value); }
            if (value instanceof Selection) { return this.#nodes.filter((node) => value.#nodes.includes(node)); }
            if (typeof value !== 'function') {
                throw new Error(`the argument to ${what}() must be a function, a selector or a selection`);
            }
            return this.#kept(value);
        }

        add(value) {
            const known = Object.create(null);
            const all = this.#nodes.concat(this.#found(this.#target(value)));
            return this.#push(all.filter((node) => { const isKnown = known[node]; known[node] = true; return !isKnown; }));
        }
        find(value) {
            const target = this.#target(value);
            return this.#push(typeof target === 'string'
                ? this.#document.find(this.#nodes, target)
                : this.#document.within(this.#nodes, target));
        }
        // At most one node, as k6 has it since 2.1.
        single(selector) { return this.#push(this.#document.find(this.#nodes, textOf(selector)).slice(0, 1)); }
        closest(value) { return this.#push(this.#document.closest(this.#nodes, this.#target(value))); }
        has(value) {
            const inner = this.#found(this.#target(value));
            return this.#push(this.#nodes.filter((node) => this.#document.within([node], inner).length > 0));
        }
        not(value) {
            const gone = typeof value === 'function' ? this.#kept(value) : this.#target(value);
            const nodes = typeof gone === 'string' ? this.#document.filter(this.#nodes, gone) : gone;
            return this.#push(this.#nodes.filter((node) => !nodes.includes(node)));
        }
        filter(value) { return this.#push(this.#filtered(value, 'filter')); }
        is(value) { return this.#filtered(value, 'is').length > 0; }

        children(...filter) { return this.#around('children', filter); }
        contents() { return this.#around('contents', []); }
        next(...filter) { return this.#around('next', filter); }
        nextAll(...filter) { return this.#around('nextAll', filter); }
        nextUntil(...given) { return this.#aroundUntil('nextAll', given); }
        parent(...filter) { return this.#around('parent', filter); }
        parents(...filter) { return this.#around('parents', filter); }
        parentsUntil(...given) { return this.#aroundUntil('parents', given); }
        prev(...filter) { return this.#around('prev', filter); }
        prevAll(...filter) { return this.#around('prevAll', filter); }
        prevUntil(...given) { return this.#aroundUntil('prevAll', given); }
        siblings(...filter) { return this.#around('siblings', filter); }

        size() { return this.#nodes.length; }
        end() { return this.#previous ?? new Selection(this.#document, [], this.url); }
        eq(index) {
            const node = this.#nodes.at(integerOf(index));
            return node === undefined ? new Selection(this.#document, [], this.url) : this.#push([node]);
        }
        first() { return this.eq(0); }
        last() { return this.eq(-1); }
        slice(start, end) {
            return this.#push(this.#nodes.slice(integerOf(start), end === undefined ? undefined : integerOf(end)));
        }
        get(index) {
            if (arguments.length === 0) { return Element.list(this); }
            const at = integerOf(index);
            return Math.abs(at) < this.#nodes.length ? Element.of(this.eq(at)) : undefined;
        }
        toArray() { return this.#nodes.map((node) => this.#push([node])); }
        index(value) {
            if (arguments.length === 0) { return this.#nodes.length ? this.first().prevAll().size() : -1; }
            if (value instanceof Selection) { return this.#nodes.indexOf(value.#nodes[0]); }
            if (typeof value === 'string') { return this.#found(value).indexOf(this.#nodes[0]); }
            return this.#nodes.indexOf(Element.plainNode(value)?.[0]);
        }

        each(callback) {
            if (typeof callback !== 'function') { throw new Error('the argument to each() must be a function'); }
            this.#nodes.forEach((node, index) => {
                try {
                    callback.call(callback, index, Element.of(this.#push([node])));
                } catch (error) {
                    throw new Error(`the function passed to each() failed: ${error}`);
                }
            });
            return this;
        }
        map(callback) {
            if (typeof callback !== 'function') { throw new Error('the argument to map() must be a function'); }
            const values = [];
            this.#nodes.forEach((node, index) => {
                // What is thrown is left out, as in k6.
                try { values.push(callback.call(callback, index, this.#push([node]))); } catch { /* left out */ }
            });
            return values;
        }

        text() { return this.#document.text(this.#nodes); }
        html() { return this.#nodes.length ? this.#document.html(this.#nodes[0]) : ''; }
        attr(name, otherwise) {
            const value = this.#nodes.length ? this.#document.attribute(this.#nodes[0], textOf(name)) : undefined;
            return value === undefined ? otherwise : value;
        }
        data(name) {
            const attributes = this.#nodes.length ? this.#document.attributes(this.#nodes[0]) : [];
            if (attributes.length === 0) { return undefined; }
            if (arguments.length > 0) {
                const value = this.attr(`data-${propertyToAttribute(textOf(name))}`);
                return value === undefined ? undefined : dataOf(value);
            }
            const named = attributes.filter(([, attribute]) => attribute.startsWith('data-') && attribute.length > 5);
            return Object.fromEntries(named.map(([, attribute, value]) => [attributeToProperty(attribute.slice(5)), dataOf(value)]));
        }
        val() {
            switch (this.#nodes.length ? this.#document.node(this.#nodes[0])[1] : '') {
                case 'input': return this.attr('value', ['radio', 'checkbox'].includes(this.attr('type')) ? 'on' : '');
                case 'button': return this.attr('value', '');
                case 'textarea': return this.html();
                case 'option': return valueOrHtml(this);
                case 'select': {
                    const selected = this.first().find('option[selected]');
                    return this.attr('multiple') === undefined ? valueOrHtml(selected) : selected.toArray().map(valueOrHtml);
                }
                default: return undefined;
            }
        }

        serializeArray() {
            const submittable = 'input,select,textarea,keygen';
            const fields = this.is('form') ? this.find(submittable) : this.filter(submittable);
            return fields.toArray().filter((field) => {
                const type = field.attr('type', '');
                return field.attr('name', '') !== '' && field.attr('disabled') !== 'disabled'
                    && !['submit', 'button', 'reset', 'image', 'file'].includes(type)
                    && (field.attr('checked') === 'checked' || !['checkbox', 'radio'].includes(type));
            }).map((field) => ({ name: field.attr('name'), value: field.val() }));
        }
        serializeObject() {
            return Object.fromEntries(this.serializeArray().map(({ name, value }) => [name, value]));
        }
        serialize() {
            const fields = Object.entries(this.serializeObject());
            return encoded(fields.flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one])));
        }
    }

    const valueOrHtml = (selection) => selection.attr('value') ?? selection.html() ?? '';
    const Element = elementsOf(Selection, valueOrHtml);

    const optionsOf = (given, defaults) => {
        const options = { ...defaults };
        for (const [name, value] of Object.entries(given === undefined ? {} : Object(given))) {
            if (name in options) { options[name] = typeof defaults[name] === 'string' ? String(value) : value; }
        }
        return options;
    };

    return {
        selected: (document, url) => new Selection(document, [0], url),
        // The method, the URL and the body of the request that a form makes.
        submission: (response, given) => {
            const defaults = { formSelector: 'form', submitSelector: '[type="submit"]', fields: undefined, params: null };
            const { formSelector, submitSelector, fields, params } = optionsOf(given, defaults);
            const form = response.html(formSelector);
            if (form.size() === 0) {
                throw new Error(`no form found for selector '${formSelector}' in response '${response.url}'`);
            }
            const method = form.attr('method', 'GET').toUpperCase();
            const action = form.attr('action');
            const url = action === undefined ? response.url : Element.resolved(response.url, action);
            const values = form.serializeObject();
            if (method !== 'GET') {
                // As k6 sends them: `[1 2]`.
                for (const [name, value] of Object.entries(values)) { if (Array.isArray(value)) { values[name] = `[${value.join(' ')}]`; } }
            }
            const submit = form.find(submitSelector);
            if (submit.attr('name') !== undefined && submit.val() !== undefined) { values[submit.attr('name')] = submit.val(); }
            Object.assign(values, fields);
            if (method !== 'GET') { return [method, url, values, params]; }
            const query = encoded(Object.entries(values).map(([name, value]) => [name, String(value)]));
            return [method, Element.withQuery(url, query), null, params];
        },
        // The same of a link.
        click: (response, given) => {
            const { selector, params } = optionsOf(given, { selector: 'a[href]', params: null });
            const link = response.html(selector);
            if (link.size() === 0) { throw new Error(`no element found for selector '${selector}' in response '${response.url}'`); }
            const href = link.attr('href');
            if (href === undefined) {
                throw new Error(`no valid href attribute value found on element '${selector}' in response '${response.url}'`);
            }
            return ['GET', Element.resolved(response.url, href), undefined, params];
        },
    };
}

// Elements of `k6/html`. Each method of an element is a function, as in k6: `element.href()`.
(Selection, valueOrHtml) => {
    const ENCODINGS = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
    const REFERRERS = ['', 'no-referrer', 'no-referrer-when-downgrade', 'origin', 'origin-when-cross-origin', 'unsafe-url'];
    const DEFAULT_PORTS = { http: '80', https: '443', ftp: '21' };
    const NAMESPACES = { svg: 'http://www.w3.org/2000/svg', math: 'http://www.w3.org/1998/Math/MathML' };

    const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
    // A URL in its parts; none where it is not one.
    const urlOf = (text) => {
        const [, scheme = '', authority, path, query, fragment = ''] =
            /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is.exec(text) ?? [];
        // As Go refuses them: control characters, an escape that is none, and a colon before the first slash.
        const isRefused = path === undefined || /[\x00-\x1f\x7f]/.test(text) || /%(?![0-9a-f]{2})/i.test(path + fragment + (authority ?? ''))
            || (scheme === '' && authority === undefined && /^[^/]*:/.test(path));
        return isRefused ? undefined : { scheme: scheme.toLowerCase(), authority, path, query, fragment };
    };
    const withoutDots = (path) => {
        const kept = [];
        const parts = path.split('/').slice(1);
        parts.forEach((part, index) => {
            const isLast = index === parts.length - 1;
            if (part === '..') { kept.pop(); }
            if (part !== '.' && part !== '..') { kept.push(part); } else if (isLast) { kept.push(''); }
        });
        return `/${kept.join('/')}`;
    };
    // Such as `mailto:someone`.
    const isOpaque = ({ scheme, authority, path }) => scheme !== '' && authority === undefined && !path.startsWith('/');
    const absolute = (path) => (path === '' ? '' : withoutDots(path.startsWith('/') ? path : `/${path}`));
    const join = (base, reference) => {
        const { fragment } = reference;
        if (reference.scheme !== '') {
            return isOpaque(reference) ? reference : { ...reference, path: absolute(reference.path) };
        }
        if (reference.authority !== undefined) { return { ...reference, scheme: base.scheme, path: absolute(reference.path) }; }
        if (reference.path === '') {
            const isSame = reference.query === undefined;
            const sameFragment = isSame && fragment === '' ? base.fragment : fragment;
            return { ...base, query: isSame ? base.query : reference.query, fragment: sameFragment };
        }
        const path = reference.path.startsWith('/')
            ? reference.path
            : base.path.slice(0, base.path.lastIndexOf('/') + 1) + reference.path;
        return { ...base, path: absolute(path), query: reference.query, fragment };
    };
    const escapedIn = (text, unescaped) => text.replace(/[^\x21-\x7e]|["<>\\^`{|}]/gu, (sign) => (unescaped.includes(sign) ? sign : encodeURIComponent(sign)));
    const shown = ({ scheme, authority, path, query, fragment }) => (scheme && `${scheme}:`)
        + (authority === undefined ? '' : `//${authority}`) + escapedIn(path, '') + (query === undefined ? '' : `?${query}`)
        + (fragment && `#${escapedIn(fragment, '')}`);
    const resolvedParts = (base, text) => {
        const [from, reference] = [urlOf(base), urlOf(text)];
        return from && reference && join(from, reference);
    };
    const resolved = (base, text) => {
        const parts = resolvedParts(base, text);
        if (parts === undefined) { throw new Error(`parse "${text}": invalid URL`); }
        return shown(parts);
    };
    // The name without brackets and the port; none where there is no port.
    const splitHost = (host) => {
        const [, name, port] = /^(\[[^\]]*\]|[^:[\]]*):([^:]*)$/.exec(host) ?? [];
        return name === undefined ? undefined : [name.replace(/^\[|\]$/g, ''), port];
    };

    // Where private parts of elements are: the selection that an element is of, and its node.
    class Element {
        #selection;
        #node;

        constructor(selection) {
            this.#selection = selection;
            this.#node = Selection.nodesOf(selection)[0];
        }

        static of(selection) {
            if (selection.size() === 0) { return undefined; }
            const [, name] = Selection.documentOf(selection).node(Selection.nodesOf(selection)[0]);
            const OfName = Object.hasOwn(classes, name) ? classes[name] : Element;
            return new OfName(selection);
        }
        static list(selection) { return selection.toArray().map(Element.of); }
        static resolved = resolved;
        static withQuery(url, query) { return shown({ ...urlOf(url), query: query === '' ? undefined : query }); }
        // The node of an element that is of no class of its own: k6 takes no other as an argument.
        static plainNode(value) {
            return value instanceof Element && value.constructor === Element ? [value.#node] : undefined;
        }
        static goTypeOf(value) { return value instanceof Element ? `html.${value.constructor.goName}` : undefined; }
        static selectionOf(element) { return element.#selection; }

        #document() { return Selection.documentOf(this.#selection); }
        #relative(which) {
            const node = this.#document().relative(this.#node, which);
            return node === undefined ? undefined : Element.of(new Selection(this.#document(), [node], this.#selection.url));
        }
        #attributeOf([prefix, name, value]) {
            return { owner_element: new Element(this.#selection), name, value, localName: () => name, prefix: () => prefix,
                namespaceURI: () => NAMESPACES[prefix] ?? 'http://www.w3.org/1999/xhtml' };
        }
        #find(selector) { return this.#selection.find(selector === undefined ? '' : String(selector)); }

        attributes() {
            const attributes = this.#document().attributes(this.#node);
            return Object.fromEntries(attributes.map((attribute) => [attribute[1], this.#attributeOf(attribute)]));
        }
        childElementCount() { return this.#selection.children().size(); }
        childNodes() { return Element.list(this.#selection.contents()); }
        children() { return Element.list(this.#selection.children()); }
        classList() { return this.#selection.attr('class', '').split(/\s+/).filter((name) => name !== ''); }
        className() { return this.#selection.attr('class'); }
        contains(other) {
            const nodes = Element.plainNode(other);
            return nodes !== undefined && this.#document().within(Selection.nodesOf(this.#selection), nodes).length > 0;
        }
        firstChild() { return this.#relative('firstChild'); }
        firstElementChild() { return Element.of(this.#selection.children().first()); }
        getAttribute(name) { return this.#selection.attr(name); }
        getAttributeNode(name) {
            const found = this.#document().attributes(this.#node).find((attribute) => attribute[1] === String(name));
            return found && this.#attributeOf(found);
        }
        getElementsByClassName(name) { return Element.list(this.#find(`.${name}`)); }
        getElementsByTagName(name) { return Element.list(this.#find(name)); }
        hasAttribute(name) { return this.#selection.attr(name) !== undefined; }
        hasAttributes() { return this.#document().attributes(this.#node).length > 0; }
        hasChildNodes() { return this.#document().relative(this.#node, 'firstChild') !== undefined; }
        id() { return this.#selection.attr('id', ''); }
        innerHTML() { return this.#selection.html(); }
        isDefaultNamespace() { return this.#document().node(this.#node)[2] === ''; }
        isEqualNode(other) {
            return Element.plainNode(other) !== undefined && this.#selection.html() === other.#selection.html();
        }
        isSameNode(other) { return Element.plainNode(other) !== undefined && this.#node === other.#node; }
        lang() { return this.#selection.attr('lang'); }
        lastChild() { return this.#relative('lastChild'); }
        lastElementChild() { return Element.of(this.#selection.children().last()); }
        matches(selector) { return this.#selection.is(selector === undefined ? '' : String(selector)); }
        namespaceURI() { return NAMESPACES[this.#document().node(this.#node)[2]] ?? 'http://www.w3.org/1999/xhtml'; }
        nextElementSibling() { return Element.of(this.#selection.next()); }
        nextSibling() { return this.#relative('nextSibling'); }
        nodeName() { return this.#document().node(this.#node)[1]; }
        nodeType() { return this.#document().node(this.#node)[0]; }
        nodeValue() { return [3, 8].includes(this.nodeType()) ? this.#selection.text() : undefined; }
        ownerDocument() { return Element.of(new Selection(this.#document(), [0], this.#selection.url)); }
        parentElement() { return Element.of(this.#selection.parent()); }
        parentNode() { return this.#relative('parentNode'); }
        previousElementSibling() { return Element.of(this.#selection.prev()); }
        previousSibling() { return this.#relative('previousSibling'); }
        querySelector(selector) { return Element.of(this.#find(selector)); }
        querySelectorAll(selector) { return Element.list(this.#find(selector)); }
        selection() { return this.#selection; }
        textContent() { return this.#selection.text(); }
        toString() { return this.nodeType() === 1 ? '[object html.Node]' : `[object ${this.nodeName()}]`; }
    }
    Element.goName = 'Element';

    const selectionOf = (element) => Element.selectionOf(element);
    const attributeOf = (element, name) => selectionOf(element).attr(name);

    // What methods return, by the attribute that they read.
    const text = (name) => function () { return attributeOf(this, name) ?? ''; };
    const flag = (name) => function () { return attributeOf(this, name) !== undefined; };
    const integer = (name, otherwise) => function () {
        const value = attributeOf(this, name);
        return /^[+-]?\d+$/.test(value) ? Number(value) : otherwise;
    };
    const oneOf = (name, [otherwise, ...further]) => function () {
        const value = attributeOf(this, name);
        return further.includes(value) ? value : otherwise;
    };
    const crossOrigin = function () {
        const value = attributeOf(this, 'crossorigin');
        return ['anonymous', 'use-credentials'].includes(value) ? value : undefined;
    };
    const url = (name) => function () {
        const selection = selectionOf(this);
        const value = selection.attr(name);
        if (selection.url === '') { return value ?? ''; }
        const parts = value === undefined ? undefined : resolvedParts(selection.url, value);
        return parts === undefined ? '' : shown(parts);
    };
    const list = (selector) => function () { return Element.list(selectionOf(this).find(selector)); };
    const count = (selector) => function () { return selectionOf(this).find(selector).size(); };
    const words = (name) => function () { const value = attributeOf(this, name) ?? ''; return value === '' ? [] : value.split(' '); };
    const constant = (value) => () => value;
    const content = function () { return this.textContent(); };
    const placeIn = (holder, selector, otherwise) => function () {
        const selection = selectionOf(this);
        const holders = selection.parents(holder);
        return holders.size() === 0 ? otherwise : holders.find(selector).index(selection);
    };

    // What belongs to an element from elsewhere in the document.
    const inDocument = (selection, selector) => selection.parents().last().find(selector);
    const formOf = (selection) => {
        const form = selection.closest('form');
        const id = selection.attr('form', '');
        return form.size() > 0 || id === '' ? form : inDocument(selection, `#${id}`);
    };
    const form = function () { return Element.of(formOf(selectionOf(this)).eq(0)); };
    const labels = function () {
        const selection = selectionOf(this);
        const around = selection.closest('label');
        const id = selection.attr('id', '');
        return Element.list(id === '' ? around : around.add(inDocument(selection, `label[for="${id}"]`)));
    };
    const formAttribute = (element, name) => attributeOf(element, `form${name}`) ?? formOf(selectionOf(element)).attr(name);

    const href = (part) => function () {
        const selection = selectionOf(this);
        const value = selection.attr('href');
        const none = { scheme: '', path: '', fragment: '' };
        return part(value === undefined ? none : resolvedParts(selection.url, value) ?? none, this);
    };
    const hostOf = ({ authority = '' }) => authority.slice(authority.lastIndexOf('@') + 1);
    const userOf = ({ authority = '' }) => (/^(.*)@/s.exec(authority)?.[1] ?? '').split(/:(.*)/s).map(decoded);

    const kinds = {
        Href: {
            download: text('download'), referrerPolicy: oneOf('referrerpolicy', REFERRERS), rel: text('rel'), href: url('href'),
            target: text('target'), type: text('type'), accessKey: text('accesskey'), hrefLang: text('hreflang'), toString: url('href'),
            hash: href(({ fragment }) => (fragment === '' ? '' : `#${decoded(fragment)}`)),
            host: href((parts) => {
                const host = hostOf(parts);
                const [name, port] = splitHost(host) ?? [];
                return port !== undefined && port === DEFAULT_PORTS[parts.scheme] ? name : host;
            }),
            hostname: href((parts) => (splitHost(hostOf(parts)) ?? [hostOf(parts)])[0]),
            port: href((parts) => splitHost(hostOf(parts))?.[1] ?? ''),
            username: href((parts) => userOf(parts)[0]), password: href((parts) => userOf(parts)[1] ?? ''),
            origin: href((parts, element) => (parts.scheme === '' ? ''
                : parts.scheme === 'file' ? element.href() : `${parts.scheme}://${hostOf(parts)}`)),
            pathname: href((parts) => (isOpaque(parts) ? '' : decoded(parts.path))), protocol: href(({ scheme }) => scheme || ':'),
            search: href(({ query }) => (query ? `?${query}` : '')), relList: words('rel'), text: content,
        },
        Media: {
            autoplay: flag('autoplay'), controls: flag('controls'), loop: flag('loop'), muted: flag('muted'),
            preload: oneOf('preload', ['auto', 'metadata', 'none']), src: url('src'), crossOrigin, currentSrc: text('src'),
            defaultMuted: flag('muted'), mediaGroup: text('mediagroup'), textTracks: list('track'),
        },
        FormField: {
            form, labels, name: text('name'),
            formAction() {
                const [base, action] = [selectionOf(this).url, formAttribute(this, 'action') ?? ''];
                if (base === '' || action === '') { return base || action; }
                const parts = resolvedParts(base, action);
                return parts === undefined ? action : shown(parts);
            },
            formEnctype() {
                const encoding = formAttribute(this, 'enctype');
                return ENCODINGS.includes(encoding) ? encoding : ENCODINGS[0];
            },
            formMethod() { return formAttribute(this, 'method')?.toLowerCase() === 'post' ? 'post' : 'get'; },
            formNoValidate() { return formAttribute(this, 'novalidate') !== undefined; },
            formTarget() { return formAttribute(this, 'target') ?? ''; },
        },
        Mod: { cite: text('cite'), datetime: text('datetime') },
        TableSection: { rows: list('tr') },
        TableCell: {
            colSpan: integer('colspan', 1), rowSpan: integer('rowspan', 1), headers: text('headers'), cellIndex: placeIn('tr', 'th,td', -1),
        },
    };
    // By the name of the element: its class in k6, the class that that extends, and its own methods.
    const tags = {
        a: ['Anchor', 'Href'],
        area: ['Area', 'Href'],
        audio: ['Audio', 'Media'],
        base: ['Base', '', {
            href() {
                const { url: of } = selectionOf(this);
                const value = attributeOf(this, 'href');
                if (of === '') { return value ?? ''; }
                const parts = value === undefined ? undefined : resolvedParts(of, value);
                return parts === undefined ? of : shown(parts);
            },
            target: text('target'),
        }],
        button: ['Button', 'FormField', {
            accessKey: text('accesskey'), autofocus: flag('autofocus'), disabled: flag('disabled'), tabIndex: integer('tabindex', 0),
            type: oneOf('type', ['submit', 'button', 'menu', 'reset']), value() { return valueOrHtml(selectionOf(this)); },
        }],
        canvas: ['Canvas', '', { width: integer('width', 150), height: integer('height', 150) }],
        data: ['Data', '', { value: text('value') }],
        datalist: ['DataList', '', { options: list('option') }],
        del: ['Del', 'Mod'],
        embed: ['Embed', '', { height: text('height'), width: text('width'), src: text('src'), type: text('type') }],
        fieldset: ['FieldSet', '', {
            disabled: flag('disabled'), name: text('name'), form, type: constant('fieldset'),
            elements: list('input,select,button,textarea'), validity: constant(undefined),
        }],
        form: ['Form', '', {
            action: url('action'), name: text('name'), target: text('target'), enctype: oneOf('enctype', ENCODINGS),
            encoding: oneOf('enctype', ENCODINGS), acceptCharset: text('accept-charset'), autocomplete: oneOf('autocomplete', ['on', 'off']),
            noValidate: flag('novalidate'), elements: list('input,select,button,textarea,fieldset'),
            length: count('input,select,button,textarea,fieldset'), method: oneOf('method', ['get', 'post']),
        }],
        iframe: ['IFrame', '', {
            allowfullscreen: flag('allowfullscreen'), referrerPolicy: oneOf('referrerpolicy', REFERRERS), height: text('height'),
            width: text('width'), name: text('name'), src: url('src'),
        }],
        img: ['Image', '', {
            currentSrc: url('src'), sizes: text('sizes'), srcset: text('srcset'), alt: text('alt'), crossOrigin, height: integer('height', 0),
            width: integer('width', 0), isMap: flag('ismap'), name: text('name'), src: url('src'), useMap: text('usemap'),
            referrerPolicy: oneOf('referrerpolicy', REFERRERS),
        }],
        input: ['Input', 'FormField', {
            name: text('name'), tabIndex: integer('tabindex', 0),
            type: oneOf('type', ['text', 'button', 'checkbox', 'color', 'date', 'datetime-local', 'email', 'file', 'hidden', 'image', 'month',
                'number', 'password', 'radio', 'range', 'reset', 'search', 'submit', 'tel', 'time', 'url', 'week']),
            disabled: flag('disabled'), autofocus: flag('autofocus'), required: flag('required'), value: text('value'),
            checked: flag('checked'), defaultChecked: flag('checked'), alt: text('alt'), src: url('src'), height: text('height'),
            width: text('width'), accept: text('accept'), autocomplete: oneOf('autocomplete', ['on', 'off']),
            maxLength: integer('maxlength', -1), size: integer('size', 0), pattern: text('pattern'), placeholder: text('placeholder'),
            readonly: flag('readonly'), min: text('min'), max: text('max'), defaultValue: text('value'), dirName: text('dirname'),
            accessKey: text('accesskey'), multiple: flag('multiple'), step: text('step'),
            list() {
                const [id, type] = [attributeOf(this, 'list') ?? '', attributeOf(this, 'type')];
                if (id === '' || ['hidden', 'checkbox', 'radio', 'file', 'button'].includes(type)) { return undefined; }
                return Element.of(inDocument(selectionOf(this), `datalist[id="${id}"]`).eq(0));
            },
        }],
        ins: ['Ins', 'Mod'],
        keygen: ['Keygen', '', {
            autofocus: flag('autofocus'), challenge: text('challenge'), disabled: flag('disabled'),
            keytype: oneOf('keytype', ['RSA', 'DSA', 'EC']), name: text('name'), type: constant('keygen'), form, labels,
        }],
        label: ['Label', '', {
            htmlFor: text('for'), form,
            control() {
                const id = attributeOf(this, 'for');
                return id === undefined ? undefined : Element.of(inDocument(selectionOf(this), `#${id}`).eq(0));
            },
        }],
        legend: ['Legend', '', { accessKey: text('accesskey'), form }],
        li: ['Li', '', {
            value: integer('value', 0), type: oneOf('type', ['', '1', 'a', 'A', 'i', 'I', 'disc', 'square', 'circle']),
        }],
        link: ['Link', '', {
            crossOrigin, referrerPolicy: oneOf('referrerpolicy', REFERRERS), href: url('href'), hreflang: text('hreflang'),
            media: text('media'), rel: text('rel'), target: text('target'), type: text('type'), relList: words('rel'),
        }],
        map: ['Map', '', {
            name: text('name'), areas: list('area'),
            images() {
                const id = attributeOf(this, 'id');
                return id === undefined ? []
                    : Element.list(inDocument(selectionOf(this), `img[usemap="#${id}"],object[usemap="#${id}"]`));
            },
        }],
        meta: ['Meta', '', {
            content: text('content'), name: text('name'), httpEquiv: oneOf('http-equiv', ['content-type', 'default-style', 'refresh']),
        }],
        meter: ['Meter', '', {
            min: integer('min', 0), max: integer('max', 0), high: integer('high', 0), low: integer('low', 0),
            optimum: integer('optimum', 0), labels,
        }],
        object: ['Object', '', {
            data: url('data'), height: text('height'), name: text('name'), type: text('type'), tabIndex: integer('tabindex', 0),
            typeMustMatch: flag('typemustmatch'), useMap: text('usemap'), width: text('width'), form,
        }],
        ol: ['OList', '', { reversed: flag('reversed'), start: integer('start', 0), type: oneOf('type', ['1', 'a', 'A', 'i', 'I']) }],
        optgroup: ['OptGroup', '', { disabled: flag('disabled'), label: text('label') }],
        option: ['Option', '', {
            defaultSelected: flag('selected'), selected: flag('selected'), index: placeIn('select,datalist', 'option', 0),
            text: content, value() { return valueOrHtml(selectionOf(this)); },
            disabled() {
                return attributeOf(this, 'disabled') !== undefined || selectionOf(this).parents('optgroup').attr('disabled') !== undefined;
            },
            form() {
                const selection = selectionOf(this);
                const own = selection.parents('form');
                if (own.size() > 0) { return Element.of(own.first()); }
                const select = selection.parents('select');
                const id = select.attr('form');
                return id === undefined ? undefined : Element.of(inDocument(select, `form#${id}`).first());
            },
            label() { return attributeOf(this, 'label') ?? this.textContent(); },
        }],
        output: ['Output', '', {
            htmlFor: text('for'), name: text('name'), type: constant('output'), form, labels, value: content, defaultValue: content,
        }],
        param: ['Param', '', { name: text('name'), value: text('value') }],
        pre: ['Pre', '', { name: text('name'), value: text('value') }],
        progress: ['Progress', '', {
            max() { return numberAt(this, 'max') ?? 1; },
            value() { return progressOf(this, 0); },
            position() { return progressOf(this, -1); },
            labels,
        }],
        quote: ['Quote', '', { cite: text('cite') }],
        script: ['Script', '', {
            crossOrigin: text('crossorigin'), type: text('type'), src: url('src'), charset: text('charset'), async: flag('async'),
            defer: flag('defer'), noModule: flag('nomodule'), text: content,
        }],
        select: ['Select', '', {
            autofocus: flag('autofocus'), disabled: flag('disabled'), multiple: flag('multiple'), name: text('name'),
            required: flag('required'), tabIndex: integer('tabindex', 0), form, labels, length: count('option'), options: list('option'),
            selectedIndex() {
                const selected = selectionOf(this).find('option[selected]');
                return selected.size() === 0 ? -1 : selectionOf(this).find('option').index(selected);
            },
            selectedOptions: list('option[selected]'),
            size() { return this.multiple() ? 4 : 1; },
            type() { return this.multiple() ? 'select-multiple' : 'select'; },
            value() { return valueOrHtml(selectionOf(this).find('option[selected]').first()); },
        }],
        source: ['Source', '', {
            keySystem: text('keysystem'), media: text('media'), sizes: text('sizes'), src: url('src'), srcset: text('srcset'),
            type: text('type'),
        }],
        style: ['Style', '', { media: text('media'), type() { return attributeOf(this, 'type') || 'text/css'; } }],
        table: ['Table', '', {
            sortable: flag('sortable'), rows: list('tr'), tBodies: list('tbody'),
            caption() { return Element.of(selectionOf(this).children('caption')); },
            tHead() { return Element.of(selectionOf(this).children('thead')); },
            tFoot() { return Element.of(selectionOf(this).children('tfoot')); },
        }],
        thead: ['TableHead', 'TableSection'],
        tfoot: ['TableFoot', 'TableSection'],
        tbody: ['TableBody', 'TableSection'],
        tr: ['TableRow', '', {
            cells: list('th,td'), rowIndex: placeIn('table', 'tr', -1), sectionRowIndex: placeIn('thead,tbody,tfoot', 'tr', -1),
        }],
        col: ['TableCol', '', { span() { return Math.max(1, integer('span', 1).call(this)); } }],
        td: ['TableDataCell', 'TableCell'],
        th: ['TableHeaderCell', 'TableCell', {
            abbr: text('abbr'), scope: oneOf('scope', ['', 'row', 'col', 'colgroup', 'rowgroup']), sorted: flag('sorted'),
        }],
        textarea: ['TextArea', '', {
            type: constant('textarea'), value: text('value'), defaultValue: text('value'), placeholder: text('placeholder'),
            rows: integer('rows', 0), cols: integer('cols', 0), maxLength: integer('maxlength', 0), tabIndex: integer('tabindex', 0),
            accessKey: text('accesskey'), readOnly: flag('readonly'), required: flag('required'),
            autocomplete: oneOf('autocomplete', ['on', 'off']),
            autocapitalize: oneOf('autocapitalize', ['sentences', 'none', 'off', 'characters', 'words']),
            wrap: oneOf('wrap', ['soft', 'hard', 'off']), form, labels, length() { return utf8Length(attributeOf(this, 'value') ?? ''); },
        }],
        time: ['Time', '', { datetime: text('datetime') }],
        title: ['Title', '', { text: content }],
        track: ['Track', '', {
            kind: oneOf('kind', ['subtitle', 'captions', 'descriptions', 'chapters', 'metadata']), src: url('src'), srclang: text('srclang'),
            label: text('label'), default: flag('default'),
        }],
        ul: ['UList', '', { type: text('type') }],
        video: ['Video', 'Media'],
    };

    const numberAt = (element, name) => {
        const value = attributeOf(element, name);
        const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : -1;
        return number < 0 ? undefined : number;
    };
    const progressOf = (element, otherwise) => {
        const value = numberAt(element, 'value');
        return value === undefined ? otherwise : value / element.max();
    };
    const utf8Length = (value) => encodeURIComponent(value).replace(/%../g, '.').length;

    const define = (Class, methods) => {
        for (const [name, value] of Object.entries(methods)) {
            Object.defineProperty(Class.prototype, name, { value, writable: true, configurable: true });
        }
        return Class;
    };
    const extended = Object.fromEntries(Object.entries(kinds).map(([name, methods]) => [name, define(class extends Element {}, methods)]));
    const classes = Object.fromEntries(Object.entries(tags).map(([tag, [name, of, methods = {}]]) => {
        const Class = define(class extends (extended[of] ?? Element) {}, methods);
        Class.goName = `${name}Element`;
        return [tag, Class];
    }));
    return Element;
}

//! Header fields: a flat buffer to build them in, and a view of received ones wherever they lie.

/// Names and values in one reusable buffer, in order.
#[derive(Debug, Default, Clone, Eq)]
pub struct Headers {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    start: u32,
    name_end: u32,
    end: u32,
    secrecy: Secrecy,
}

impl PartialEq for Headers {
    fn eq(&self, other: &Headers) -> bool {
        // Most lists are empty, and to compare bytes where there are none can cost as much as the rest of a request: some
        // processors load even from the address that an empty buffer has, and take the fault back.
        self.fields == other.fields && (self.fields.is_empty() || self.bytes == other.bytes)
    }
}

/// A position in the buffer: four bytes, because every request reads and writes the fields of several lists.
fn position(at: usize) -> u32 {
    u32::try_from(at).expect("the fields of one head are below 4 GiB")
}

/// Whether a value may enter a compression context that later requests share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Open,
    Secret,
}

impl Headers {
    /// No fields; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Append a field. The name must be in lower case; it is checked when a request is started.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.append(name, value, Secrecy::Open);
    }

    /// Append a field whose value `fill` writes behind what the buffer holds already.
    pub fn push_with(&mut self, name: &[u8], fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        fill(&mut self.bytes);
        debug_assert!(self.bytes.len() >= start + name.len(), "a value is written behind its name");
        self.add_field(start, name.len(), Secrecy::Open);
    }

    /// Append a field whose value HPACK must never index, here or at any intermediary.
    /// `authorization`, `proxy-authorization` and `cookie` are treated so without being asked.
    pub fn push_secret(&mut self, name: &[u8], value: &[u8]) {
        self.append(name, value, Secrecy::Secret);
    }

    fn append(&mut self, name: &[u8], value: &[u8], secrecy: Secrecy) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.add_field(start, name.len(), secrecy);
    }

    /// The bytes from `start` on are a field.
    fn add_field(&mut self, start: usize, name_len: usize, secrecy: Secrecy) {
        let [start, name_end, end] = [start, start + name_len, self.bytes.len()].map(position);
        self.fields.push(Field { start, name_end, end, secrecy });
    }

    /// Append the fields of `view`, from its first on, as far as their names and values fit into `max_bytes` bytes.
    /// Returns how many fields were left out.
    pub fn extend(&mut self, view: HeaderView<'_>, mut max_bytes: usize) -> usize {
        if let Source::Flat(other, first) = view.0 {
            let from = other.fields.get(first).map_or(other.bytes.len(), |field| field.start as usize);
            let bytes = &other.bytes[from..];
            if bytes.len() <= max_bytes {
                let (from, to) = (position(from), position(self.bytes.len()));
                let own = self.fields.len();
                self.bytes.extend_from_slice(bytes);
                position(self.bytes.len());
                self.fields.extend_from_slice(other.fields.get(first..).unwrap_or_default());
                for field in &mut self.fields[own..] {
                    for at in [&mut field.start, &mut field.name_end, &mut field.end] {
                        *at = *at - from + to;
                    }
                }
                return 0;
            }
        }
        for (nth, (name, value)) in view.iter().enumerate() {
            let Some(left) = max_bytes.checked_sub(name.len() + value.len()) else { return view.len() - nth };
            max_bytes = left;
            self.push(name, value);
        }
        0
    }

    /// Append a field that `fill` writes, name then value; it returns the length of the name.
    pub(crate) fn build<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<usize, E>) -> Result<(), E> {
        let start = self.bytes.len();
        let name_len = fill(&mut self.bytes)?;
        self.add_field(start, name_len, Secrecy::Open);
        Ok(())
    }

    /// Name and value of the last field.
    pub(crate) fn last(&self) -> Option<(&[u8], &[u8])> {
        self.fields.last().map(|field| self.split(field))
    }

    /// Forget the last field.
    pub fn pop(&mut self) {
        if let Some(field) = self.fields.pop() {
            self.bytes.truncate(field.start as usize);
        }
    }

    /// Forget the fields and keep the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// Forget the fields whose names `keep` does not hold on to.
    pub fn retain(&mut self, keep: impl Fn(&[u8]) -> bool) {
        let Headers { bytes, fields } = self;
        fields.retain(|field| keep(&bytes[field.start as usize..field.name_end as usize]));
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Name and value of each field, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| self.split(field))
    }

    pub(crate) fn iter_with_secrecy(&self) -> impl Iterator<Item = (&[u8], &[u8], Secrecy)> {
        self.fields.iter().map(|field| {
            let (name, value) = self.split(field);
            (name, value, field.secrecy)
        })
    }

    /// These fields as a view.
    pub fn view(&self) -> HeaderView<'_> {
        self.view_from(0)
    }

    /// The fields from the `first` on, as a view.
    pub(crate) fn view_from(&self, first: usize) -> HeaderView<'_> {
        HeaderView(Source::Flat(self, first))
    }

    fn split(&self, field: &Field) -> (&[u8], &[u8]) {
        (
            &self.bytes[field.start as usize..field.name_end as usize],
            &self.bytes[field.name_end as usize..field.end as usize],
        )
    }
}

/// Received header fields; cheap to copy, valid during the event only.
#[derive(Debug, Clone, Copy)]
pub struct HeaderView<'a>(Source<'a>);

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    Parsed(&'a [httparse::Header<'a>]),
    /// The fields from this one on.
    Flat(&'a Headers, usize),
}

impl<'a> HeaderView<'a> {
    pub(crate) fn parsed(headers: &'a [httparse::Header<'a>]) -> Self {
        HeaderView(Source::Parsed(headers))
    }

    /// Name and value of each field, in order. HTTP/1.1 names keep the case they were sent in.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let source = self.0;
        (0..self.len()).map(move |index| match source {
            Source::Parsed(headers) => (headers[index].name.as_bytes(), headers[index].value),
            Source::Flat(headers, first) => headers.split(&headers.fields[first + index]),
        })
    }

    /// The first value under this name, whatever its case.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Parsed(headers) => headers.len(),
            Source::Flat(headers, first) => headers.len().saturating_sub(first),
        }
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order_and_by_any_case() {
        let mut headers = Headers::new();
        headers.push(b"a", b"1");
        headers.push_secret(b"b", b"");
        headers.push(b"a", b"2");
        let seen: Vec<_> = headers.view().iter().collect();
        assert_eq!(seen, [(&b"a"[..], &b"1"[..]), (b"b", b""), (b"a", b"2")]);
        assert_eq!(headers.view().get(b"A"), Some(&b"1"[..]));
        assert_eq!(headers.view().get(b"c"), None);
        headers.clear();
        assert!(headers.is_empty() && headers.view().is_empty());
    }

    #[test]
    fn fields_of_a_view_are_appended_as_far_as_they_fit() {
        let mut other = Headers::new();
        for (name, value) in [(":status", "200"), ("drop", "x"), ("a", "1"), ("b", "22")] {
            other.push(name.as_bytes(), value.as_bytes());
        }
        other.retain(|name| name != b"drop");
        let appended = |max_bytes| {
            let mut headers = Headers::new();
            headers.push(b"z", b"0");
            let left_out = headers.extend(other.view_from(1), max_bytes);
            let kept = headers.iter().map(|(n, v)| String::from_utf8([n, v].concat()).unwrap());
            (kept.collect::<Vec<_>>().join(" "), left_out)
        };
        let expected = |kept: &str, left_out| (kept.to_owned(), left_out);
        assert_eq!(appended(100), expected("z0 a1 b22", 0));
        assert_eq!(appended(5), expected("z0 a1 b22", 0));
        assert_eq!(appended(4), expected("z0 a1", 1));
        assert_eq!(appended(0), expected("z0", 2));
        let parsed =
            [httparse::Header { name: "A", value: b"1" }, httparse::Header { name: "B", value: b"2" }];
        let mut headers = Headers::new();
        assert_eq!(headers.extend(HeaderView::parsed(&parsed), 2), 1);
        assert_eq!(headers.iter().collect::<Vec<_>>(), [(&b"A"[..], &b"1"[..])]);
    }
}

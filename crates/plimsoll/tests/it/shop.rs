//! A small shop with a login, tokens against forged requests, a cart and orders. Every value that it gives is new for each
//! visitor, and a request without the right ones is refused.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) const PASSWORD: &str = "geheim-4711";

/// A request or a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    /// Method and path, or status and nothing.
    pub(crate) line: (String, String),
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads one; none when the other side has closed.
    pub(crate) fn read(stream: &mut BufReader<TcpStream>) -> Option<Message> {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut words = line.split_whitespace();
        let (first, second) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut message = Message { line: (first, second), ..Message::default() };
        loop {
            line.clear();
            stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = message.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        message.body = String::from_utf8(body).unwrap();
        Some(message)
    }
}

/// What a visitor has been given.
#[derive(Debug, Clone)]
struct Visitor {
    csrf: String,
    sid: Option<String>,
    account: u64,
    api_token: String,
    page_token: String,
    cart: Option<(u64, String)>,
    /// As it is in the path.
    order: Option<String>,
}

/// What the shop has seen.
#[derive(Debug, Default)]
struct State {
    made: u64,
    visitors: BTreeMap<String, Visitor>,
    orders: u64,
    refused: Vec<String>,
}

pub(crate) struct Shop {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
}

impl Shop {
    pub(crate) fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shop =
            Shop { address: listener.local_addr().unwrap(), state: Arc::default(), is_over: Arc::default() };
        let (state, is_over) = (shop.state.clone(), shop.is_over.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (stream, state) = (stream.unwrap(), state.clone());
                thread::spawn(move || serve(&stream, &state));
            }
        });
        shop
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many orders were placed, and the requests that were refused.
    pub(crate) fn seen(&self) -> (u64, Vec<String>) {
        let state = self.state.lock().unwrap();
        (state.orders, state.refused.clone())
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = Message::read(&mut reader) {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let response = state.answer(&request);
        drop(state);
        let mut text = format!("HTTP/1.1 {} x\r\n", response.line.0);
        for (name, value) in &response.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{}", response.body.len(), response.body));
        if (&*stream).write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Message {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Message { line: (status.to_string(), String::new()), headers, body: body.to_owned() }
}

impl State {
    /// A value that was never there before.
    fn new_value(&mut self) -> u64 {
        self.made += 1;
        self.made.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
    }

    fn answer(&mut self, request: &Message) -> Message {
        let (method, path) = (request.line.0.as_str(), request.line.1.as_str());
        let answered = self.of_visitor(method, path, request);
        answered.unwrap_or_else(|| {
            self.refused.push(format!("{method} {path} {:?} {}", request.headers, request.body));
            response(403, &[("content-type", "text/plain")], "refused")
        })
    }

    fn of_visitor(&mut self, method: &str, path: &str, request: &Message) -> Option<Message> {
        let cookie = |name: &str| {
            let pairs = request.header("cookie")?.split("; ");
            pairs
                .filter_map(|pair| pair.split_once('='))
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value)
        };
        if (method, path) == ("GET", "/login") {
            return Some(self.login_page(cookie("visit")));
        }
        let name = cookie("visit")?.to_owned();
        let mut visitor = self.visitors.get(&name)?.clone();
        let answer = if (method, path) == ("POST", "/login") {
            self.log_in(&mut visitor, &request.body)?
        } else {
            (visitor.sid.as_deref() == Some(cookie("sid")?)).then_some(())?;
            self.of_customer(&mut visitor, method, path, request)?
        };
        self.visitors.insert(name, visitor);
        Some(answer)
    }

    fn login_page(&mut self, visit: Option<&str>) -> Message {
        if visit.and_then(|name| self.visitors.get(name)).is_some_and(|visitor| visitor.sid.is_some()) {
            return response(302, &[("location", "/account")], "");
        }
        let csrf = STANDARD.encode([self.new_value().to_le_bytes(), self.new_value().to_le_bytes()].concat());
        let name = format!("{:x}", self.new_value());
        let page = format!(
            "<html><form method=\"post\"><input type=\"hidden\" name=\"csrf\" value=\"{csrf}\"><input name=\"user\"></form></html>"
        );
        let visitor = Visitor {
            csrf,
            sid: None,
            account: self.new_value() % 1_000_000,
            api_token: format!("{:016x}{:x}", self.new_value(), self.new_value()),
            page_token: format!("pt-{:x}", self.new_value()),
            cart: None,
            order: None,
        };
        self.visitors.insert(name.clone(), visitor);
        let cookie = format!("visit={name}; Path=/; HttpOnly");
        response(200, &[("content-type", "text/html"), ("set-cookie", &cookie)], &page)
    }

    fn log_in(&mut self, visitor: &mut Visitor, body: &str) -> Option<Message> {
        let encoded = visitor.csrf.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        (body == format!("csrf={encoded}&user=me%40shop.test&password={PASSWORD}")).then_some(())?;
        let sid = format!("{:x}", self.new_value());
        let cookie = format!("sid={sid}; Path=/");
        visitor.sid = Some(sid);
        let to = format!("/account/{}", visitor.account);
        Some(response(302, &[("location", &to), ("set-cookie", &cookie)], ""))
    }

    fn of_customer(
        &mut self,
        visitor: &mut Visitor,
        method: &str,
        path: &str,
        request: &Message,
    ) -> Option<Message> {
        let json = ("content-type", "application/json");
        let html = ("content-type", "text/html; charset=utf-8");
        let is_api = request.header("authorization") == Some(&format!("Bearer {}", visitor.api_token));
        let cart = visitor.cart.clone();
        match (method, path.split('/').collect::<Vec<_>>().as_slice()) {
            ("GET", ["", "account", id]) if *id == visitor.account.to_string() => {
                let page = format!(
                    "<html><head><meta name=\"csrf-token\" content=\"{}\"></head><script>\nlet settings = \
                     {{\"apiToken\":\"{}\"}};\n</script></html>",
                    visitor.page_token, visitor.api_token
                );
                Some(response(200, &[html], &page))
            }
            ("POST", ["", "api", "cart"])
                if is_api && request.header("x-csrf-token") == Some(visitor.page_token.as_str()) =>
            {
                let made = (self.new_value() % 10_000, format!("k-{:x}", self.new_value()));
                let body = format!("{{\"cart\":{{\"id\":{},\"key\":\"{}\",\"lines\":[]}}}}", made.0, made.1);
                visitor.cart = Some(made);
                Some(response(201, &[json], &body))
            }
            ("PUT", ["", "api", "cart", id, "lines"]) if is_api => {
                let (cart, key) = cart?;
                let body = format!("{{\"cart_id\": {cart}, \"key\": \"{key}\", \"item\": 7, \"count\": 2}}");
                (*id == cart.to_string() && request.body == body)
                    .then(|| response(200, &[json], "{\"ok\":true}"))
            }
            ("POST", ["", "cart", id, "checkout"]) if *id == cart?.0.to_string() => {
                let token = format!("name=\"token\"\r\n\r\n{}\r\n", visitor.page_token);
                request.body.contains(&token).then_some(())?;
                let number = self.new_value() % 100_000;
                // The first has no character that is encoded, and the others have one.
                let order = if self.orders == 0 { number.to_string() } else { format!("{number}%20b") };
                visitor.order = Some(order.clone());
                self.orders += 1;
                Some(response(303, &[("location", &format!("/orders/{order}?thanks=1"))], ""))
            }
            ("GET", ["", "orders", rest]) if *rest == format!("{}?thanks=1", visitor.order.as_deref()?) => {
                Some(response(200, &[html], "<p>Thank you</p>"))
            }
            _ => None,
        }
    }
}

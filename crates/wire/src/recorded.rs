//! Events as text, for tests. Body chunks that follow each other become one, because where they are cut
//! says nothing.

use crate::event::{Event, Events, Token};
use crate::headers::HeaderView;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) lines: Vec<String>,
    open_body: Option<Token>,
}

impl Events for Recorded {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Body { token, chunk } = event {
            assert!(!chunk.is_empty());
            if self.open_body != Some(token) {
                self.lines.push(format!("{token} body "));
            }
            self.open_body = Some(token);
            if let Some(line) = self.lines.last_mut() {
                line.push_str(&chunk.escape_ascii().to_string());
            }
            return;
        }
        self.open_body = None;
        self.lines.push(match event {
            Event::Head { token, head } => {
                let deviations: String =
                    head.deviations.iter().map(|one| format!(" ({})", one.name())).collect();
                format!("{token} head {}{}{deviations}", head.status, fields(head.headers))
            }
            Event::Trailers { token, headers } => format!("{token} trailers{}", fields(headers)),
            Event::Done { token, .. } => format!("{token} done"),
            Event::Failed { request, error } => format!("{} failed: {error}", request.token),
            Event::Body { .. } => return,
        });
    }
}

fn fields(headers: HeaderView<'_>) -> String {
    headers.iter().map(|(name, value)| format!(" {}={}", name.escape_ascii(), value.escape_ascii())).collect()
}

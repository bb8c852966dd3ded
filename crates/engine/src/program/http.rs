//! An HTTP step, compiled.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::template::{CompiledTemplate, RenderScope};
use crate::exchange::RequestDraft;

/// An HTTP request, compiled.
#[derive(Debug)]
pub(crate) struct HttpProgram {
    pub(crate) method: Vec<u8>,
    pub(crate) path: CompiledTemplate,
    pub(crate) body: CompiledTemplate,
    /// Whether the body is compressed after it is rendered.
    pub(crate) compresses: bool,
    /// How many redirects are followed.
    pub(crate) redirects: u32,
    /// `USER:PASSWORD`.
    pub(crate) basic_auth: Option<CompiledTemplate>,
}

impl HttpProgram {
    /// Whether all requests of the step are the same, as far as they are rendered here.
    pub(crate) fn is_constant(&self) -> bool {
        let texts = [&self.path, &self.body].into_iter().chain(&self.basic_auth);
        !self.compresses && texts.into_iter().all(|text| text.as_constant().is_some())
    }

    /// Draft the request; the draft contains the step's own headers already.
    pub(crate) fn draft(&self, scope: &RenderScope<'_>, draft: &mut RequestDraft) {
        draft.method.extend_from_slice(&self.method);
        self.path.render(scope, &mut draft.path);
        if self.compresses {
            let mut plain = Vec::new();
            self.body.render(scope, &mut plain);
            wire::coding::gzip(&plain, &mut draft.body);
        } else {
            self.body.render(scope, &mut draft.body);
        }
        if let Some(auth) = &self.basic_auth {
            let mut pair = Vec::new();
            auth.render(scope, &mut pair);
            draft.headers.push_with(b"authorization", |out| {
                out.extend_from_slice(b"Basic ");
                out.extend_from_slice(BASE64_STANDARD.encode(&pair).as_bytes());
            });
        }
    }
}

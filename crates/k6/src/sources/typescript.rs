//! TypeScript as the JavaScript that is left of it: types become blanks, so that places in messages stay.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
use swc_common::sync::Lrc;
use swc_common::{FileName, GLOBALS, Globals, SourceMap, Span, Spanned};
use swc_ecma_ast::{EsVersion, Ident, ImportDecl, ImportSpecifier, ModuleDecl, ModuleItem};
use swc_ecma_parser::{Syntax, TsSyntax, parse_file_as_module};
use swc_ecma_visit::{Visit, VisitWith};
use swc_ts_fast_strip::{ErrorCode, Mode, Options, TransformOutput, TsError, operate};

/// The JavaScript of a text in TypeScript. Where it has enums, namespaces or other syntax that is more than types, the text is
/// written anew, and places are those of the new one.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn javascript(name: &str, text: &str) -> Result<String, String> {
    match converted(name, text, Mode::StripOnly) {
        Ok(output) => Ok(without_unused_imports(output.code)),
        Err((ErrorCode::UnsupportedSyntax, _)) => {
            let written = converted(name, text, Mode::Transform).map_err(|(_, why)| why)?;
            Ok(without_unused_imports(written.code))
        }
        Err((_, why)) => Err(why),
    }
}

fn converted(name: &str, text: &str, mode: Mode) -> Result<TransformOutput, (ErrorCode, String)> {
    let map = Lrc::new(SourceMap::default());
    let problems = Problems::default();
    let handler = Handler::with_emitter(false, false, Box::new(problems.clone()));
    let parser = TsSyntax { decorators: true, ..TsSyntax::default() };
    let options =
        Options { parser, mode, filename: Some(name.to_owned()), module: None, ..Options::default() };
    let operated = GLOBALS.set(&Globals::new(), || operate(&map, &handler, text.to_owned(), options));
    operated.map_err(|TsError { message, code }| match problems.first() {
        None => (code, format!("SyntaxError: {message}\n\tat {name}")),
        Some((text, None)) => (code, format!("SyntaxError: {text}\n\tat {name}")),
        Some((text, Some(span))) => {
            let place = map.lookup_char_pos(span.lo);
            (code, format!("SyntaxError: {text}\n\tat {name}:{}:{}", place.line, place.col_display + 1))
        }
    })
}

/// A message, and where.
type Problem = (String, Option<Span>);

/// What is wrong with a text.
#[derive(Clone, Default)]
struct Problems(Arc<Mutex<Vec<Problem>>>);

impl Problems {
    fn first(&self) -> Option<Problem> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}

impl Emitter for Problems {
    fn emit(&mut self, problem: &mut DiagnosticBuilder<'_>) {
        let found = (problem.message(), problem.span.primary_span());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

/// The text without imports of names that only types use: what is imported may be a type itself.
fn without_unused_imports(text: String) -> String {
    let map = SourceMap::default();
    let file = map.new_source_file(FileName::Anon.into(), text.clone());
    let parsed = parse_file_as_module(&file, Syntax::default(), EsVersion::latest(), None, &mut Vec::new());
    // What is wrong with it is found when it is compiled.
    let Ok(module) = parsed else { return text };
    let mut used = UsedNames::default();
    module.visit_with(&mut used);
    let range = |span: Span| (span.lo.0 - file.start_pos.0) as usize..(span.hi.0 - file.start_pos.0) as usize;
    let mut kept = text.clone();
    for item in module.body.iter().rev() {
        if let ModuleItem::ModuleDecl(ModuleDecl::Import(import)) = item {
            let whole = range(import.span);
            let rest = import_of(import, |span| &text[range(span)], &used.0);
            kept.replace_range(
                whole.clone(),
                &rest.map_or(text[whole.clone()].to_owned(), |rest| with_lines_of(&rest, &text, whole)),
            );
        }
    }
    kept
}

/// What is left of an import of names that are not all used; none where it stays as it is.
fn import_of<'t>(
    import: &ImportDecl,
    text_of: impl Fn(Span) -> &'t str,
    used: &BTreeSet<String>,
) -> Option<String> {
    let is_used = |specifier: &&ImportSpecifier| used.contains(specifier.local().sym.as_str());
    let left: Vec<&ImportSpecifier> = import.specifiers.iter().filter(is_used).collect();
    if left.len() == import.specifiers.len() {
        return None;
    }
    if left.is_empty() {
        return Some(String::new());
    }
    let (named, others): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|specifier| matches!(specifier, ImportSpecifier::Named(_)));
    let joined = |specifiers: &[&ImportSpecifier]| {
        specifiers.iter().map(|specifier| text_of(specifier.span())).collect::<Vec<_>>().join(", ")
    };
    let named = (!named.is_empty()).then(|| format!("{{ {} }}", joined(&named)));
    let others = (!others.is_empty()).then(|| joined(&others));
    let names: Vec<String> = others.into_iter().chain(named).collect();
    Some(format!("import {} from {};", names.join(", "), text_of(import.src.span)))
}

/// A text with as many lines as what it replaces.
fn with_lines_of(replacement: &str, text: &str, range: Range<usize>) -> String {
    let lines = text[range].matches('\n').count().saturating_sub(replacement.matches('\n').count());
    format!("{replacement}{}", "\n".repeat(lines))
}

/// The names that expressions and exports of a module use.
#[derive(Default)]
struct UsedNames(BTreeSet<String>);

impl Visit for UsedNames {
    fn visit_import_decl(&mut self, _: &ImportDecl) {}

    fn visit_ident(&mut self, name: &Ident) {
        self.0.insert(name.sym.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_blanks_and_what_only_they_use_is_not_imported() {
        let text = "import http, { Response, RefinedResponse as R } from 'k6/http';
import { Options } from 'k6/options';
import type { Foo } from './nowhere';
import {
  User,
  mk,
} from './lib.ts';
import * as all from './lib.ts';
export const options: Options = { iterations: 1 };
export default function <T extends object>(this: void, user?: User): T { return http.get(mk((user as R)!) as string) satisfies T; }
";
        let left = "import http from 'k6/http';


import { mk } from './lib.ts';




export const options = { iterations: 1 };
export default function (user) { return http.get(mk((user))); }
";
        let dense = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join("")).collect()
        };
        assert_eq!(dense(&javascript("main.ts", text).unwrap()), dense(left));
    }

    #[test]
    fn more_than_types_is_written_anew() {
        let text = "enum Kind { A, B = 5, C } namespace NS { export const v: number = 7 } class P { constructor(private x: Kind) {} }
            export { Kind, NS, P };";
        let written = javascript("main.ts", text).unwrap();
        assert!(
            written.contains("Kind[Kind[\"A\"] = 0] = \"A\"") && written.contains("this.x = x"),
            "{written}"
        );
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        let why = javascript("/t/main.ts", "const a: number = 1;\nconst b: = 2;").unwrap_err();
        assert!(why.starts_with("SyntaxError: ") && why.ends_with("\n\tat /t/main.ts:2:10"), "{why}");
    }
}

//! TypeScript as the JavaScript that is left of it: types become blanks, so that places in messages stay.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
use swc_common::sync::Lrc;
use swc_common::{BytePos, FileName, GLOBALS, Globals, SourceMap, Span, Spanned};
use swc_ecma_ast::{
    AssignPatProp, BindingIdent, ClassDecl, EsVersion, ExportSpecifier, FnDecl, Ident, ImportDecl,
    ImportSpecifier, Module, ModuleDecl, ModuleItem, NamedExport,
};
use swc_ecma_parser::{Syntax, TsSyntax, parse_file_as_module};
use swc_ecma_visit::{Visit, VisitWith};
use swc_ts_fast_strip::{ErrorCode, Mode, Options, TransformOutput, TsError, operate};

use super::nesting::parse_nested;

/// Whether a text is JavaScript as it is.
pub(super) fn is_javascript(text: &str) -> bool {
    parse_nested("-", text, || parsed(text).is_some()).unwrap_or(false)
}

/// The JavaScript of a text in TypeScript. Where it has enums, namespaces or other syntax that is more than types, the text is
/// written anew, and places are those of the new one.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn javascript(name: &str, text: &str) -> Result<String, String> {
    let javascript = parse_nested(name, text, || match converted(name, text, Mode::StripOnly) {
        Ok(output) => Ok(without_types_names(output.code)),
        Err((ErrorCode::UnsupportedSyntax, _)) => {
            let written = converted(name, text, Mode::Transform).map_err(|(_, why)| why)?;
            Ok(without_types_names(written.code))
        }
        Err((_, why)) => Err(why),
    });
    javascript.unwrap_or_else(|error| Err(error.to_string()))
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

/// The module that a text in JavaScript is, and where it begins; none where it is not JavaScript.
fn parsed(text: &str) -> Option<(Module, BytePos)> {
    let map = SourceMap::default();
    let file = map.new_source_file(FileName::Anon.into(), text.to_owned());
    let mut problems = Vec::new();
    let module = parse_file_as_module(&file, Syntax::default(), EsVersion::latest(), None, &mut problems);
    module.ok().filter(|_| problems.is_empty()).map(|module| (module, file.start_pos))
}

/// The text without the names of types: imports of what only types use, which may be types themselves, and exports of what is not
/// declared.
fn without_types_names(text: String) -> String {
    // What is wrong with it is found when it is compiled.
    let Some((module, start)) = parsed(&text) else { return text };
    let declared = declared(&module);
    let mut used = UsedNames::default();
    module.visit_with(&mut used);
    let range = |span: Span| (span.lo.0 - start.0) as usize..(span.hi.0 - start.0) as usize;
    let mut kept = text.clone();
    for item in module.body.iter().rev() {
        let text_of = |span| &text[range(span)];
        let (span, rest) = match item {
            ModuleItem::ModuleDecl(ModuleDecl::Import(import)) => {
                (import.span, import_of(import, text_of, &used.0))
            }
            ModuleItem::ModuleDecl(ModuleDecl::ExportNamed(export)) if export.src.is_none() => {
                (export.span, export_of(export, text_of, &declared))
            }
            _ => continue,
        };
        let whole = range(span);
        if let Some(rest) = rest {
            kept.replace_range(whole.clone(), &with_lines_of(&rest, &text, whole));
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

/// What is left of an export of names that are not all declared; none where it stays as it is.
fn export_of<'t>(
    export: &NamedExport,
    text_of: impl Fn(Span) -> &'t str,
    declared: &BTreeSet<String>,
) -> Option<String> {
    let is_left = |specifier: &&ExportSpecifier| match specifier {
        ExportSpecifier::Named(named) => declared.contains(named.orig.atom().as_str()),
        _ => true,
    };
    let left: Vec<&str> =
        export.specifiers.iter().filter(is_left).map(|specifier| text_of(specifier.span())).collect();
    (left.len() < export.specifiers.len()).then(|| format!("export {{ {} }};", left.join(", ")))
}

/// The names that a module declares or imports.
fn declared(module: &Module) -> BTreeSet<String> {
    let mut names = DeclaredNames::default();
    module.visit_with(&mut names);
    names.0
}

/// The names of declarations, also of inner ones: an export of such a name is wrong in TypeScript already.
#[derive(Default)]
struct DeclaredNames(BTreeSet<String>);

impl Visit for DeclaredNames {
    fn visit_binding_ident(&mut self, name: &BindingIdent) {
        self.0.insert(name.id.sym.to_string());
    }

    fn visit_assign_pat_prop(&mut self, property: &AssignPatProp) {
        self.0.insert(property.key.id.sym.to_string());
        property.visit_children_with(self);
    }

    fn visit_fn_decl(&mut self, function: &FnDecl) {
        self.0.insert(function.ident.sym.to_string());
        function.visit_children_with(self);
    }

    fn visit_class_decl(&mut self, class: &ClassDecl) {
        self.0.insert(class.ident.sym.to_string());
        class.visit_children_with(self);
    }

    fn visit_import_specifier(&mut self, specifier: &ImportSpecifier) {
        self.0.insert(specifier.local().sym.to_string());
    }
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
    fn brackets_are_nested_as_deep_as_a_stack_allows_and_then_refused() {
        let nested = |depth: usize| format!("const a: any =\n{}{};", "[".repeat(depth), "]".repeat(depth));
        let javascript_of = |depth: usize| javascript("/t/main.ts", &nested(depth));
        assert!(javascript_of(1_500).is_ok_and(|text| text.contains(&"[".repeat(1_500))));
        let refused = "SyntaxError: brackets are nested more than 4000 deep\n\tat /t/main.ts:2:4001";
        assert_eq!(javascript_of(4_001), Err(refused.to_owned()));
        assert_eq!(javascript_of(1_000_000), Err(refused.to_owned()));
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        let why = javascript("/t/main.ts", "const a: number = 1;\nconst b: = 2;").unwrap_err();
        assert!(why.starts_with("SyntaxError: ") && why.ends_with("\n\tat /t/main.ts:2:10"), "{why}");
    }
}

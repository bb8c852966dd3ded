//! What a module imports, read from its text.

use swc_common::sync::Lrc;
use swc_common::{FileName, SourceMap, Span};
use swc_ecma_ast::{CallExpr, Callee, EsVersion, ExportAll, Expr, ImportDecl, Lit, NamedExport, Str};
use swc_ecma_parser::{EsSyntax, Syntax, parse_file_as_program};
use swc_ecma_visit::{Visit, VisitWith};

/// The names of modules that a text imports or requires, with line and column; none where it cannot be parsed.
pub(super) fn of(text: &str) -> Vec<(String, usize, usize)> {
    let map = Lrc::new(SourceMap::default());
    let file = map.new_source_file(FileName::Anon.into(), text.to_owned());
    let syntax = Syntax::Es(EsSyntax { allow_return_outside_function: true, ..EsSyntax::default() });
    let parsed = parse_file_as_program(&file, syntax, EsVersion::latest(), None, &mut Vec::new());
    let mut found = Imports::default();
    if let Ok(program) = parsed {
        program.visit_with(&mut found);
    }
    let placed = |(name, span): (String, Span)| {
        let place = map.lookup_char_pos(span.lo);
        (name, place.line, place.col_display + 1)
    };
    found.0.into_iter().map(placed).collect()
}

#[derive(Default)]
struct Imports(Vec<(String, Span)>);

impl Imports {
    fn add(&mut self, name: &Str) {
        self.0.push((name.value.to_string_lossy().into_owned(), name.span));
    }
}

impl Visit for Imports {
    fn visit_import_decl(&mut self, import: &ImportDecl) {
        self.add(&import.src);
    }

    fn visit_export_all(&mut self, export: &ExportAll) {
        self.add(&export.src);
    }

    fn visit_named_export(&mut self, export: &NamedExport) {
        if let Some(from) = &export.src {
            self.add(from);
        }
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        let loads = match &call.callee {
            Callee::Import(_) => true,
            Callee::Expr(callee) => matches!(&**callee, Expr::Ident(name) if &*name.sym == "require"),
            Callee::Super(_) => false,
        };
        if let (true, Some(Expr::Lit(Lit::Str(name)))) = (loads, call.args.first().map(|first| &*first.expr))
        {
            self.add(name);
        }
        call.visit_children_with(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_module_is_found_with_its_place() {
        let text = "import a, { b } from 'a';\nexport * from './b.js';\n  export { c } from \"c\";
const d = require('d'); // require('none')
export default async () => { await import('e'); require(name); };";
        let found = of(text);
        let expect = [("a", 1, 22), ("./b.js", 2, 15), ("c", 3, 21), ("d", 4, 19), ("e", 5, 43)];
        assert_eq!(found, expect.map(|(name, line, column)| (name.to_owned(), line, column)));
        assert_eq!(of("module.exports = require('x'); return 1;").len(), 1);
        assert!(of("import {").is_empty());
    }
}

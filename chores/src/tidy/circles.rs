//! Files of one crate do not use each other in a circle.
//!
//! A file uses another when one of its paths leads to something that is defined there. A submodule may use what its
//! ancestors define.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::allow::{self, Entry, Subject};
use super::complaint::Complaint;
use super::modules::{Crate, ModulePath, Uses, crates};
use super::tree::Tree;

/// Files each of which leads to all others.
struct Circle {
    /// In alphabetical order.
    files: Vec<String>,
    /// The shortest way from one of them over others back to it.
    shortest: Vec<Arrow>,
}

/// One file uses these names of another.
struct Arrow {
    from: String,
    to: String,
    names: BTreeSet<String>,
}

/// Every circle that the list does not allow, and every entry of the list that is outdated.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    // An unreadable list is reported by the rule about lengths.
    let entries = allow::parse(tree.text(allow::PATH).unwrap_or("")).unwrap_or_default();
    let circles: Vec<Circle> = crates(tree).iter().flat_map(circles).collect();
    let mut complaints: Vec<Complaint> =
        circles.iter().filter_map(|circle| circle.complaint(&entries)).collect();
    complaints.extend(entries.iter().filter_map(|entry| outdated(entry, &circles)));
    complaints
}

/// The circles of files, and those of the modules below the root that none of these explains.
fn circles(of_crate: &Crate) -> Vec<Circle> {
    let mut found = circles_of(of_crate, &of_crate.uses());
    let of_modules = circles_of(of_crate, &of_crate.uses_of_top_modules());
    let explains =
        |files: &Circle, modules: &Circle| modules.files.iter().all(|file| files.files.contains(file));
    let unexplained: Vec<Circle> = of_modules
        .into_iter()
        .filter(|modules| !found.iter().any(|files| explains(files, modules)))
        .collect();
    found.extend(unexplained);
    found
}

fn circles_of(of_crate: &Crate, uses: &Uses<'_>) -> Vec<Circle> {
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        uses.keys().map(|&module| (module, reachable(uses, module))).collect();
    let leads_to = |from: &ModulePath, to: &ModulePath| reach.get(from).is_some_and(|all| all.contains(to));
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for &module in uses.keys().filter(|module| leads_to(module, module)) {
        if !seen.insert(module) {
            continue;
        }
        let members: Vec<&ModulePath> =
            reach[module].iter().copied().filter(|other| leads_to(other, module)).collect();
        seen.extend(&members);
        found.push(Circle::of(of_crate, uses, &members));
    }
    found
}

/// All modules that the uses of `start` lead to.
fn reachable<'a>(uses: &Uses<'a>, start: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The shortest way from `start` back to it, `start` at both ends.
fn shortest_way<'a>(uses: &Uses<'a>, start: &'a ModulePath) -> Option<Vec<&'a ModulePath>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in uses.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = way.iter().copied().chain([*next]).collect();
            if *next == start {
                return Some(longer);
            }
            if reached.insert(*next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

impl Circle {
    fn of(of_crate: &Crate, uses: &Uses<'_>, members: &[&ModulePath]) -> Self {
        let mut files: Vec<String> = members.iter().map(|module| of_crate.file(module).to_owned()).collect();
        files.sort();
        let ways = members.iter().filter_map(|module| shortest_way(uses, module));
        let way = ways.min_by_key(Vec::len).unwrap_or_default();
        let arrow = |pair: &[&ModulePath]| Arrow {
            from: of_crate.file(pair[0]).to_owned(),
            to: of_crate.file(pair[1]).to_owned(),
            names: uses[pair[0]][pair[1]].clone(),
        };
        Self { files, shortest: way.windows(2).map(arrow).collect() }
    }

    /// What the list calls it by.
    fn first_file(&self) -> &str {
        &self.files[0]
    }

    fn complaint(&self, entries: &[Entry]) -> Option<Complaint> {
        let subject = Subject::Circle(self.first_file().to_owned());
        let count = self.files.len();
        let wrong = match entries.iter().find(|entry| entry.subject == subject) {
            Some(entry) if count <= entry.limit => return None,
            Some(entry) => format!("a circle of files grew from {} to {count}", entry.limit),
            None => format!("{count} files use each other in a circle"),
        };
        let files: Vec<&str> = self.files.iter().map(|file| within_crate(file)).collect();
        let arrows: Vec<String> = self.shortest.iter().map(Arrow::to_string).collect();
        Some(Complaint {
            path: self.first_file().to_owned(),
            line: 1,
            wrong: format!("{wrong} ({}): {}", files.join(", "), arrows.join(", ")),
            instead: "move what two of them need into a file below both".to_owned(),
        })
    }
}

impl std::fmt::Display for Arrow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        write!(f, "{} uses {} of {}", within_crate(&self.from), names.join(" and "), within_crate(&self.to))
    }
}

/// The path of a file from its crate's `src`.
fn within_crate(path: &str) -> &str {
    path.split_once("/src/").map_or(path, |(_, file)| file)
}

fn outdated(entry: &Entry, circles: &[Circle]) -> Option<Complaint> {
    let Subject::Circle(path) = &entry.subject else { return None };
    let (wrong, instead) = match circles.iter().find(|circle| circle.first_file() == path) {
        None => ("no circle of files begins with this one".to_owned(), "delete the entry".to_owned()),
        Some(circle) if circle.files.len() < entry.limit => (
            format!("this entry allows a circle of {} files", entry.limit),
            format!("lower it to {}", circle.files.len()),
        ),
        Some(_) => return None,
    };
    Some(Complaint { path: allow::PATH.to_owned(), line: entry.at, wrong, instead })
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    const THREE: &[(&str, &str)] = &[
        ("a/src/lib.rs", "mod b;\nmod c;\nmod d;"),
        ("a/src/b.rs", "use crate::c::{Two, Four};\npub struct One;"),
        ("a/src/c.rs", "use crate::d;\npub struct Two;\npub struct Four;\nfn f() { d::g() }"),
        ("a/src/d.rs", "pub fn g(one: crate::b::One, two: crate::c::Two) {}"),
    ];

    fn check_with(allowed: &str, files: &[(&str, &str)], expect: &str) {
        let files: Vec<_> = files.iter().copied().chain([(allow::PATH, allowed)]).collect();
        assert_eq!(printed(&check(&Tree::of(&files))), expect);
    }

    #[test]
    fn a_circle_is_named_with_the_names_that_tie_it() {
        check_with(
            "",
            THREE,
            "a/src/b.rs:1: 3 files use each other in a circle (b.rs, c.rs, d.rs): c.rs uses d of d.rs, d.rs uses Two of c.rs; move what \
             two of them need into a file below both\n",
        );
    }

    #[test]
    fn a_submodule_may_use_what_its_ancestors_define() {
        let files = [
            ("a/src/lib.rs", "mod b;\nstruct Top;\nfn f() { b::g() }"),
            ("a/src/b.rs", "mod c;\nuse crate::Top;\nstruct One;\nfn g() { c::h() }"),
            ("a/src/b/c.rs", "use super::One;\nuse crate::Top;\nfn h() {}"),
        ];
        check_with("", &files, "");
    }

    #[test]
    fn siblings_under_one_parent_may_not() {
        let files = [
            ("a/src/lib.rs", "mod b;"),
            ("a/src/b.rs", "mod c;\nmod d;\npub use c::One;"),
            ("a/src/b/c.rs", "use super::d::Two;\npub struct One;"),
            ("a/src/b/d.rs", "use super::One;\npub struct Two;"),
        ];
        check_with(
            "",
            &files,
            "a/src/b/c.rs:1: 2 files use each other in a circle (b/c.rs, b/d.rs): b/c.rs uses Two of b/d.rs, b/d.rs uses One of b/c.rs; \
             move what two of them need into a file below both\n",
        );
    }

    #[test]
    fn modules_below_the_root_may_not_either_whatever_their_re_exports_hide() {
        let files = [
            ("a/src/lib.rs", "mod b;\nmod c;"),
            ("a/src/b.rs", "mod d;\nmod e;\npub use e::One;\npub use d::Two;"),
            ("a/src/b/d.rs", "use crate::c::Three;\npub struct Two;"),
            ("a/src/b/e.rs", "pub struct One;"),
            ("a/src/c.rs", "use crate::b::One;\npub struct Three;"),
        ];
        check_with(
            "",
            &files,
            "a/src/b.rs:1: 2 files use each other in a circle (b.rs, c.rs): b.rs uses Three of c.rs, c.rs uses One of b.rs; move what \
             two of them need into a file below both\n",
        );
    }

    #[test]
    fn a_listed_circle_may_shrink_and_not_grow() {
        check_with("circle a/src/b.rs 3 # a reason\n", THREE, "");
        check_with(
            "circle a/src/b.rs 2 # a reason\n",
            THREE,
            "a/src/b.rs:1: a circle of files grew from 2 to 3 (b.rs, c.rs, d.rs): c.rs uses d of d.rs, d.rs uses Two of c.rs; move what \
             two of them need into a file below both\n",
        );
        check_with(
            "circle a/src/b.rs 4 # a reason\n",
            THREE,
            "chores/tidy.allow:1: this entry allows a circle of 4 files; lower it to 3\n",
        );
        check_with(
            "circle a/src/b.rs 2 # a reason\n",
            &[],
            "chores/tidy.allow:1: no circle of files begins with this one; delete the entry\n",
        );
    }
}

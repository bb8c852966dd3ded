//! Where the plan and its files are in relation to each other, which a pod keeps.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::KubernetesError;

/// Files below the folder that they have in common.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The path of the plan.
    pub plan: String,
    /// Content by path, the plan's too.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// The folder, here.
    common: PathBuf,
}

impl Layout {
    /// The files that were read with the plan at `plan`, by a command in the folder `here`.
    ///
    /// # Errors
    /// [`KubernetesError`] when a pod cannot have such a path: it is absolute, or not UTF-8.
    pub fn of_plan(
        here: &Path,
        plan: &Path,
        files: Vec<(String, Arc<[u8]>)>,
    ) -> Result<Layout, KubernetesError> {
        let folder = plan.parent().unwrap_or(Path::new(""));
        // The plan names it by a path that no pod has.
        let is_elsewhere =
            |path: &Path| path.is_absolute() && !(folder.is_absolute() && path.starts_with(folder));
        match files.iter().find(|(path, _)| is_elsewhere(Path::new(path))) {
            Some((path, _)) => Err(KubernetesError::AbsolutePath(path.clone())),
            None => Layout::new(here, plan, files),
        }
    }

    /// The same, whichever paths they were read by.
    ///
    /// # Errors
    /// [`KubernetesError`] when a path is not UTF-8.
    pub fn new(here: &Path, plan: &Path, files: Vec<(String, Arc<[u8]>)>) -> Result<Layout, KubernetesError> {
        let absolute: BTreeMap<PathBuf, Arc<[u8]>> =
            files.into_iter().map(|(path, content)| (without_dots(&here.join(path)), content)).collect();
        let plan = without_dots(&here.join(plan));
        let parents = absolute.keys().chain([&plan]).filter_map(|path| path.parent());
        let common = parents.map(Path::to_owned).reduce(|a, b| common(&a, &b)).unwrap_or_default();
        let relative = |path: &Path| {
            let below = path.strip_prefix(&common).unwrap_or(path).to_str();
            below.map(str::to_owned).ok_or_else(|| KubernetesError::NotUtf8(path.to_owned()))
        };
        let files = absolute.iter().map(|(path, content)| Ok((relative(path)?, content.clone())));
        Ok(Layout { plan: relative(&plan)?, files: files.collect::<Result<_, KubernetesError>>()?, common })
    }

    /// Where a file or folder of here is below the common one; that one itself for what it is below, and for folders that none of
    /// the files is in.
    pub fn place(&self, here: &Path, path: &Path) -> PathBuf {
        let full = without_dots(&here.join(path));
        full.strip_prefix(&self.common).map(Path::to_owned).unwrap_or_default()
    }
}

/// The path without `.` and `..`, as a reader of its text understands it.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

fn common(a: &Path, b: &Path) -> PathBuf {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(plan: &str, files: &[&str]) -> (String, Vec<String>) {
        let files = files.iter().map(|path| ((*path).to_owned(), b"".as_slice().into()));
        let layout = Layout::of_plan(Path::new("/a/b"), Path::new(plan), files.collect()).unwrap();
        (layout.plan, layout.files.into_keys().collect())
    }

    #[test]
    fn files_keep_their_places_below_the_folder_that_they_share() {
        let own = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            paths("plan.toml", &["plan.toml", "data/users.csv"]),
            ("plan.toml".into(), own(&["data/users.csv", "plan.toml"]))
        );
        assert_eq!(
            paths("plans/p.toml", &["plans/p.toml", "plans/../proto/x.proto"]),
            ("plans/p.toml".into(), own(&["plans/p.toml", "proto/x.proto"]))
        );
        assert_eq!(
            paths("../p.toml", &["../p.toml", "../../x"]),
            ("a/p.toml".into(), own(&["a/p.toml", "x"]))
        );
        assert_eq!(paths("/c/p.toml", &["/c/p.toml", "/c/d/x"]), ("p.toml".into(), own(&["d/x", "p.toml"])));
    }

    #[test]
    fn a_path_that_no_pod_has_is_refused() {
        let files = ["/srv/users.csv"].map(|path| (path.to_owned(), b"".as_slice().into()));
        let refused =
            Layout::of_plan(Path::new("/a"), Path::new("p.toml"), files.into()).unwrap_err().to_string();
        assert!(refused.contains("`/srv/users.csv` is named by an absolute path"), "{refused}");
    }

    #[test]
    fn paths_of_here_have_a_place_below_the_common_folder() {
        let files = ["/a/s/x.js", "/a/lib/y.js"].map(|path| (path.to_owned(), b"".as_slice().into()));
        let here = Path::new("/a/b");
        let layout = Layout::new(here, Path::new("/a/s/x.js"), files.into()).unwrap();
        let place = |path| layout.place(here, Path::new(path)).display().to_string();
        assert_eq!(layout.plan, "s/x.js");
        assert_eq!(["../s/x.js", "/a/lib", "/a", "/", "/b"].map(place), ["s/x.js", "lib", "", "", ""]);
    }
}

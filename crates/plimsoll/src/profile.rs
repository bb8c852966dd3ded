//! `plimsoll profile`: what a pprof file contains, and what changed between two.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::profile::{
    CallTree, Comparison, Limits, Profile, Side, Sort, TopOptions, View, ViewOptions, compare, read, since,
    top,
};
use ::report::profiles::{self, FlameBaseline};
use anyhow::{Context, anyhow};
use conduct::confine::Reach;
use conduct::failure::{CommandResult, Failure};
use conduct::{file_kind, standard_output};

use crate::arguments::{ProfileArguments, SortBy};
use crate::outputs::PreopenedReports;

/// Calls below this share of the whole are counted in the tree and not shown.
const LEAST_SHARE: f64 = 0.005;

pub(crate) fn profile(arguments: &ProfileArguments) -> CommandResult<u8> {
    let ProfileArguments { file, base, since, base_since, .. } = arguments;
    let read = [Some(file), base.as_ref(), since.as_ref(), base_since.as_ref()];
    let opened = PreopenedReports::all([&arguments.flame, &arguments.json].map(Option::as_deref))?;
    read.into_iter().flatten().fold(Reach::default(), |reach, path| reach.file(path)).confine();
    let profile = load(file, since.as_deref())?;
    let view = view_of(&profile, arguments, &arguments.file)?;
    let sort = match arguments.sort {
        SortBy::Flat => Sort::Flat,
        SortBy::Cum => Sort::Cumulative,
    };
    let most = usize::try_from(arguments.top).unwrap_or(usize::MAX);
    let listed = top(&view, TopOptions { sort, most, least_share: LEAST_SHARE });
    let tree = CallTree::build(&view);
    let against = against(&view, arguments)?;
    let (comparison, base_tree) = against.unzip();
    let is_taken =
        [&arguments.json, &arguments.flame].into_iter().flatten().any(|path| path == Path::new("-"));
    if !is_taken {
        standard_output::print(&match &comparison {
            Some(comparison) => profiles::comparison(comparison, most),
            None if arguments.tree => profiles::tree(&tree, LEAST_SHARE),
            None => profiles::top(&listed),
        })?;
    }
    if let Some(path) = &arguments.flame {
        let title = arguments.file.file_name().unwrap_or_default().to_string_lossy();
        let requests = arguments.base_requests.zip(arguments.requests);
        let page = match &base_tree {
            Some(base) => profiles::differential_page(&tree, FlameBaseline { tree: base, requests }, &title),
            None => profiles::flame_page(&tree, &title),
        };
        opened.put(path, &page)?;
    }
    if let Some(path) = &arguments.json {
        let document = profiles::Document::new(&listed, &tree, comparison.as_ref());
        opened.put(path, &(document.json() + "\n"))?;
    }
    Ok(0)
}

/// The comparison with a baseline and its call tree, if there is one.
fn against(view: &View<'_>, arguments: &ProfileArguments) -> CommandResult<Option<(Comparison, CallTree)>> {
    let Some(path) = &arguments.base else { return Ok(None) };
    let base = load(path, arguments.base_since.as_deref())?;
    // The baseline is viewed by the new profile's sample type, whatever its own default is.
    let options =
        ViewOptions { sample_type: Some(&view.value_type().name), focus: arguments.focus.as_deref() };
    let base = View::new(&base, options).map_err(|error| of_file(path, error))?;
    let sides = [
        Side { view: &base, requests: arguments.base_requests },
        Side { view, requests: arguments.requests },
    ];
    let comparison = compare(sides[0], sides[1]).map_err(|error| {
        Failure::usage(anyhow!("{} and {}: {error}", path.display(), arguments.file.display()))
    })?;
    Ok(Some((comparison, CallTree::build(&base))))
}

fn view_of<'p>(profile: &'p Profile, arguments: &ProfileArguments, path: &Path) -> CommandResult<View<'p>> {
    let options =
        ViewOptions { sample_type: arguments.sample_type.as_deref(), focus: arguments.focus.as_deref() };
    View::new(profile, options).map_err(|error| of_file(path, error))
}

/// The profile at `path`, with an earlier one subtracted.
fn load(path: &Path, earlier: Option<&Path>) -> CommandResult<Profile> {
    let profile = one(path)?;
    let Some(earlier) = earlier else { return Ok(profile) };
    since(&one(earlier)?, &profile)
        .map_err(|error| Failure::usage(anyhow!("{} less {}: {error}", path.display(), earlier.display())))
}

fn one(path: &Path) -> CommandResult<Profile> {
    // No more is read than a profile may have.
    let most = u64::try_from(Limits::default().inflated_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::usage)?;
    read(&bytes).map_err(|error| file_kind::named(path, &bytes).unwrap_or_else(|| of_file(path, error)))
}

fn of_file(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::usage(anyhow::Error::new(error).context(path.display().to_string()))
}

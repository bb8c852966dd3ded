//! Reads `[data.NAME]`: rows from a file or a pattern, and how they are picked.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder::PlanFolder;
use super::section::Section;
use crate::rows;
use workload::data::{DataError, Table};
use workload::model::{DataFrom, DataSource, Pick};
use workload::nearest::nearest;
use workload::template::is_name;

/// Names with another meaning before a dot.
const RESERVED: [&str; 1] = ["env"];

/// All data files of the plan.
#[derive(Default)]
pub(super) struct DataSets {
    pub(super) sources: BTreeMap<String, DataSource>,
    pub(super) tables: BTreeMap<String, Table>,
    /// All names of data in the plan, including data with errors.
    pub(super) names: Vec<String>,
}

/// Read all data files.
pub(super) fn read(root: &Section<'_>, folder: PlanFolder<'_>) -> DataSets {
    let mut sets = DataSets::default();
    for item in root.entries("data") {
        let name = item.key.clone();
        if !is_name(&name) || RESERVED.contains(&name.as_str()) {
            root.issues
                .add(&item.key_span, format!("`{name}` cannot name data; use letters, digits, `_`, `-`"));
        }
        sets.names.push(name.clone());
        let Some(section) = item.section(&format!("data `{name}`")) else { continue };
        let found_before = root.issues.count();
        let rows = read_rows(&section, folder);
        let pick = read_pick(&section);
        section.finish();
        let has_rows = section.get("file").is_some() || section.get("generate").is_some();
        // A misspelt key is the one that is missing.
        if !has_rows && root.issues.count() == found_before {
            need_rows(&section);
        }
        if let (Some((from, table)), Some(pick)) = (rows, pick) {
            sets.sources.insert(name.clone(), DataSource { from, pick, rows: table.rows() });
            sets.tables.insert(name, table);
        }
    }
    sets
}

fn read_rows(section: &Section<'_>, folder: PlanFolder<'_>) -> Option<(DataFrom, Table)> {
    match (section.get("file"), section.get("generate")) {
        (Some(file), None) => {
            let name = file.text()?;
            let table = section.issues.check(&file.span(), read_file(name, folder))?;
            Some((DataFrom::File(name.to_owned()), table))
        }
        (None, Some(pattern)) => {
            let text = pattern.text()?;
            let table = section.issues.check(&pattern.span(), Table::generate(text))?;
            Some((DataFrom::Generate(text.to_owned()), table))
        }
        (None, None) => None,
        (Some(_), Some(_)) => {
            need_rows(section);
            None
        }
    }
}

fn need_rows(section: &Section<'_>) {
    let example = "`file = \"users.csv\"` or `generate = \"user-{1..10000}\"`";
    section.issues.add(&section.span, format!("data needs one of `file` and `generate`: {example}"));
}

fn read_file(name: &str, folder: PlanFolder<'_>) -> Result<Table, DataError> {
    let file = folder.join(name).display().to_string();
    let whole = |message| DataError::Whole { file: file.clone(), message };
    let read = || folder.read(name).map_err(|e| whole(format!("cannot be read: {e}; check the path")));
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("csv") => rows::csv(&read()?, &file),
        Some("json") => rows::json(&read()?, &file),
        _ => Err(whole("data files end in `.csv` or `.json`".to_owned())),
    }
}

fn read_pick(section: &Section<'_>) -> Option<Pick> {
    let Some(item) = section.get("pick") else { return Some(Pick::Sequential) };
    match item.text()? {
        "sequential" => Some(Pick::Sequential),
        "random" => Some(Pick::Random),
        "unique" => Some(Pick::Unique),
        other => {
            let known = ["sequential", "random", "unique"];
            let near = nearest(other, known).map(|near| format!("; did you mean `{near}`?"));
            item.wrong(format!("`pick` is sequential, random or unique{}", near.unwrap_or_default()));
            None
        }
    }
}

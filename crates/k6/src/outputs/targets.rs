//! What `-o` and `K6_OUT` ask for: files of all values, as k6 writes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::OutputError;
use crate::summary::CsvTimeFormat;

/// The file of `-o csv`.
const CSV_FILE: &str = "file.csv";

/// How the values of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueFormat {
    /// A line of JSON each.
    Json,
    /// A row of a table each, with times in this format.
    Csv(CsvTimeFormat),
}

/// A file of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTarget {
    /// How they are written.
    pub format: ValueFormat,
    /// None for standard output.
    pub path: Option<PathBuf>,
}

/// The files that flags ask for, or where there is none the variable `K6_OUT`.
///
/// # Errors
/// [`OutputError`] when one of them is not supported.
pub fn targets(
    flags: &[String],
    variables: &BTreeMap<String, String>,
) -> Result<Vec<ValueTarget>, OutputError> {
    let from_variable = variables.get("K6_OUT").filter(|text| flags.is_empty() && !text.is_empty());
    let asked =
        flags.iter().map(String::as_str).chain(from_variable.into_iter().flat_map(|text| text.split(',')));
    asked.map(|asked| target(asked, variables)).collect()
}

/// What is written, as k6 shows it before a run.
pub fn described(targets: &[ValueTarget]) -> String {
    let one = |target: &ValueTarget| {
        let format = if target.format == ValueFormat::Json { "json" } else { "csv" };
        let path = target.path.as_ref().map(|path| format!(" ({})", path.display()));
        format!("{format}{}", path.unwrap_or_else(|| "(stdout)".to_owned()))
    };
    match targets {
        [] => "-".to_owned(),
        targets => targets.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

fn target(asked: &str, variables: &BTreeMap<String, String>) -> Result<ValueTarget, OutputError> {
    let (kind, argument) = asked.split_once('=').unwrap_or((asked, ""));
    match kind {
        "json" => Ok(ValueTarget { format: ValueFormat::Json, path: path(argument) }),
        "csv" => csv(argument, variables),
        _ => Err(OutputError::Unsupported(kind.to_owned())),
    }
}

/// An argument is the name of a file, or pairs such as `fileName=a.csv,timeFormat=rfc3339`.
fn csv(argument: &str, variables: &BTreeMap<String, String>) -> Result<ValueTarget, OutputError> {
    let variable = |name: &str| variables.get(name).filter(|text| !text.is_empty()).map(String::as_str);
    let mut file = variable("K6_CSV_FILENAME").unwrap_or(CSV_FILE);
    let mut time_format = variable("K6_CSV_TIME_FORMAT");
    if argument.contains('=') {
        for pair in argument.split(',') {
            match pair.split_once('=') {
                Some(("fileName", value)) => file = value,
                Some(("timeFormat", value)) => time_format = Some(value),
                // They are written as they come.
                Some(("saveInterval", _)) => {}
                _ => return Err(OutputError::Setting(pair.to_owned())),
            }
        }
    } else if !argument.is_empty() {
        file = argument;
    }
    let known =
        |name: &str| CsvTimeFormat::from_name(name).ok_or_else(|| OutputError::TimeFormat(name.to_owned()));
    let times = time_format.map(known).transpose()?;
    Ok(ValueTarget { format: ValueFormat::Csv(times.unwrap_or_default()), path: path(file) })
}

fn path(name: &str) -> Option<PathBuf> {
    (!name.is_empty() && name != "-").then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_before_the_variable() {
        let variables = BTreeMap::from([("K6_OUT".to_owned(), "json=a.json,csv".to_owned())]);
        let file = |format, path: &str| ValueTarget { format, path: Some(path.into()) };
        let csv = ValueFormat::Csv(CsvTimeFormat::Seconds);
        let of_variable = targets(&[], &variables).unwrap();
        assert_eq!(of_variable, [file(ValueFormat::Json, "a.json"), file(csv, "file.csv")]);
        let flags = ["json".to_owned(), "csv=saveInterval=2s,fileName=y.csv,timeFormat=rfc3339".to_owned()];
        let stdout = ValueTarget { format: ValueFormat::Json, path: None };
        let rfc3339 = file(ValueFormat::Csv(CsvTimeFormat::Rfc3339), "y.csv");
        assert_eq!(targets(&flags, &variables).unwrap(), [stdout, rfc3339]);
    }

    #[test]
    fn an_output_that_is_not_there_is_named() {
        for (asked, message) in [
            (
                "influxdb=http://localhost",
                "the output 'influxdb' is not supported; those that are: csv, json",
            ),
            ("csv=timeFormat=bogus", "no time format 'bogus'"),
            ("csv=file=x", "no setting 'file=x'"),
        ] {
            let refused = targets(&[asked.to_owned()], &BTreeMap::new()).unwrap_err();
            assert!(refused.to_string().contains(message), "{refused}");
        }
    }
}

//! Evidence and verdict as text, HTML, Markdown, JSON and JUnit.

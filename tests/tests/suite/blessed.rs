//! Tables of a document that tests make: compared with what stands there, written anew with `PANTOBENCH_BLESS=1`.

use integration_tests::project_root;

const DOCUMENT: &str = "docs/safety.md";

/// Compares a table with what stands between its marks in the document.
pub fn compare(name: &str, table: &str) {
    let path = project_root().join(DOCUMENT);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- made by a test: {name} -->\n\n");
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{DOCUMENT} has no place for '{name}'"));
    let (stands, after) = rest.split_once("\n<!-- end -->").unwrap();
    if stands == table {
        return;
    }
    if std::env::var_os("PANTOBENCH_BLESS").is_some() {
        std::fs::write(
            &path,
            format!("{before}{begin}{table}\n<!-- end -->{after}"),
        )
        .unwrap();
        return;
    }
    panic!(
        "{DOCUMENT}, '{name}' states\n{stands}\nand the test finds\n{table}\nIf that is right: PANTOBENCH_BLESS=1"
    );
}

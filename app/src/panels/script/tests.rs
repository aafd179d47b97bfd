//! The panel as a person uses it, by role and label.

use super::*;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::time::{Duration, Instant};

struct Shown {
    panel: ScriptPanel,
    asks: Vec<Ask>,
}

fn harness(panel: ScriptPanel) -> Harness<'static, Shown> {
    let shown = Shown {
        panel,
        asks: Vec::new(),
    };
    Harness::builder()
        .with_size(egui::vec2(1000.0, 700.0))
        .build_ui_state(
            |ui, shown: &mut Shown| {
                shown.panel.poll();
                shown.panel.show(ui, &mut shown.asks);
            },
            shown,
        )
}

fn scratch(name: &str, text: &str) -> (PathBuf, PathBuf) {
    let own = format!("pantobench-script-panel-{name}-{}", std::process::id());
    let directory = std::env::temp_dir().join(own);
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("test.rhai");
    std::fs::write(&file, text).unwrap();
    (directory, file)
}

fn finish(harness: &mut Harness<'static, Shown>) {
    let since = Instant::now();
    while harness.state().panel.is_running() {
        harness.run_steps(1);
        assert!(
            since.elapsed() < Duration::from_secs(120),
            "it does not end"
        );
        std::thread::park_timeout(Duration::from_millis(5));
    }
    harness.run_steps(2);
}

#[test]
fn an_empty_panel_offers_the_shipped_scripts() {
    let mut harness = harness(ScriptPanel::default());
    harness.run_steps(2);
    harness.get_by_label_contains("is the bench itself right?");
    harness.get_by_label("known-mass").click();
    harness.run_steps(2);
    let asks = std::mem::take(&mut harness.state_mut().asks);
    let [Ask::OpenScript(Some(path))] = asks.as_slice() else {
        panic!("{asks:?}");
    };
    harness.state_mut().panel.open(path).unwrap();
    harness.run_steps(2);
    harness.get_by_label("known-mass.rhai");
    harness.get_by_label("▶ Run script").click();
    harness.run_steps(2);
    assert_eq!(harness.state().asks, [Ask::RunScript { real_time: false }]);
}

#[test]
fn a_script_runs_beside_the_picture_and_shows_tables_and_checks() {
    let source = "print(\"hello\"); let t = table(\"Numbers\", [\"a\", \"b\"]); t.row([1, \"x\"]); t.show(); \
                  check(\"good\", 1, 0, 2);";
    let (directory, file) = scratch("run", source);
    let mut panel = ScriptPanel::default();
    panel.open(&file).unwrap();
    panel.begin(|| ()).unwrap();
    let mut harness = harness(panel);
    finish(&mut harness);
    harness.get_by_label("hello");
    harness.get_by_label("Numbers");
    harness.get_by_label_contains("✔ held: good");
    harness.get_by_label_contains("done: 1 of 1 checks held");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn an_error_marks_its_line_and_stop_ends_an_endless_script() {
    let (directory, file) = scratch("error", "let a = 1;\nprint(a + b);\n");
    let mut panel = ScriptPanel::default();
    panel.open(&file).unwrap();
    panel.begin(|| ()).unwrap();
    let mut harness = harness(panel);
    finish(&mut harness);
    harness.get_by_label_contains("line 2, column 11: Undefined variable: b");
    assert_eq!(harness.state().panel.error.as_ref().unwrap().line, Some(2));

    harness.state_mut().panel.text = "while true { }".into();
    harness.state_mut().panel.begin(|| ()).unwrap();
    harness.run_steps(2);
    harness.get_by_label("■ Stop script").click();
    harness.run_steps(2);
    finish(&mut harness);
    harness.get_by_label_contains("✖ stopped");
    assert!(
        ScriptPanel::default()
            .open(Path::new("/no/such.rhai"))
            .is_err()
    );
    assert!(ScriptPanel::default().begin(|| ()).is_err());
    std::fs::remove_dir_all(directory).unwrap();
}

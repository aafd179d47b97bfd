//! The picture: bars, panels, and what lies on top of them.

use super::act::Prompt;
use super::rig_work::{DEAD_MAN, show_working};
use super::{Active, RESTING, Slot, Workstation};
use crate::analysis::stretch::Offered;
use crate::command::{RECORDING_IS_SHOWN, UiCommand};
use crate::conductor;
use crate::export::{self, Content};
use crate::guide::Situation;
use crate::ingest::is_recording;
use crate::panels::commissioning::{CommissioningPanel, HomeKnown};
use crate::panels::comparison::ComparisonPanel;
use crate::panels::parameters::Controls;
use crate::panels::recordings::RecordingsPanel;
use crate::panels::rig::RigPanel;
use crate::panels::script::ScriptPanel;
use crate::panels::timing::{self, TimingView};
use crate::panels::validation::ValidationPanel;
use crate::panels::{commissioning, footer, status, trip};
use crate::recording_list::RecordingList;
use crate::settings::{AROUND_S, HISTORY_MB};
use crate::theme;
use crate::tuner::Tuner;
use crate::validating::Validating;
use crate::view::{Ask, View};
use crate::widened;
use crate::workspace::{Pane, ShowPane};
use eframe::egui::{self, Align2, Panel, RichText, Ui};
use rt_core::guard::State;
use rt_core::param::ParamSpec;
use rt_core::record::event::EventRecord;
use rt_core::rig::AtRest;
use std::collections::VecDeque;
use std::path::Path;

/// Whether the last that kept the rig from being ready is an error that its drive has latched.
fn has_latched(events: &VecDeque<EventRecord>) -> bool {
    let last = events.iter().rev().find(|e| e.kind == "warning");
    let fault = last.and_then(|e| e.word("fault"));
    fault.is_some_and(|id| conductor::DRIVE_ERRORS.contains(&id))
}

impl Workstation {
    /// Draws everything and does what was asked for.
    pub fn show(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        // Before anything else: no field, dialog or palette comes between a key and STOP.
        let events = ctx.input(|input| input.raw.events.clone());
        let is_stopped = self.hear_stop(&events, false);
        let is_typing = ctx.egui_wants_keyboard_input();
        // A key that is held is one press: its repeats are no second step.
        ctx.input_mut(|input| {
            input.events.retain(|e| {
                !matches!(e, egui::Event::Key { key, repeat: true, pressed: true, .. } if *key == UiCommand::Arm.shortcut().logical_key)
            });
        });
        // A key with Shift also fits the one without: the stricter ones are looked for first.
        let (shifted, plain): (Vec<UiCommand>, Vec<UiCommand>) = UiCommand::all()
            .filter(|c| *c != UiCommand::Stop)
            .partition(|c| c.shortcut().modifiers.shift);
        let mut todo: Vec<UiCommand> = shifted
            .into_iter()
            .chain(plain)
            .filter(|c| !(is_typing && c.is_of_texts()))
            .filter(|c| ctx.input_mut(|input| is_pressed(input, *c)))
            .collect();
        let presses_arm = todo.contains(&UiCommand::Arm);
        self.lend_hand(&ctx, presses_arm);
        let (state, is_replay) = (self.state(), self.replay.is_some());
        todo.retain(|c| self.may_be_done(*c, state, is_replay));
        // What was asked for in the same moment as STOP is not done after it.
        todo.retain(|c| !(is_stopped && c.reaches_bench()));
        self.poll();
        self.take_screenshot(&ctx);
        let mut asks = Vec::new();
        self.show_stop_alarm(ui);
        self.bars_and_panels(ui, &mut asks);
        todo.extend(self.palette.show(&ctx, state, is_replay));
        self.overlays(&ctx, &mut asks);
        for command in todo {
            self.execute(command);
        }
        for ask in asks {
            self.serve(ask);
        }
    }

    /// Whether a command that came from a key can be done; what a recording stands in the way of says so.
    fn may_be_done(&mut self, command: UiCommand, state: State, is_replay: bool) -> bool {
        match command.obstacle(state, is_replay) {
            None => true,
            Some(why) => {
                if why == RECORDING_IS_SHOWN {
                    self.tell(why);
                }
                false
            }
        }
    }

    fn bars_and_panels(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        let is_loading = self.loading.as_ref().map(|l| (l.path.clone(), l.frames()));
        if let Some((path, frames)) = is_loading {
            Panel::top("loading").show(ui, |ui| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                ui.label(format!("Reading {name}: {frames} frames …"));
                ui.ctx().request_repaint_after(RESTING);
            });
        }
        let words = match &self.slot {
            Slot::Starting(_) => Some("The bench is being prepared.".to_owned()),
            Slot::Working(_) => Some("The rig is being worked on.".to_owned()),
            Slot::Lent(session) => Some(format!(
                "The script has the rig in real time. '{}' comes back when it has ended.",
                session.session.title
            )),
            Slot::Active(_) | Slot::Failed { .. } => None,
        };
        if let Some(words) = words {
            self.show_stop_bar(ui, &words);
        }
        let confirm_left = self.confirm_left();
        match &mut self.slot {
            Slot::Starting(starting) => {
                let seconds = starting.since.elapsed().as_secs_f64();
                let title = starting.title.clone();
                egui::CentralPanel::default().show(ui, |ui| {
                    ui.centered_and_justified(|ui| {
                        ui.label(
                            RichText::new(format!("Preparing {title} …  {seconds:.0} s"))
                                .size(20.0),
                        )
                    });
                    ui.ctx().request_repaint_after(RESTING);
                });
            }
            Slot::Working(working) => show_working(ui, working),
            Slot::Failed { title, problem } => failed(ui, title, problem, asks),
            Slot::Lent(_) => {
                let script = &mut self.script;
                egui::CentralPanel::default().show(ui, |ui| script.show(ui, asks));
            }
            Slot::Active(active) => {
                let Active {
                    run,
                    controls,
                    tuning,
                    rig,
                    changes_seen,
                } = &mut **active;
                let recorder = run.recorder_status();
                let over = run.is_over();
                let Some(live) = run.live() else { return };
                *changes_seen = live.changes();
                let outgoing = tuning.as_mut().and_then(|t| t.follow(&live.applied));
                let bar = status::Bar {
                    state: live.latest.state,
                    ended: over,
                    timing: &run.timing,
                    rt: &run.rt,
                    period_nanos: run.period_nanos,
                    paused: self.paused_at_s.is_some(),
                    is_replay: self.replay.is_some(),
                    has_latched: has_latched(&live.data.events),
                    recorder: recorder.as_ref(),
                    dead_man: run
                        .rig
                        .spec
                        .safety
                        .dead_man_s
                        .map(|_| ui.input(|i| i.key_down(DEAD_MAN))),
                };
                Panel::top("status").show(ui, |ui| {
                    ui.add_space(6.0);
                    asks.extend(status::show(ui, &bar).map(Ask::Command));
                    ui.add_space(6.0);
                });
                let left = confirm_left
                    .filter(|_| live.latest.state == State::Ready && self.replay.is_none());
                if let Some(left) = left {
                    Panel::top("confirm").show(ui, |ui| {
                        asks.extend(status::confirm_arming(ui, left).map(Ask::Command));
                    });
                }
                let widened = widened::of_limits(&run.limits, &live.data.channels);
                if !widened.is_empty() {
                    Panel::top("widened").show(ui, |ui| {
                        let color = theme::warning(ui.visuals().dark_mode);
                        for line in widened {
                            ui.label(RichText::new(format!("▲ {line}")).color(color));
                        }
                    });
                }
                if let Some(event) = &live.trip {
                    Panel::top("trip").show(ui, |ui| {
                        trip::show(ui, event, &run.layout, &live.data);
                    });
                }
                Panel::bottom("footer").exact_size(30.0).show(ui, |ui| {
                    ui.add_space(3.0);
                    let footer = footer::Footer {
                        free_bytes: self.free_bytes,
                        recordings: &self.settings.recordings,
                        recorder_error: recorder.as_ref().and_then(|r| r.error.as_deref()),
                        limits: &run.limits,
                        channels: &live.data.channels,
                        latest: &live.latest,
                        last_event: live.data.events.back(),
                        message: self.message.as_ref().map(|(text, _)| text.as_str()),
                    };
                    footer::show(ui, &footer);
                });
                if let Some(replay) = &mut self.replay {
                    Panel::bottom("transport").show(ui, |ui| {
                        ui.add_space(4.0);
                        let recorded = &replay.recorded;
                        for line in widened::of_recording(&recorded.header, &recorded.data.events) {
                            let color = theme::warning(ui.visuals().dark_mode);
                            ui.label(RichText::new(format!("▲ {line}")).color(color));
                        }
                        replay.show(ui, asks);
                        ui.add_space(4.0);
                    });
                }
                let view = match &self.replay {
                    Some(replay) => View {
                        data: &replay.recorded.data,
                        now_s: replay.head.position_s(),
                        is_following: false,
                        is_replay: true,
                    },
                    None => View {
                        data: &live.data,
                        now_s: self
                            .paused_at_s
                            .or(live.data.history.newest_s())
                            .unwrap_or_default(),
                        is_following: self.paused_at_s.is_none(),
                        is_replay: false,
                    },
                };
                let rig_path = run.loaded.rig_path();
                let latest = |channel: &str| {
                    let column = run.layout.find(channel);
                    column.map_or(f64::NAN, |column| live.latest.values[column])
                };
                let actuator = run.rig.spec.actuators.first();
                let rig_bench = commissioning::Bench {
                    rig: &rig_path,
                    id: run.bench.id,
                    state: live.latest.state,
                    reference_m: latest("motor_reference"),
                    position_m: latest("motor_position"),
                    force_n: latest("force"),
                    range_m: actuator.map_or((0.0, 0.0), |a| (a.low, a.high)),
                    home: HomeKnown::now(live.latest.state, &live.data.events),
                    has_brake: run.rig.spec.brake.is_some(),
                    lacks_real_time: run.rig.spec.safety.needs_real_time == Some(true)
                        && !run.rt.is_real_time(),
                };
                let mut shower = Shower {
                    view,
                    asks,
                    specs: run.bench.params,
                    applied: &live.applied,
                    controls,
                    tuning: tuning.as_ref(),
                    comparison: &mut self.comparison,
                    commissioning: &mut self.commissioning,
                    rig_bench,
                    validation: &mut self.validation,
                    validating: self.validating.as_ref(),
                    offered: &mut self.offered,
                    busy: self.studying.as_ref().map(|s| s.what.as_str()),
                    recordings: &mut self.recordings,
                    rig,
                    script: &mut self.script,
                    list: &self.list,
                    writing: recorder.as_ref().and_then(|r| r.path.as_deref()),
                    timing: TimingView {
                        timing: &run.timing,
                        rt: &run.rt,
                        period_nanos: run.period_nanos,
                        record_ring: run.record_ring,
                    },
                };
                egui::CentralPanel::default()
                    .frame(egui::Frame::new().fill(ui.visuals().window_fill))
                    .show(ui, |ui| self.workspace.show(ui, &mut shower));
                drop(live);
                if let Some(outgoing) = outgoing {
                    self.send_tuning(outgoing);
                }
            }
        }
    }

    /// Windows on top of the panels.
    fn overlays(&mut self, ctx: &egui::Context, asks: &mut Vec<Ask>) {
        self.show_prompt(ctx, asks);
        self.show_settings(ctx, asks);
        self.show_what_if(ctx, asks);
        if self.guide.is_open() {
            let mut situation = Situation {
                state: self.state(),
                changes: 0,
                is_recording: false,
                is_replay: self.replay.is_some(),
                has_tuning: false,
                moves: None,
                holds: false,
                records_runs: self.settings.record_every_run,
            };
            if let Slot::Active(active) = &self.slot {
                let status = active.run.recorder_status();
                let mut actuators = active.run.rig.spec.actuators.iter();
                situation.changes = active.changes_seen;
                situation.has_tuning = active.tuning.is_some();
                situation.is_recording = status.is_some_and(|s| is_recording(s.phase));
                situation.moves = Some(active.run.moves);
                situation.holds = actuators.any(|a| a.at_rest == AtRest::Hold);
            }
            if self.guide.show(ctx, &situation) {
                self.settings.guide_seen = true;
                self.save();
            }
        }
    }

    fn show_prompt(&mut self, ctx: &egui::Context, asks: &mut Vec<Ask>) {
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        let (title, label, text) = match prompt {
            Prompt::Mark(text) => ("Marker", "Text of the marker", text),
            Prompt::Layout(text) => ("Save layout", "Name of the layout", text),
            Prompt::Insist(found) => {
                let answer = insist(ctx, found);
                if let Some(insists) = answer
                    && let Some(Prompt::Insist(found)) = self.prompt.take()
                    && insists
                {
                    self.ask_to_arm(&found);
                }
                return;
            }
        };
        let (mut done, mut is_open, mut cancelled) = (false, true, false);
        egui::Window::new(title)
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
            .collapsible(false)
            .resizable(false)
            .open(&mut is_open)
            .show(ctx, |ui| {
                let name = ui.label(label);
                let field = ui.add(egui::TextEdit::singleline(text).desired_width(360.0));
                let field = field.labelled_by(name.id);
                field.request_focus();
                let enter = ui.input(|i| i.key_pressed(egui::Key::Enter));
                ui.horizontal(|ui| {
                    done = ui.button("OK").clicked() || enter;
                    cancelled = ui.button("Cancel").clicked();
                });
            });
        if !(done || cancelled || !is_open) {
            return;
        }
        match self.prompt.take() {
            Some(Prompt::Mark(text)) if done => asks.push(Ask::Mark(text)),
            Some(Prompt::Layout(name)) if done && !name.trim().is_empty() => {
                self.save_layout(name.trim());
            }
            _ => {}
        }
    }

    fn show_settings(&mut self, ctx: &egui::Context, asks: &mut Vec<Ask>) {
        if !self.settings_open {
            return;
        }
        let mut is_open = true;
        let before = self.settings.clone();
        let settings = &mut self.settings;
        egui::Window::new("Settings")
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
            .collapsible(false)
            .resizable(false)
            .open(&mut is_open)
            .show(ctx, |ui| {
                ui.set_width(520.0);
                ui.checkbox(&mut settings.record_every_run, "Record every run")
                    .on_hover_text("From arming until the bench is idle again.");
                ui.checkbox(
                    &mut settings.capture_on_trip,
                    "Record the time around a trip",
                );
                egui::Grid::new("settings")
                    .num_columns(2)
                    .spacing([12.0, 8.0])
                    .show(ui, |ui| {
                        let mut seconds = |name: &str, value: &mut f64| {
                            let label = ui.label(name);
                            let drag = egui::DragValue::new(value)
                                .range(AROUND_S)
                                .suffix(" s")
                                .speed(0.1);
                            ui.add(drag).labelled_by(label.id);
                            ui.end_row();
                        };
                        seconds("Kept before a recording", &mut settings.before_s);
                        seconds("Kept after a trigger", &mut settings.after_s);
                        let label = ui.label("Memory for the past");
                        let drag = egui::DragValue::new(&mut settings.history_mb)
                            .range(HISTORY_MB)
                            .suffix(" MB");
                        ui.add(drag).labelled_by(label.id);
                        ui.end_row();
                        ui.label("Recordings go to");
                        ui.horizontal(|ui| {
                            ui.label(
                                RichText::new(settings.recordings.display().to_string())
                                    .monospace()
                                    .size(13.0),
                            );
                            if ui.button("Choose …").clicked() {
                                asks.push(Ask::ChooseRecordings);
                            }
                        });
                        ui.end_row();
                    });
                ui.label(
                    RichText::new(
                        "Times, memory and directory take effect when a session is opened.",
                    )
                    .size(13.0),
                );
            });
        self.settings_open = is_open;
        if *before.recordings != self.settings.recordings || before != self.settings {
            self.save();
        }
    }

    /// A picture of the window that was asked for has come.
    fn take_screenshot(&mut self, ctx: &egui::Context) {
        let Some((_, _, picture)) = &self.screenshot else {
            return;
        };
        let Ok(image) = picture.try_recv() else {
            ctx.request_repaint_after(RESTING);
            return;
        };
        if let Some((name, rect, _)) = self.screenshot.take() {
            match export::png(&image, rect, ctx.pixels_per_point()) {
                Ok(bytes) => self.ask_where(&name, &["png"], Content::Bytes(bytes)),
                Err(problem) => self.tell(format!("no picture: {problem}")),
            }
        }
    }
}

/// Controls of the bench, which do nothing while a recording is shown: they are those of the running bench.
fn unless_replay<T>(ui: &mut Ui, is_replay: bool, show: impl FnOnce(&mut Ui) -> T) -> T {
    if is_replay {
        let color = theme::warning(ui.visuals().dark_mode);
        ui.label(RichText::new(format!("▲ {RECORDING_IS_SHOWN}")).color(color));
    }
    ui.add_enabled_ui(!is_replay, show).inner
}

/// Shows what speaks against arming; the answer, once there is one.
fn insist(ctx: &egui::Context, found: &[crate::permit::Hindrance]) -> Option<bool> {
    let mut answer = None;
    egui::Window::new("Arming is refused")
        .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
        .collapsible(false)
        .resizable(false)
        .show(ctx, |ui| {
            ui.set_width(520.0);
            for hindrance in found {
                ui.label(format!("• {}", hindrance.text));
            }
            ui.add_space(8.0);
            ui.horizontal(|ui| {
                if ui.button("Cancel").clicked() {
                    answer = Some(false);
                }
                let hover = "Arms the bench; that you insisted is recorded.";
                if ui.button("Arm all the same").on_hover_text(hover).clicked() {
                    answer = Some(true);
                }
            });
        });
    answer
}

fn failed(ui: &mut Ui, title: &str, problem: &str, asks: &mut Vec<Ask>) {
    egui::CentralPanel::default().show(ui, |ui| {
        ui.add_space(60.0);
        ui.vertical_centered(|ui| {
            ui.label(
                RichText::new(format!("'{title}' could not be started"))
                    .size(20.0)
                    .strong(),
            );
            ui.add_space(8.0);
            ui.label(problem);
            ui.add_space(16.0);
            for command in [UiCommand::OpenSession, UiCommand::OpenRecording] {
                if ui
                    .button(command.text())
                    .on_hover_text(command.tooltip())
                    .clicked()
                {
                    asks.push(Ask::Command(command));
                }
            }
        });
    });
}

/// Whether a key was pressed for a command. What reaches the bench is never asked for by a key that is held: a second
/// step of arming needs that it was let go.
fn is_pressed(input: &mut egui::InputState, command: UiCommand) -> bool {
    let shortcut = command.shortcut();
    if command.reaches_bench() {
        input.events.retain(|event| match event {
            egui::Event::Key {
                key,
                repeat: true,
                modifiers,
                ..
            } => *key != shortcut.logical_key || !modifiers.matches_logically(shortcut.modifiers),
            _ => true,
        });
    }
    input.consume_shortcut(&shortcut)
}

/// Draws each panel from what the window holds.
struct Shower<'a> {
    view: View<'a>,
    asks: &'a mut Vec<Ask>,
    specs: &'static [ParamSpec],
    applied: &'a [f64],
    controls: &'a mut Controls,
    tuning: Option<&'a Tuner>,
    comparison: &'a mut ComparisonPanel,
    commissioning: &'a mut CommissioningPanel,
    rig_bench: commissioning::Bench<'a>,
    validation: &'a mut ValidationPanel,
    validating: Option<&'a Validating>,
    busy: Option<&'a str>,
    /// Stretches that the plots offer to the panels of analysis.
    offered: &'a mut Offered,
    recordings: &'a mut RecordingsPanel,
    rig: &'a mut RigPanel,
    script: &'a mut ScriptPanel,
    list: &'a RecordingList,
    /// The recording that is being written.
    writing: Option<&'a Path>,
    timing: TimingView<'a>,
}

impl ShowPane for Shower<'_> {
    fn show(&mut self, ui: &mut Ui, pane: &mut Pane) {
        let view = &self.view;
        // A recording has gains of its own; those of the running bench would mislead.
        let tuner = self.tuning.filter(|_| !view.is_replay);
        match pane {
            Pane::Plots(panel) => {
                panel.show(ui, view, self.asks);
                *self.offered = panel.offered(view);
            }
            Pane::Line(panel) => panel.show(ui, view, self.asks),
            Pane::Tuning(panel) => panel.show(ui, view, tuner, self.asks),
            Pane::StabilityMap(panel) => panel.show(ui, view, tuner, self.asks),
            Pane::Bode(panel) => panel.show(ui, view, tuner, self.asks),
            Pane::Spectra(panel) => {
                panel.offer(*self.offered);
                panel.show(ui, view, self.asks);
            }
            Pane::Transfer(panel) => {
                panel.offer(*self.offered);
                panel.show(ui, view, self.asks);
            }
            Pane::Spectrogram(panel) => {
                panel.offer(*self.offered);
                panel.show(ui, view, self.asks);
            }
            Pane::Histogram(panel) => {
                panel.offer(*self.offered);
                panel.show(ui, view, self.asks);
            }
            Pane::Xy(panel) => {
                panel.offer(*self.offered);
                panel.show(ui, view, self.asks);
            }
            Pane::Channels(panel) => panel.show(ui, view),
            Pane::Events(panel) => panel.show(ui, view, self.asks),
            Pane::Timing => timing::show(ui, &self.timing),
            Pane::Recordings => {
                let writing = self.writing;
                self.recordings.show(ui, self.list, writing, self.asks);
            }
            Pane::Comparison => self.comparison.show(ui, self.busy, self.asks),
            Pane::Validation => self.validation.show(ui, self.validating, self.asks),
            Pane::Rig => {
                let operator = self.recordings.remarks.operator.as_deref();
                let operator = operator.unwrap_or_default();
                self.rig.show(ui, &self.view, operator, self.asks);
            }
            Pane::Commissioning => {
                let (commissioning, bench) = (&mut *self.commissioning, &self.rig_bench);
                let asks = &mut *self.asks;
                unless_replay(ui, view.is_replay, |ui| commissioning.show(ui, bench, asks));
            }
            Pane::Script => self.script.show(ui, self.asks),
            Pane::Parameters => {
                let (controls, specs, applied) = (&mut *self.controls, self.specs, self.applied);
                let changes =
                    unless_replay(ui, view.is_replay, |ui| controls.show(ui, specs, applied));
                let asks = changes.into_iter();
                self.asks
                    .extend(asks.map(|(index, value)| Ask::SetParam { index, value }));
            }
        }
    }
}

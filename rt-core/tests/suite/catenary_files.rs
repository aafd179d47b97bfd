//! Prepared lines on disk, and drawings.

use crate::catenary::{line, linear, small};
use rt_core::model::catenary::cache::{key, load_or_build, path};
use rt_core::model::catenary::{ModalBasis, Scheme, draw};
use std::path::PathBuf;

/// A folder of this test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pantobench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_prepared_line_comes_back_as_it_was_built() {
    let folder = Folder::new("cache");
    let model = linear(&small(), 2.0);
    let mut notices = Vec::new();
    let mut get = |modes| {
        load_or_build(
            &folder.0,
            &model,
            modes,
            &mut |n| notices.push(n),
            &mut |_| (),
        )
        .unwrap()
    };
    let built = get(40);
    assert_eq!(built, ModalBasis::build(&model, 40, &mut |_| ()).unwrap());
    assert_eq!(get(40), built);
    assert_eq!(folder.files(), 1);
    assert_ne!(get(41), built);
    assert_eq!(folder.files(), 2);
    assert!(notices.is_empty(), "{notices:?}");

    // Another mesh, another mass, another dropper: each has its own key.
    let mut other = small();
    other.clamps.contact_kg += 1e-9;
    assert_ne!(key(&linear(&other, 2.0), 40), key(&model, 40));
    assert_ne!(key(&linear(&small(), 1.9), 40), key(&model, 40));
}

#[test]
fn a_damaged_file_is_noticed_and_made_again() {
    let folder = Folder::new("damage");
    let model = linear(&small(), 2.0);
    let built = ModalBasis::build(&model, 20, &mut |_| ()).unwrap();
    let file = path(&folder.0, key(&model, 20));
    let get = || {
        let mut notices = Vec::new();
        let basis =
            load_or_build(&folder.0, &model, 20, &mut |n| notices.push(n), &mut |_| ()).unwrap();
        (basis, notices)
    };
    assert!(get().1.is_empty());
    let good = std::fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut sizes = good.clone();
    sizes[48] ^= 0xff;
    for bad in [
        flipped,
        sizes,
        good[..good.len() - 8].to_vec(),
        good[..30].to_vec(),
        Vec::new(),
        vec![7; 4096],
    ] {
        std::fs::write(&file, &bad).unwrap();
        let (basis, notices) = get();
        assert_eq!(basis, built);
        assert!(
            notices.len() == 1 && notices[0].contains("damaged"),
            "{notices:?}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), good);
    }
}

#[test]
fn many_at_once_share_one_file_and_a_hopeless_folder_stops_nobody() {
    let folder = Folder::new("together");
    let model = linear(&small(), 2.0);
    let built = ModalBasis::build(&model, 30, &mut |_| ()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let basis =
                    load_or_build(&folder.0, &model, 30, &mut |n| panic!("{n}"), &mut |_| ())
                        .unwrap();
                assert_eq!(basis, built);
            });
        }
    });
    assert_eq!(folder.files(), 1);

    let file = folder.0.join("no-folder");
    std::fs::write(&file, "").unwrap();
    let mut notices = Vec::new();
    let basis = load_or_build(&file, &model, 30, &mut |n| notices.push(n), &mut |_| ()).unwrap();
    assert_eq!(basis, built);
    assert!(
        notices.iter().any(|n| n.contains("cannot be kept")),
        "{notices:?}"
    );
}

#[test]
fn a_drawing_shows_every_wire_and_is_well_formed() {
    let model = linear(&line("stitched-sw"), 2.0);
    let svg = draw::svg(&model, "a <b> & c", 2, 4);
    assert!(svg.contains("a &lt;b&gt; &amp; c, spans 2 to 4"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let count = |part: &str| svg.matches(part).count();
    // Three spans in two views: 21 droppers, 4 supports, one legend entry each.
    assert_eq!(count(r#"class="dropper""#), 2 * 21 + 1);
    assert_eq!(count(r#"class="support""#), 2 * 4 + 1);
    assert_eq!(count("<polyline class=\"contact\""), 2);
    assert_eq!(count("<polyline class=\"messenger\""), 2);
    assert!(count("<polyline class=\"stitch\"") >= 2 * 2);
    assert_eq!(count("<svg"), count("</svg>"));
    assert_eq!(count("<text"), count("</text>"));
    // Asked for more than there is, it draws what there is.
    assert!(draw::svg(&model, "x", 0, 99).contains("spans 1 to 20"));
}

#[test]
fn schemes_are_built_by_their_names() {
    let folder = Folder::new("scheme");
    let model = linear(&small(), 2.0);
    for (name, unknowns) in [
        ("implicit", model.dofs()),
        ("full", model.dofs()),
        ("modal", 42),
    ] {
        let scheme = Scheme::named(name).unwrap();
        let dt = scheme.default_dt();
        let mut heard = 0.0;
        let wire = scheme
            .build(
                &model,
                dt,
                30,
                Some(&folder.0),
                &mut |n| panic!("{n}"),
                &mut |p| heard = p,
            )
            .unwrap();
        assert_eq!(
            (scheme.name(), wire.dt(), wire.unknowns()),
            (name, dt, unknowns)
        );
        assert_eq!(heard, if name == "modal" { 1.0 } else { 0.0 });
    }
    assert_eq!((Scheme::named("nodal"), folder.files()), (None, 1));
}

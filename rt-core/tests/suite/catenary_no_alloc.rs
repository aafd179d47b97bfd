//! After they are built, wire models and what is stepped beside them never touch the heap.

use crate::catenary::{line, linear, pantograph};
use rt_core::model::catenary::lumped::LumpedStepper;
use rt_core::model::catenary::wire::ElasticContact;
use rt_core::model::catenary::{FullWire, ModalBasis, ModalOptions, ModalWire, WireModel};
use rt_core::model::interaction_mass::{InteractionMass, MassCoupling};
use rt_core::no_alloc::guarded;
use std::sync::Arc;

#[test]
fn steps_of_both_models_never_allocate() {
    let model = linear(&line("en50318-2002"), 2.0);
    let p = pantograph("en50318-2002");
    let mut full = FullWire::new(model.clone(), 2e-3).unwrap();
    let basis = Arc::new(ModalBasis::build(&model, 300, &mut |_| ()).unwrap());
    let mut modal = ModalWire::new(model.clone(), basis, 2e-3, ModalOptions::default()).unwrap();
    for wire in [&mut full as &mut dyn WireModel, &mut modal] {
        let mut state = wire.new_state();
        let mut lumped = LumpedStepper::new(&p, 400.0, 2e-3).unwrap();
        lumped.rest_against(0.0, 5e4);
        let mut mass = InteractionMass::new(MassCoupling::table_2(), 2e-3, 0.0, 400.0);
        let mut most_slack = 0;
        let ((), uses) = guarded(|| {
            wire.reset();
            for k in 0..2000 {
                wire.save(&mut state);
                let head_free = lumped.predict();
                let head_compliance = lumped.compliance();
                wire.predict(0.16 * f64::from(k));
                wire.respond(mass.force_on_wire());
                wire.restore(&state);
                wire.predict(0.16 * f64::from(k));
                let contact = ElasticContact {
                    stiffness: 5e4,
                    head_free,
                    head_compliance,
                    share: 1.0,
                };
                let response = wire.respond_to(&contact);
                wire.commit();
                lumped.commit(response.force);
                mass.step(response.height, head_free, head_compliance);
                assert!(wire.rise(30.0).is_finite());
                most_slack = most_slack.max(wire.slack_droppers());
            }
        });
        assert_eq!(uses, 0, "allocations and frees");
        assert!(most_slack >= 4, "slack droppers were solved: {most_slack}");
    }
    let counted = guarded(|| drop(std::hint::black_box(vec![1.0; 10]))).1;
    assert_eq!(counted, 2, "the counter counts");
}

//! The tenant whose request is next: weighted round robin with urgent priority class, the
//! arbitration of NVMe (base specification 2.0, 3.4.4).
//!
//! Tenants of the class urgent come before all others. The classes high, medium and low each have a
//! weight: the number of requests that the class sends in a round. A round ends when every class
//! that has requests has sent that number. Within a class tenants take turns, and a tenant sends as
//! many requests in its turn as its own weight says. A tenant that has nothing to send loses the
//! rest of its turn. A class that has nothing to send loses the rest of its round.

use flashgc_base::snapshot::{State, Value};

use crate::tenants::{ClassWeights, Priority, Tenant};

/// The tenants of a class that take turns.
#[derive(State)]
struct Turns {
    /// The numbers and weights of the tenants.
    #[snapshot(skip)]
    members: Vec<(usize, u32)>,
    at: Turn,
}

/// The tenant whose turn it is.
#[derive(Clone, Copy, Value)]
struct Turn {
    member: usize,
    /// The number of requests that the tenant may still send in this turn.
    left: u32,
}

impl Turns {
    fn new(members: Vec<(usize, u32)>) -> Self {
        let left = members.first().map_or(0, |&(_, weight)| weight);
        Self { members, at: Turn { member: 0, left } }
    }

    fn next(&mut self, is_ready: &impl Fn(usize) -> bool) -> Option<usize> {
        let Turn { member, left } = self.at;
        // The last step returns to the tenant whose turn it is, and gives it a new turn.
        for step in 0..=self.members.len() {
            let place = (member + step) % self.members.len().max(1);
            let &(tenant, weight) = self.members.get(place)?;
            let left = if step == 0 { left } else { weight };
            if left > 0 && is_ready(tenant) {
                self.at = Turn { member: place, left: left - 1 };
                return Some(tenant);
            }
        }
        None
    }
}

/// Chooses the next tenant among those that have requests.
///
/// It knows classes, weights and turns. It does not know the requests.
pub struct Arbiter {
    urgent: Turns,
    /// The tenants of the classes high, medium and low.
    classes: [Turns; 3],
    weights: [u32; 3],
    /// The number of requests that each class may send in this round.
    credits: [u32; 3],
}

impl State for Arbiter {
    fn save(&self, to: &mut flashgc_base::snapshot::Writer<'_>) {
        let Self { urgent, classes, weights: _, credits } = self;
        credits.put(to);
        urgent.save(to);
        classes[..].save(to);
    }

    fn restore(
        &mut self,
        from: &mut flashgc_base::snapshot::Reader<'_>,
    ) -> Result<(), flashgc_base::snapshot::Fault> {
        self.credits = Value::take(from)?;
        self.urgent.restore(from)?;
        self.classes[..].restore(from)
    }
}

impl Arbiter {
    pub fn new(tenants: &[Tenant], weights: ClassWeights) -> Self {
        let of = |class: Priority| {
            let all = tenants.iter().enumerate();
            let members = all.filter(|(_, tenant)| tenant.spec.priority == class);
            Turns::new(members.map(|(number, tenant)| (number, tenant.spec.weight)).collect())
        };
        Self {
            urgent: of(Priority::Urgent),
            classes: [of(Priority::High), of(Priority::Medium), of(Priority::Low)],
            weights: weights.0,
            credits: weights.0,
        }
    }

    /// Returns the number of the tenant that sends its next request, among those that are ready.
    pub fn next(&mut self, is_ready: impl Fn(usize) -> bool) -> Option<usize> {
        if let Some(tenant) = self.urgent.next(&is_ready) {
            return Some(tenant);
        }
        for credits in [self.credits, self.weights] {
            for (class, turns) in self.classes.iter_mut().enumerate() {
                if credits[class] > 0
                    && let Some(tenant) = turns.next(&is_ready)
                {
                    self.credits = credits;
                    self.credits[class] -= 1;
                    return Some(tenant);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loop;
    use crate::tenants::TenantSpec;

    fn arbiter(tenants: &[(&str, u32)], weights: &str) -> Arbiter {
        let tenant = |&(priority, weight): &(&str, u32)| Tenant {
            spec: TenantSpec::parse(&format!(
                "name=t; workload=uniform; priority={priority}; weight={weight}"
            ))
            .unwrap(),
            pages: 0..1,
            host: Loop::Open,
            queue_depth: 1,
        };
        let tenants: Vec<Tenant> = tenants.iter().map(tenant).collect();
        Arbiter::new(&tenants, ClassWeights::parse(weights).unwrap())
    }

    fn order(arbiter: &mut Arbiter, count: usize, ready: &[usize]) -> Vec<usize> {
        (0..count).map_while(|_| arbiter.next(|tenant| ready.contains(&tenant))).collect()
    }

    #[test]
    fn classes_share_rounds_by_their_weights_after_the_urgent() {
        let tenants = [("low", 1), ("high", 1), ("medium", 1), ("urgent", 1)];
        let mut arbiter = arbiter(&tenants, "high=3,medium=2,low=1");
        assert_eq!(order(&mut arbiter, 2, &[0, 1, 2, 3]), [3, 3]);
        assert_eq!(order(&mut arbiter, 12, &[0, 1, 2]), [1, 1, 1, 2, 2, 0, 1, 1, 1, 2, 2, 0]);
        // A class that is alone sends every request; its last round has used the credit of low.
        assert_eq!(order(&mut arbiter, 5, &[0]), [0, 0, 0, 0, 0]);
        assert_eq!(order(&mut arbiter, 6, &[0, 1]), [1, 1, 1, 1, 1, 1]);
        assert_eq!(arbiter.next(|_| false), None);
    }

    #[test]
    fn tenants_of_a_class_take_turns_of_their_weights() {
        let mut arbiter = arbiter(&[("medium", 3), ("medium", 1), ("medium", 2)], "medium=2");
        assert_eq!(order(&mut arbiter, 12, &[0, 1, 2]), [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2]);
        // A tenant that has nothing to send loses the rest of its turn.
        assert_eq!(order(&mut arbiter, 2, &[0, 1, 2]), [0, 0]);
        assert_eq!(order(&mut arbiter, 3, &[1, 2]), [1, 2, 2]);
        assert_eq!(order(&mut arbiter, 4, &[0, 1, 2]), [0, 0, 0, 1]);
    }
}

use flashgc_base::rng::Stream;

use super::*;

#[test]
fn a_long_queue_answers_as_a_plain_search_does() {
    let (mut ops, mut queue) = (Ops::default(), Queue::EMPTY);
    let mut stream = Stream::new(1, "queue");
    let (mut plain, mut taken) = (Vec::<u32>::new(), Vec::<u32>::new());
    let mut held_up = [false; 40];
    let mut with_index = 0;
    for step in 0..20_000u32 {
        let grows = step / 200 % 2 == 0;
        let draw = stream.below(10);
        if let Some(op) = taken.pop_if(|_| draw == 0 && grows) {
            let place = plain.partition_point(|&other| ops[other].order < ops[op].order);
            plain.insert(place, op);
            queue.put_back(&mut ops, op);
        } else if plain.is_empty() || (draw < 8) == grows {
            let op = ops.add(
                PageOp { order: step.into(), ..PageOp::new(NONE, stream.below(40), Kind::Write) },
                u64::MAX,
            );
            plain.push(op);
            queue.push(&mut ops, op);
        } else {
            let op = plain.remove(stream.below(plain.len() as u32) as usize);
            queue.take(&mut ops, op);
            taken.push(op);
        }
        assert!(queue.iter(&ops).eq(plain.iter().copied()));
        with_index += u32::from(queue.index.is_some());
        let page = stream.below(40);
        held_up[page as usize] = !held_up[page as usize];
        if !held_up[page as usize] {
            queue.may_go(&ops, page);
        }
        let before = u64::from(stream.below(step + 2));
        let first = queue.first(&ops, before, |op| held_up[op.page as usize]);
        let mut earlier = plain.iter().copied().filter(|&op| ops[op].order < before);
        let is_free = |&op: &u32| !held_up[ops[op].page as usize];
        assert_eq!(first, earlier.clone().find(is_free));
        let has_earlier = earlier.any(|op| ops[op].page == page);
        assert_eq!(queue.has_before(&ops, before, page), has_earlier);
    }
    assert!(with_index > 5000 && with_index < 15_000, "{with_index}");
}

#[test]
fn operations_on_one_page_keep_their_order() {
    let (mut ops, mut waiting) = (Ops::default(), DieQueues::new(2, Vec::new()));
    let add = |waiting: &mut DieQueues, ops: &mut Ops, page, kind, urgent| {
        let order = ops.send();
        let op = ops.add(PageOp { order, urgent, ..PageOp::new(NONE, page, kind) }, 0);
        waiting.push(ops, 1, op);
        op
    };
    let write = add(&mut waiting, &mut ops, 5, Kind::Write, false);
    let held_up = add(&mut waiting, &mut ops, 5, Kind::Read, false);
    let free = add(&mut waiting, &mut ops, 6, Kind::Read, false);
    let urgent = add(&mut waiting, &mut ops, 6, Kind::Write, true);
    assert!(waiting.is_empty(0) && !waiting.is_empty(1));
    assert_eq!((waiting.oldest_read(1), waiting.oldest_write(1)), (held_up, write));
    assert_eq!(waiting.first_read(&ops, 1, u64::MAX), Some(free));
    assert_eq!(waiting.first_read(&ops, 1, ops[free].order), None);
    assert!(waiting.read_before(&ops, 1, urgent) && waiting.write_before(&ops, 1, held_up));
    assert_eq!(waiting.urgent_write(&ops, 1, |_| true), None);
    waiting.take(&mut ops, 1, free);
    assert_eq!(waiting.urgent_write(&ops, 1, |_| true), Some(urgent));
    assert_eq!(waiting.urgent_write(&ops, 1, |op| op.plane > 0), None);
    waiting.take(&mut ops, 1, write);
    assert_eq!(waiting.first_read(&ops, 1, u64::MAX), Some(held_up));
}

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use super::{Link, Sent, EVENT_BURST, QUEUE_SIZE};

/// An arena that accepts batches once a test has set their fate.
#[derive(Default)]
struct Fake {
    state: Mutex<(Vec<Sent>, Vec<String>, usize)>, // what becomes of the next ones, what was taken, tries
    changed: Condvar,
}

impl Fake {
    fn send(&self, token: &str, batch: &[String]) -> Sent {
        let mut s = self.state.lock().unwrap();
        s.2 += 1;
        self.changed.notify_all();
        s = self.changed.wait_while(s, |s| s.0.is_empty()).unwrap();
        let sent = s.0.remove(0);
        if sent == Sent::Taken {
            s.1.extend(batch.iter().map(|e| format!("{token}: {e}")));
        }
        sent
    }

    fn then(&self, what: Sent) {
        self.state.lock().unwrap().0.push(what);
        self.changed.notify_all();
    }

    fn tries(&self, n: usize) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |s| s.2 < n).unwrap());
    }

    fn got(&self) -> Vec<String> {
        self.state.lock().unwrap().1.clone()
    }
}

/// Runs a test with a link and returns how many events were dropped.
fn with_link(test: impl FnOnce(&Fake, &Link)) -> (u64, Arc<Fake>) {
    let (fake, dropped) = (Arc::<Fake>::default(), Arc::<AtomicU64>::default());
    let sink = fake.clone();
    let link = Link::new(Box::new(move |token, batch| sink.send(token, batch)), dropped.clone());
    let running = link.clone();
    let thread = thread::spawn(move || running.run());
    test(&fake, &link);
    link.end();
    for _ in 0..3 {
        fake.then(Sent::Failed); // what is under way
    }
    thread.join().unwrap();
    (dropped.load(Ordering::Relaxed), fake)
}

fn push(link: &Link, token: &str, event: &str) {
    link.push(token, event.into());
}

#[test]
fn order_is_kept_through_failures() {
    let (dropped, fake) = with_link(|fake, link| {
        push(link, "a", "1");
        fake.tries(1);
        push(link, "a", "2");
        for what in [Sent::Failed, Sent::Failed, Sent::Taken] {
            fake.then(what);
        }
        fake.tries(3);
        link.flush();
    });
    assert_eq!((fake.got(), dropped), (vec!["a: 1".into(), "a: 2".into()], 0));
}

#[test]
fn events_of_a_round_that_is_over_are_not_sent_as_the_next_ones() {
    let (dropped, fake) = with_link(|fake, link| {
        push(link, "a", "1");
        fake.tries(1);
        push(link, "a", "waits");
        push(link, "b", "2"); // while 1 is under way
        fake.then(Sent::Failed);
        fake.then(Sent::Taken);
        fake.tries(2);
        link.flush();
        fake.then(Sent::Refused);
        push(link, "b", "3");
        fake.tries(3);
        link.flush();
        push(link, "b", "4"); // b is refused for good
        fake.then(Sent::Taken);
        push(link, "c", "5");
        fake.tries(4);
        link.flush();
    });
    assert_eq!((fake.got(), dropped), (vec!["b: 2".into(), "c: 5".into()], 4));
}

#[test]
fn the_oldest_of_too_many_are_dropped_and_the_pace_is_kept() {
    let (dropped, fake) = with_link(|fake, link| {
        push(link, "a", "first");
        fake.tries(1); // it is under way: the rest waits
        for i in 0..QUEUE_SIZE + 4 {
            push(link, "a", &i.to_string());
        }
        for _ in 0..3 {
            fake.then(Sent::Taken);
        }
        fake.tries(3);
        link.flush();
    });
    assert_eq!(fake.got()[..2], ["a: first".to_string(), "a: 4".into()]);
    assert!(fake.got().len() as f64 <= EVENT_BURST + 16.0);
    assert_eq!(dropped as usize + fake.got().len(), QUEUE_SIZE + 5);
}

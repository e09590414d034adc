//! Work that nobody waits for any more ends soon.
//!
//! Whoever starts work gives it a [`Token`]; loops that may take long pass a [`checkpoint`] on each
//! turn. There, work whose token has tripped unwinds, as if it had panicked, but silently and only
//! as far as [`run`]. So nothing in between has to know; what it holds locks of must be whole at
//! every checkpoint, as it has to be for panics.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

thread_local! {
    static CURRENT: RefCell<Option<Token>> = const { RefCell::new(None) };
}

/// Trips once, for all its clones.
#[derive(Debug, Clone, Default)]
pub struct Token(Arc<AtomicBool>);

/// What work unwinds with.
struct Cancelled;

/// Trips its token when it is dropped.
#[derive(Debug)]
pub struct Guard(Token);

impl Token {
    /// Trips the token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has tripped.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Trips the token when the guard is dropped.
    pub fn guard(&self) -> Guard {
        Guard(self.clone())
    }

    /// Ends the work if the token has tripped.
    fn check(&self) {
        if self.is_cancelled() {
            // Not a panic: no hook runs, nothing is printed.
            resume_unwind(Box::new(Cancelled));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What `mutex` guards. It is whole whatever ended while it was held: see above.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work`, whose checkpoints on this thread look at `token`. `None` if it was cancelled before
/// its end. A panic goes on.
pub fn run<T>(token: &Token, work: impl FnOnce() -> T) -> Option<T> {
    let before = CURRENT.replace(Some(token.clone()));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        token.check();
        work()
    }));
    CURRENT.set(before);
    match outcome {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<Cancelled>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Does `work` to its end, also if nobody waits for it any more: for what others need as well, and must
/// not be left in the middle.
pub fn to_the_end<T>(work: impl FnOnce() -> T) -> T {
    // Nobody else has this token.
    let whole = run(&Token::default(), work);
    whole.unwrap_or_else(|| resume_unwind(Box::new(Cancelled)))
}

/// Ends the work of this thread if nobody waits for it any more.
pub fn checkpoint() {
    CURRENT.with_borrow(|token| token.iter().for_each(Token::check));
}

/// Calls `each` for all items on all cores, with a checkpoint before each of them. Checkpoints in it look at
/// the token of this thread: a thread that waits for other work of another request takes items, too.
pub fn map<T: Send, R: Send>(items: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let token = CURRENT.with_borrow(|token| token.clone().unwrap_or_default());
    let whole = |item| {
        let done = run(&token, || each(item));
        done.unwrap_or_else(|| resume_unwind(Box::new(Cancelled)))
    };
    items.into_par_iter().map(whole).collect()
}

/// Calls `take` for the items in their order on this thread, up to the first break, while all cores
/// `prepare` ahead those that are not ready. An item that is not ready when its turn comes is waited for by preparing
/// others; so `prepare` must be harmless twice, and wait where it is at work on an item already.
/// With a checkpoint before each item.
pub fn for_each_prepared<T: Sync>(
    items: &[T],
    is_ready: impl Fn(&T) -> bool,
    prepare: impl Fn(&T) + Sync,
    mut take: impl FnMut(usize, &T) -> ControlFlow<()>,
) {
    let token = CURRENT.with_borrow(|token| token.clone().unwrap_or_default());
    // Behind an edit most are, and are not touched on another core.
    let to_prepare: Vec<&T> = items.iter().filter(|item| !is_ready(item)).collect();
    let next = AtomicUsize::new(0);
    let prepare_next = || {
        token.check();
        let item = to_prepare.get(next.fetch_add(1, Ordering::Relaxed));
        item.map(|item| prepare(item)).is_some()
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..rayon::current_num_threads().min(to_prepare.len() + 1) {
            // If it is cancelled, this thread comes to a checkpoint as well.
            scope.spawn(|_| {
                let _: Option<()> = run(&token, || while prepare_next() {});
            });
        }
        for (number, item) in items.iter().enumerate() {
            token.check();
            while !is_ready(item) && prepare_next() {}
            if !is_ready(item) {
                prepare(item);
            }
            if take(number, item).is_break() {
                next.store(to_prepare.len(), Ordering::Relaxed);
                break;
            }
        }
    });
}

/// Does both, side by side; the checkpoints of both look at the token of this thread.
pub fn join<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let token = CURRENT.with_borrow(|token| token.clone().unwrap_or_default());
    let (one, other) = rayon::join(|| run(&token, one), || run(&token, other));
    match (one, other) {
        (Some(one), Some(other)) => (one, other),
        _ => resume_unwind(Box::new(Cancelled)),
    }
}

/// Does `work` on one of the threads for all cores. Another thread would wake these, and wait for them, at every step
/// that is done on all. The work may wait for nothing that waits for these threads, as the first use of a `OnceLock` would
/// that computes on all cores.
pub fn on_few_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    join(work, || ()).0
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_ends_at_the_checkpoint_behind_its_cancelling() {
        let token = Token::default();
        let mut turns = 0;
        let outcome = run(&token, || {
            loop {
                checkpoint();
                turns += 1;
                if turns == 7 {
                    token.cancel();
                }
            }
        });
        assert_eq!((outcome, turns), (None::<()>, 7));
        assert_eq!(run(&token, || 1), None, "it never begins");
        checkpoint();
        assert_eq!(run(&Token::default(), || 1), Some(1));
    }

    #[test]
    fn both_sides_look_at_the_token_of_the_thread() {
        let token = Token::default();
        assert_eq!(run(&token, || join(|| 1, || 2)), Some((1, 2)));
        let wait = || {
            token.cancel();
            loop {
                checkpoint();
            }
        };
        assert_eq!(run(&token, || join(wait, || 2)), None::<((), i32)>);
    }

    #[test]
    fn a_token_reaches_all_threads() {
        let token = Token::default();
        let turns = AtomicUsize::new(0);
        let outcome = run(&token, || {
            map((0..100_000).collect(), |_: u32| {
                turns.fetch_add(1, Ordering::Relaxed);
                token.cancel();
            })
        });
        assert_eq!(outcome, None);
        assert!(turns.into_inner() < 100_000);
        assert_eq!(map(vec![1, 2], |number| number + 1), [2, 3]);
    }

    #[test]
    fn checkpoints_on_all_threads_look_at_their_own_token() {
        // Until the checkpoint ends it, or for as long as nobody wants to wait.
        let wait = || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(20) {
                checkpoint();
            }
            panic!("the checkpoint looks at another token");
        };
        let cancels = || {
            let token = Token::default();
            let outcome = run(&token, || {
                map((0..64).collect(), |number: u32| {
                    if number == 0 {
                        token.cancel();
                    }
                    wait();
                })
            });
            assert_eq!(outcome, None);
        };
        // On threads that are at other work, which nobody cancels, and the other way round.
        cancels();
        join(cancels, cancels);
        let (own, other) = (Token::default(), Token::default());
        other.cancel();
        let outcome = run(&own, || {
            join(
                || map((0..1000).collect(), |_: u32| checkpoint()).len(),
                || run(&other, checkpoint),
            )
        });
        assert_eq!(outcome, Some((1000, None)));
    }

    #[test]
    fn items_are_taken_in_their_order_and_up_to_a_break() {
        let items: Vec<OnceLock<usize>> = (0..1000).map(|_| OnceLock::new()).collect();
        let numbers: Vec<(usize, &OnceLock<usize>)> = items.iter().enumerate().collect();
        let mut taken = Vec::new();
        for_each_prepared(
            &numbers,
            |(_, item)| item.get().is_some(),
            |&(number, item)| {
                item.get_or_init(|| number);
            },
            |number, (_, item)| {
                taken.push((number, item.get().copied()));
                match number {
                    699 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            },
        );
        let all: Vec<_> = (0..700).map(|number| (number, Some(number))).collect();
        assert_eq!(taken, all);
    }

    #[test]
    fn nothing_is_taken_behind_the_cancelling() {
        let (token, mut last) = (Token::default(), 0);
        let outcome = run(&token, || {
            let take = |number, (): &()| {
                last = number;
                if number == 7 {
                    token.cancel();
                }
                ControlFlow::Continue(())
            };
            for_each_prepared(&[(); 100_000], |()| false, |()| (), take);
        });
        assert_eq!((outcome, last), (None, 7));
    }

    #[test]
    fn an_inner_token_does_not_outlive_its_work() {
        let (outer, inner) = (Token::default(), Token::default());
        inner.cancel();
        let outcome = run(&outer, || {
            assert_eq!(run(&inner, checkpoint), None);
            checkpoint();
            7
        });
        assert_eq!(outcome, Some(7));
    }

    #[test]
    fn a_guard_trips_its_token() {
        let token = Token::default();
        let guard = token.guard();
        assert!(!token.is_cancelled());
        drop(guard);
        assert!(token.is_cancelled());
    }

    #[test]
    #[should_panic(expected = "a test of panics")]
    fn a_panic_goes_on() {
        run(&Token::default(), || panic!("a test of panics"));
    }
}

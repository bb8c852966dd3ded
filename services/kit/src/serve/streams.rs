//! Where the requests of an HTTP/2 connection are carried out: each in a task of its own, and refusals in the
//! connection's, because a task would cost about as much as the refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use hyper::rt::Executor;

/// Carries out the requests of one connection. Clones share the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamExecutor {
    is_refused: Arc<AtomicBool>,
}

impl StreamExecutor {
    /// The next request carried out is a refusal. The connection hands each request on before it takes the next.
    pub(super) fn expect_refusal(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        if !self.is_refused.swap(false, Ordering::Relaxed) {
            tokio::spawn(stream);
            return;
        }
        let mut refusal = Box::pin(stream);
        if refusal.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            tokio::spawn(refusal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_refusal_is_carried_out_at_once_and_only_that_one() {
        let (executor, count) = (StreamExecutor::default(), Arc::new(AtomicBool::new(false)));
        let stream = || {
            let count = Arc::clone(&count);
            async move { count.store(true, Ordering::Relaxed) }
        };
        executor.expect_refusal();
        executor.execute(stream());
        assert!(count.swap(false, Ordering::Relaxed));
        executor.execute(stream());
        assert!(!count.load(Ordering::Relaxed));
        tokio::task::yield_now().await;
        assert!(count.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn a_refusal_that_waits_is_finished_by_a_task() {
        let (executor, (sender, receiver)) = (StreamExecutor::default(), tokio::sync::oneshot::channel());
        executor.expect_refusal();
        executor.execute(async move {
            tokio::task::yield_now().await;
            let _receiver_gone = sender.send(());
        });
        assert_eq!(receiver.await, Ok(()));
    }
}

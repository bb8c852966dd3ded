//! Which sockets can be read, level-triggered.

#[cfg(target_os = "linux")]
pub(super) use linux::Readiness;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Readiness;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::MaybeUninit;
    use std::num::NonZeroU64;
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::Duration;

    use rustix::event::{Timespec, epoll};

    /// Sockets, each with a number.
    pub(in super::super) struct Readiness(OwnedFd);

    impl Readiness {
        pub(in super::super) fn new() -> io::Result<Readiness> {
            Ok(Readiness(epoll::create(epoll::CreateFlags::CLOEXEC)?))
        }

        /// Where this is refused, waits are a little longer.
        pub(in super::super) fn prepare_thread(&self) {
            let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
        }

        pub(in super::super) fn add(&mut self, socket: impl AsFd, number: usize) -> io::Result<()> {
            let data = epoll::EventData::new_u64(number as u64);
            Ok(epoll::add(&self.0, socket, data, epoll::EventFlags::IN)?)
        }

        /// The kernel forgets a socket that is closed.
        pub(in super::super) fn remove(&mut self, _number: usize) {}

        /// The sockets that can be read within this time, which is shorter than a second.
        pub(in super::super) fn wait(&mut self, patience: Duration) -> io::Result<Vec<usize>> {
            let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
            let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; 256];
            let (ready, _) = epoll::wait(&self.0, &mut events, Some(&patience))?;
            Ok(ready.iter().map(|event| event.data.u64() as usize).collect())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Sockets, each with a number.
    pub(in super::super) struct Readiness(Vec<(OwnedFd, usize)>);

    impl Readiness {
        pub(in super::super) fn new() -> io::Result<Readiness> {
            Ok(Readiness(Vec::new()))
        }

        pub(in super::super) fn prepare_thread(&self) {}

        pub(in super::super) fn add(&mut self, socket: impl AsFd, number: usize) -> io::Result<()> {
            self.0.push((socket.as_fd().try_clone_to_owned()?, number));
            Ok(())
        }

        pub(in super::super) fn remove(&mut self, number: usize) {
            self.0.retain(|(_, known)| *known != number);
        }

        /// The sockets that can be read within this time, which is shorter than a second.
        pub(in super::super) fn wait(&mut self, patience: Duration) -> io::Result<Vec<usize>> {
            let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
            let mut sockets: Vec<_> =
                self.0.iter().map(|(socket, _)| PollFd::new(socket, PollFlags::IN)).collect();
            poll(&mut sockets, Some(&patience))?;
            let ready = sockets.iter().zip(&self.0).filter(|(socket, _)| !socket.revents().is_empty());
            Ok(ready.map(|(_, (_, number))| *number).collect())
        }
    }
}

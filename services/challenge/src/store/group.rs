//! Commands that a writer runs in one transaction.

use super::command::Command;

/// A message to a writer.
pub(super) enum WriterMessage {
    Command(Command),
    Close,
}

/// Commands for one transaction.
pub(super) struct CommandGroup {
    pub(super) commands: Vec<Command>,
    /// Whether the store is being closed.
    pub(super) is_last: bool,
}

impl CommandGroup {
    /// A group that begins with the commands of an earlier group that failed; they are all buffered events.
    pub(super) fn retrying(commands: Vec<Command>) -> Self {
        Self { commands, is_last: false }
    }

    pub(super) fn add(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Command(command) => self.commands.push(command),
            WriterMessage::Close => self.is_last = true,
        }
    }
}

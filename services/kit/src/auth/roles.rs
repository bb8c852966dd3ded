//! Which subjects of tokens may do more than act for themselves.

use std::collections::BTreeSet;

use crate::env::Env;

/// What a subject may do. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Act for itself.
    User,
    /// Act for every user.
    Service,
    /// Operate the service.
    Admin,
}

/// The subjects with a role above [`Role::User`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    services: BTreeSet<String>,
    admins: BTreeSet<String>,
}

impl Roles {
    /// The subjects that `SERVICE_SUBJECTS` and `ADMIN_SUBJECTS` name, with commas between them.
    #[must_use]
    pub fn read(env: &Env) -> Self {
        Self { services: subjects(env, "SERVICE_SUBJECTS"), admins: subjects(env, "ADMIN_SUBJECTS") }
    }

    /// The role of a token's subject.
    #[must_use]
    pub fn role(&self, subject: &str) -> Role {
        match subject {
            _ if self.admins.contains(subject) => Role::Admin,
            _ if self.services.contains(subject) => Role::Service,
            _ => Role::User,
        }
    }
}

fn subjects(env: &Env, name: &str) -> BTreeSet<String> {
    let names = env.text(name).unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_the_role_that_names_them_and_others_none() {
        let roles =
            Roles::read(&Env::from_pairs([("SERVICE_SUBJECTS", "a, b,,both"), ("ADMIN_SUBJECTS", "both")]));
        let of = ["a", "b", "both", "", "c", "a, b"].map(|subject| roles.role(subject));
        assert_eq!(of, [Role::Service, Role::Service, Role::Admin, Role::User, Role::User, Role::User]);
        assert!(Role::Admin > Role::Service && Role::Service > Role::User);
    }
}

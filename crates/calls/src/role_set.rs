//! All roles of a function as bits, for readers that ask at each call. The names are compared once.

use crate::generated::behaviour::ROLE_PATTERNS;
use crate::role::{Role, has_role, roles};

/// Roles of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoleSet(u128);

/// The last role has a bit.
const _: () = assert!((Role::HostFunction as u32) < u128::BITS);

impl RoleSet {
    /// The roles of the function of this name.
    pub fn of(name: &str) -> RoleSet {
        let mut set = roles(name).fold(0, |set, (role, _)| set | bit(role));
        for (_, role) in ROLE_PATTERNS {
            if set & bit(*role) == 0 && has_role(name.as_bytes(), *role) {
                set |= bit(*role);
            }
        }
        RoleSet(set)
    }

    /// Whether the function has this role.
    pub fn has(self, role: Role) -> bool {
        self.0 & bit(role) != 0
    }

    /// Whether it has one of these.
    pub fn has_any(self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has(*role))
    }
}

const fn bit(role: Role) -> u128 {
    1 << role as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set says the same as the names.
    #[test]
    fn as_by_name() {
        let names = crate::FUNCTIONS.iter().copied().chain(["ncclGetErrorString", "cuMemcpyHtoD_v2_ptds", ""]);
        let listed = [Role::Copy, Role::Query, Role::SetsUp, Role::ReturnsText, Role::Launch, Role::StartUp];
        for name in names {
            let set = RoleSet::of(name);
            for role in listed {
                assert_eq!(set.has(role), has_role(name.as_bytes(), role), "{name}: {role:?}");
            }
            assert_eq!(set.has_any(&listed), listed.iter().any(|role| has_role(name.as_bytes(), *role)), "{name}");
        }
    }
}

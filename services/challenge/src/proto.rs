//! Messages and services made from `proto/` at build time, under the packages that existing publishers call.

#![allow(missing_docs, clippy::pedantic, reason = "generated from the .proto files, which are documented")]

/// `accelbyte.iam.account.v1`.
pub mod account {
    tonic::include_proto!("accelbyte.iam.account.v1");
}

/// `accelbyte.social.statistic.v1`.
pub mod statistic {
    tonic::include_proto!("accelbyte.social.statistic.v1");
}

//! A PostgreSQL server that requires TLS.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;

use observe::identify_postgres;
use peers::postgres::{ADMIN, Cluster, DATABASE};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// An authority of its own, and a certificate of `localhost` from it.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Files {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let authority = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let server = server.signed_by(&key, &authority).unwrap();
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let files = Files { folder };
        fs::write(files.path("authority.pem"), authority_pem).unwrap();
        fs::write(files.path("server.pem"), server.pem()).unwrap();
        fs::write(files.path("server.key"), key.serialize_pem()).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The server's files must be its user's own; it takes no key that others may read.
    fn give_to(&self, cluster: &Cluster) {
        let owner = fs::metadata(cluster.socket_folder()).unwrap();
        for name in ["server.pem", "server.key"] {
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
            chown(self.path(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        }
    }
}

fn with_tls(files: &Files) -> Cluster {
    let mut cluster = Cluster::start().unwrap();
    files.give_to(&cluster);
    for (setting, value) in [
        ("ssl_cert_file", files.path("server.pem").display().to_string()),
        ("ssl_key_file", files.path("server.key").display().to_string()),
        ("ssl", "on".to_owned()),
    ] {
        cluster.sql(DATABASE, &format!("ALTER SYSTEM SET {setting} = '{value}'")).unwrap();
    }
    cluster.stop().unwrap();
    cluster.start_again().unwrap();
    cluster
}

#[test]
fn a_server_is_asked_under_tls_as_its_url_says() {
    let files = Files::new();
    let cluster = with_tls(&files);
    let ask = |options: &str| {
        let port = cluster.port();
        identify_postgres(&format!("postgresql://{ADMIN}@localhost:{port}/{DATABASE}{options}"))
    };
    let authority = files.path("authority.pem").display().to_string();
    for taken in [
        String::new(),
        "?sslmode=disable".to_owned(),
        "?sslmode=require".to_owned(),
        format!("?sslmode=verify-full&sslrootcert={authority}"),
    ] {
        assert!(ask(&taken).unwrap().contains_key("postgres_version"), "{taken}");
    }
    let stranger = ask("?sslmode=verify-full").unwrap_err();
    assert!(
        stranger.contains("UnknownIssuer") || stranger.contains("invalid peer certificate"),
        "{stranger}"
    );
    let port = cluster.port();
    let other_name = format!(
        "postgresql://{ADMIN}@127.0.0.1:{port}/{DATABASE}?sslmode=verify-full&sslrootcert={authority}"
    );
    let misnamed = identify_postgres(&other_name).unwrap_err();
    assert!(misnamed.contains("certificate not valid for name"), "{misnamed}");
}

#[test]
fn what_is_watched_under_tls_is_encrypted() {
    let files = Files::new();
    let cluster = with_tls(&files);
    let url = format!("postgresql://{ADMIN}@localhost:{}/{DATABASE}?sslmode=require", cluster.port());
    let every = std::time::Duration::from_secs(1);
    let mut looking = crate::looking::Looking::new(observe::postgres("shop", &url, &[], every).unwrap());
    assert!(looking.look().value("pg_connections", "idle").is_some());
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE application_name = 'plimsoll'";
    assert_eq!(cluster.sql(DATABASE, encrypted).unwrap().trim(), "t");
}

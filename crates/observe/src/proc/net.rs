//! `/proc/net/tcp`, `/proc/net/tcp6` and the links of `/proc/PID/fd`.

/// TCP_LISTEN as the kernel prints it.
const LISTEN: &str = "0A";

/// The inodes of the sockets that listen on `port` of any local address, in the order of the table.
pub(crate) fn listening_inodes(table: &str, port: u16) -> Vec<u64> {
    table.lines().skip(1).filter_map(|line| listening_inode(line, port)).collect()
}

fn listening_inode(line: &str, port: u16) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?.parse().ok()?;
    let (_, local_port) = local.rsplit_once(':')?;
    let same_port = u16::from_str_radix(local_port, 16) == Ok(port);
    (state == LISTEN && same_port && inode != 0).then_some(inode)
}

/// The inode in a link such as `socket:[123]`.
pub(crate) fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V4: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1065 1 0 100 0 0 10 0
   1: 0100007F:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1066 1 0 100 0 0 10 0
   2: 0100007F:1F40 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 1067 1 0 20 4 30 10 -1
   3: 0200007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1068 1 0 100 0 0 10 0
";
    const V6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2065 1 0 100 0 0 10 0
";

    #[test]
    fn finds_listeners_of_any_address_and_no_connections() {
        assert_eq!(listening_inodes(V4, 8000), [1065, 1068]);
        assert_eq!(listening_inodes(V4, 8001), [1066]);
        assert!(listening_inodes(V4, 40_000).is_empty());
        assert_eq!(listening_inodes(V6, 8000), [2065]);
    }

    #[test]
    fn reads_socket_links() {
        assert_eq!(socket_inode("socket:[1065]"), Some(1065));
        assert_eq!(socket_inode("anon_inode:[eventpoll]"), None);
        assert_eq!(socket_inode("/tmp/socket:[1]"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,300}", port in any::<u16>()) {
            let _ = listening_inodes(&text, port);
            let _ = listening_inodes(&format!("head\n{text}"), port);
            let _ = socket_inode(&text);
        }
    }
}

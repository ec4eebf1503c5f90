//! Which addresses are on the public internet.
//!
//! Everything else (this machine, its network, the metadata services of clouds) may trust whoever can reach it, and
//! a page or a model must not borrow that trust.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Azure gives machines their configuration here, at an address that is otherwise public.
const AZURE_WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let reserved = match address.octets() {
        // This network, private, this machine, link-local (and most clouds' metadata).
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] => true,
        [172, second, ..] => matches!(second, 16..=31),
        // Carriers' own.
        [100, second, ..] => matches!(second, 64..=127),
        // Protocol assignments, documentation, relays of 6to4, benchmarks.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => true,
        [198, 51, 100, _] | [203, 0, 113, _] => true,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => true,
        _ => false,
    };
    !reserved && address != AZURE_WIRE_SERVER
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address that carries another leads to that one.
    if let Some(inner) = carried(address) {
        return is_public_v4(inner);
    }
    match address.segments() {
        // Documentation; Teredo, benchmarks and other assignments of protocols.
        [0x2001, 0xdb8, ..] | [0x2001, 0..=0x1ff, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // All that is given to networks of the public internet.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// The IPv4 address inside: mapped, compatible, translated (NAT64), 6to4.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}

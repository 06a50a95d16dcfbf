import Glibc
import Testing

@testable import CurlewTransport

@Suite("Address guard")
struct AddressGuardTests {
    private func isPublic(_ text: String) -> Bool {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return AddressGuard.isPublic(v4: UInt32(bigEndian: v4.s_addr)) }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return true }
        return AddressGuard.isPublic(v6: withUnsafeBytes(of: v6) { Array($0) })
    }

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "fc00::1",
        "fd12::1", "ff02::1", "2001:db8::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "100::1",
        "fec0::1",
    ])
    func nonPublicAddressesAreRefused(_ address: String) { #expect(!isPublic(address)) }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.17.0.1",
        "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2002:808:808::",
    ])
    func publicAddressesAreAccepted(_ address: String) { #expect(isPublic(address)) }
}

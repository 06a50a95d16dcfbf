internal import CurlewCore
internal import Foundation
internal import Testing

/// The releases of libcurl at which each quirk begins and ends.
@Suite("libcurl's quirks", .timeLimit(.minutes(4)))
struct LibcurlQuirksTests {
    /// Releases of libcurl with and without one quirk.
    struct Boundary: Sendable, CustomTestStringConvertible {
        let quirk: String
        let without: [String]
        let with: [String]

        var testDescription: String { quirk }
    }

    static let boundaries = [
        Boundary(quirk: "asksBeforeSending", without: ["7.76.0", "7.79.1"], with: ["7.80.0", "8.20.0"]),
        Boundary(quirk: "takesProtocolsAsText", without: ["7.76.0", "7.84.0"], with: ["7.85.0", "8.20.0"]),
        Boundary(quirk: "quitsWithoutResolver", without: ["7.76.0", "7.86.0"], with: ["7.87.0", "8.20.0"]),
        Boundary(quirk: "racesQUIC", without: ["7.76.0", "7.87.0"], with: ["7.88.0", "8.20.0"]),
        Boundary(quirk: "suppressesSIGPIPE", without: ["7.76.0", "7.87.0"], with: ["7.88.0", "8.20.0"]),
        Boundary(quirk: "bindsInterfaceWithAddress", without: ["7.76.0", "8.8.0"], with: ["8.9.0", "8.20.0"]),
        Boundary(quirk: "hasCertificateCache", without: ["7.86.0", "8.21.0"], with: ["7.87.0", "8.20.0"]),
        Boundary(quirk: "closesUnseen", without: ["7.87.0", "8.2.0"], with: ["7.88.0", "8.1.2"]),
        Boundary(quirk: "tracesDoHToStderr", without: ["8.4.0", "8.20.0"], with: ["7.76.0", "8.3.0"]),
        Boundary(quirk: "takesUnaskedBytes", without: ["7.79.1", "8.0.0"], with: ["7.80.0", "7.88.1"]),
        Boundary(quirk: "failsShortBodies", without: ["7.76.0", "8.6.0"], with: ["8.7.0", "8.20.0"]),
        Boundary(quirk: "sendsTrailersOnce", without: ["8.7.0", "8.20.0"], with: ["7.76.0", "8.6.0"]),
        Boundary(quirk: "forgetsNextAddress", without: ["8.8.0", "8.20.0"], with: ["7.76.0", "8.7.1"]),
        Boundary(quirk: "readsWhileSending", without: ["7.76.0", "8.9.1"], with: ["8.10.0", "8.20.0"]),
        Boundary(quirk: "waitsForOthersResponses", without: ["8.12.1", "8.16.0"], with: ["8.13.0", "8.15.0"]),
        Boundary(quirk: "keepsFreedField", without: ["7.82.0", "8.1.1"], with: ["7.83.0", "8.1.0"]),
        Boundary(quirk: "readsWhilePaused", without: ["8.4.0", "8.6.0"], with: ["8.5.0"]),
        Boundary(quirk: "garblesTransferCodings", without: ["8.4.0", "8.14.0"], with: ["8.5.0", "8.13.0"]),
        Boundary(quirk: "cannotReusePlainHTTP2", without: ["7.87.0", "8.0.0"], with: ["7.88.0", "7.88.1"]),
        Boundary(quirk: "losesFrames", without: ["8.0.0", "8.20.0"], with: ["7.76.0", "7.88.1"]),
        Boundary(quirk: "hidesBrokenConnections", without: ["8.1.0", "8.20.0"], with: ["7.76.0", "8.0.1"]),
        Boundary(quirk: "takesTicketsForEnd", without: ["8.2.0", "8.20.0"], with: ["7.76.0", "8.1.2"]),
        Boundary(quirk: "triesAgainSilentlyOnRefusal", without: ["8.1.0", "8.20.0"], with: ["7.76.0", "8.0.1"]),
        Boundary(quirk: "readsQUICWhilePaused", without: ["8.18.0", "8.20.0"], with: ["7.76.0", "8.17.0"]),
        Boundary(quirk: "acceptsAnyStapleWithGnuTLS", without: ["8.10.0", "8.20.0"], with: ["7.76.0", "8.9.1"]),
        Boundary(quirk: "sendsPings", without: ["7.76.0", "8.9.1"], with: ["8.10.0", "8.20.0"]),
        Boundary(quirk: "ignoresQUICChainWithGnuTLS", without: ["8.18.0", "8.20.0"], with: ["7.76.0", "8.17.0"]),
    ]

    @Test(arguments: boundaries) func quirkAppliesOnlyToItsReleases(_ boundary: Boundary) {
        for version in boundary.without {
            #expect(quirks(of: version)[boundary.quirk] == false, "\(version)")
        }
        for version in boundary.with {
            #expect(quirks(of: version)[boundary.quirk] == true, "\(version)")
        }
    }

    @Test func everyQuirkIsInTheTable() {
        #expect(Set(quirks(of: "8.14.1").keys) == Set(Self.boundaries.map(\.quirk)))
    }

    private func quirks(of version: String) -> [String: Bool] {
        let number = version.split(separator: ".").reduce(0) { $0 << 8 | (Int($1) ?? 0) }
        let capabilities = Capabilities(
            version: version, versionNumber: number, features: [], protocols: [], tlsBackend: nil,
            hasCustomResolver: false)
        var quirks: [String: Bool] = [:]
        for (label, value) in Mirror(reflecting: capabilities.quirks).children {
            if let label { quirks[label] = value as? Bool }
        }
        return quirks
    }
}

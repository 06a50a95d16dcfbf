import Foundation
import Testing

@testable import CurlewCore

@Suite("Alt-Svc fields")
struct AltSvcFieldTests {
    typealias Alternative = AltSvcField.Alternative

    private static func h3(_ port: Int, _ host: String? = nil, ma: Int64 = 86_400, persist: Bool = false) -> Alternative
    {
        Alternative(protocolID: Array("h3".utf8), host: host, port: port, maxAge: ma, persists: persist)
    }

    private static let values: [(String, [Alternative])] = [
        // The examples of RFC 7838, section 3.
        (#"h2=":8000""#, [Alternative(protocolID: Array("h2".utf8), port: 8000)]),
        (#"h2="new.example.org:80""#, [Alternative(protocolID: Array("h2".utf8), host: "new.example.org", port: 80)]),
        (
            #"h2="alt.example.com:8000", h2=":443""#,
            [
                Alternative(protocolID: Array("h2".utf8), host: "alt.example.com", port: 8000),
                Alternative(protocolID: Array("h2".utf8), port: 443),
            ]
        ),
        // Escaped protocol names, the first two from the RFC's table.
        (#"w%3Dx%3Ay%3Az%23=":443""#, [Alternative(protocolID: Array("w=x:y:z#".utf8), port: 443)]),
        (#"x%25y=":443""#, [Alternative(protocolID: Array("x%y".utf8), port: 443)]),
        (#"%683=":443""#, [h3(443)]),
        (#"h3=":443"; ma=3600"#, [h3(443, ma: 3600)]),
        (#"h3=":443"; ma=3600; persist=1"#, [h3(443, ma: 3600, persist: true)]),
        (#"h3=":443";ma="60";PERSIST="1""#, [h3(443, ma: 60, persist: true)]),
        (#"h3=":443"; persist=2; unknown=x; ma=nonsense"#, [h3(443)]),
        (#"h3=":443"; ma=1; ma=2; persist=0; persist=1"#, [h3(443, ma: 1)]),
        (#"h3=":443"; ma=99999999999999999999"#, [h3(443, ma: 2_147_483_648)]),
        (#"h3="[2001:DB8::1]:443""#, [h3(443, "2001:db8::1")]),
        (#"h3="Other.Example:0443""#, [h3(443, "other.example")]),
        (#"h3="a\.b:443""#, [h3(443, "a.b")]),
        (
            #" , h3=":443" ,, h3=":443"; ma=5 , h3-29=":443""#,
            [h3(443), Alternative(protocolID: Array("h3-29".utf8), port: 443)]
        ),
        // An invalid authority invalidates only its own alternative.
        (
            #"h3="443", h3=":0", h3=":65536", h3=":", h3=":4 4", h3="a b:1", h3="u@h:1", h3="a/b:1", h3="::1:443", h3=":7""#,
            [h3(7)]
        ),
        (#"h%3=":443", %zz=":443", h3=":8""#, [h3(8)]),
        ("", []),
    ]

    @Test(arguments: values)
    func altSvcFieldIsParsed(_ value: String, _ expected: [Alternative]) {
        #expect(AltSvcField(value) == .alternatives(expected))
    }

    @Test(arguments: ["clear", " clear ", #"h3=":443", clear"#, #"clear, h3=":443""#])
    func clearValueIsRecognized(_ value: String) { #expect(AltSvcField(value) == .clear) }

    @Test(arguments: [
        "h3", "Clear", "h3=", "h3=443", #"h3=":443"#, #"h3=":443" x"#, #"h3=":443"; ma"#, #"h3=":443"; ma="#,
        #"h3=":443"; =1"#,
        #"h3 =":443""#, #"h3= ":443""#, "\"h3\"=\":443\"", #"h3=":443"; ma="1"#, "\u{0}", "clear=", "clear x",
    ])
    func malformedAltSvcFieldIsIgnored(_ value: String) { #expect(AltSvcField(value) == nil) }

    @Test func numberOfAltSvcValuesIsLimited() {
        let value = (1...200).map { "h3=\":\($0)\"" }.joined(separator: ",")
        guard case .alternatives(let found) = AltSvcField(value) else {
            Issue.record("not understood")
            return
        }
        #expect(found.map(\.port) == Array(1...AltSvcField.maximumCount))
        #expect(AltSvcField(String(repeating: " ", count: AltSvcField.maximumLength + 1)) == nil)
    }

    /// Parsing must not trap, whatever a server sends.
    @Test func malformedAltSvcFieldNeverTraps() {
        let whole = Array(#"h3="[::1]:443"; ma=60; persist=1, w%3Dx="a.b:8";x="q\"y", clear"#.utf8)
        for end in 0...whole.count { _ = AltSvcField(String(decoding: whole[..<end], as: UTF8.self)) }
        for index in whole.indices {
            for byte in [UInt8](0...255) {
                var changed = whole
                changed[index] = byte
                _ = AltSvcField(String(decoding: changed, as: UTF8.self))
            }
        }
    }
}

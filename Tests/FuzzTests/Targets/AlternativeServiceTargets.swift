#if !FUZZING
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static let alternatives = [
        FuzzTarget("alt-svc") { input throws(BrokenProperty) in
            guard let field = AltSvcField(input.text) else { return }
            if case .alternatives(let alternatives) = field {
                try require(alternatives.count <= AltSvcField.maximumCount, "not more are read than are of use")
                for alternative in alternatives { try checkAlternative(alternative) }
                let text = alternatives.map(written).joined(separator: ", ")
                if text.utf8.count <= AltSvcField.maximumLength {
                    try require(AltSvcField(text), equals: field, "a field is read as it was written: \(text)")
                }
            }
            try checkList(input.text, field)
        }
    ]

    private static func checkAlternative(_ alternative: AltSvcField.Alternative) throws(BrokenProperty) {
        try require((1...65_535).contains(alternative.port), "a port can be connected to")
        try require((0...DeltaSeconds.maximum).contains(alternative.maxAge), "an age is within its bounds")
        guard let host = alternative.host else { return }
        try require(host == ASCII.lowercased(host), "a host is in small letters")
        try require(!host.isEmpty && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a host is printable")
        // The host becomes a part of a line for libcurl, which separates the parts with colons.
        try require(!host.contains(":") || IPAddress(host) != nil, "only addresses have colons")
    }

    private static func written(_ alternative: AltSvcField.Alternative) -> String {
        let identifier = alternative.protocolID.map { byte in
            if ASCII.isTokenByte(byte), byte != UInt8(ascii: "%") { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }
        // A quoted string must escape these characters.
        let host = (alternative.host ?? "").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let authority = host.contains(":") ? "[\(host)]" : host
        return "\(identifier.joined())=\"\(authority):\(alternative.port)\"; ma=\(alternative.maxAge)"
            + (alternative.persists ? "; persist=1" : "")
    }

    private static func checkList(_ text: String, _ field: AltSvcField) throws(BrokenProperty) {
        let origin = SecureOrigin(host: "a.example", port: 443)
        var list = AlternativeServiceList()
        _ = list.receive(["Alt-Svc": #"h3=":1"; ma=9"#], from: origin, at: now)
        _ = list.receive(["Alt-Svc": text], from: origin, at: now)
        try require(list.entries.count <= 1, "a field speaks of its origin alone")
        let services = list.entries[origin]?.services ?? []
        try require(services.count <= AlternativeServiceList.maximumServices, "few alternatives are kept")
        try require(services.allSatisfy { $0.expires > now }, "what has expired is not kept")
        if field == .clear { try require(services.isEmpty, "clear clears") }
        let route = list.route(to: origin, allowing: .sameHost, at: now)
        try require(route?.host == nil, "another host is used only where that is allowed")
        if let route {
            list.ended(route, .failed, at: now)
            try require(list.route(to: origin, allowing: .sameHost, at: now) != route, "what is broken is avoided")
        }
    }
}

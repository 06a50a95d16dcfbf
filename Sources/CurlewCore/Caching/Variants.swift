/// How responses under one key are told apart by the request fields that `Vary` names (RFC 9111, 4.1).
package enum Variants {
    /// A short text for a long one that must not be kept, such as the value of a credential.
    package typealias Digest = (String) -> String

    /// The most entries that a store keeps for one key. A server whose responses vary by a field that differs in each request
    /// would otherwise make the key grow without a limit, and every lookup reads all of its entries. Beyond it the one that was
    /// used least recently goes, or the oldest where a store does not know.
    package static let maximumPerKey = 16

    /// The names that a response varies by, in lower case and sorted; nil if it varies by more than fields (`*`), or if
    /// `Vary` cannot be read, so that the response might be another user's.
    package static func fields(of headers: HTTPHeaders) -> [String]? {
        guard let value = headers.combinedValue(for: "Vary") else { return [] }
        var names: Set<String> = []
        for member in value.split(separator: ",") {
            let name = ASCII.lowercased(ASCII.trimmingBlanks(String(member)))
            if name.isEmpty { continue }
            guard name != "*", name.isHTTPToken else { return nil }
            names.insert(name)
        }
        return names.sorted()
    }

    /// The variant to which a request belongs, among those that differ in these fields. Values are digested as they go in:
    /// they may be credentials.
    package static func name(of request: HTTPHeaders, varyingBy fields: [String], digest: Digest) -> String {
        guard !fields.isEmpty else { return "" }
        return digest(
            fields.map { name in "\(name):\(normalised(request.values(for: name), of: name) ?? "\n")\n" }.joined())
    }

    /// Fields whose values are lists of tokens with weights. Their own definitions (RFC 9110, 12.5) say what makes no
    /// difference: empty members, the case of tokens, blanks around `;`, and the order of members with the same weight.
    private static let weighted: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

    /// The values of a field as one text that is the same for the same list; nil where the field is missing.
    ///
    /// Two requests that a server may answer differently must not have the same text. What a field means is known of a few
    /// alone: of the others only the blanks around commas, and the lines that values come in, make no difference.
    static func normalised(_ values: [String], of name: String) -> String? {
        guard !values.isEmpty else { return nil }
        var members = values.flatMap(members)
        if weighted.contains(name) {
            members = members.filter { !$0.isEmpty }.map { weightedMember($0, isMediaRange: name == "accept") }
            // Any parameter may be a weight. Where a member is there twice with two, the order might decide.
            if !members.contains(where: { $0.contains(";") }) { members.sort() }
        }
        return members.joined(separator: ",")
    }

    /// A parameter of a media range may have a value whose case matters, and quotes around blanks.
    private static func weightedMember(_ member: String, isMediaRange: Bool) -> String {
        guard !member.contains("\"") else { return member }
        let parts = member.split(separator: ";", omittingEmptySubsequences: false).map {
            ASCII.trimmingBlanks(String($0))
        }
        return parts.enumerated()
            .map { index, part in index == 0 || !isMediaRange ? ASCII.lowercased(part) : part }
            .joined(separator: ";")
    }

    /// Split at the commas outside quotes, without blanks at the ends.
    private static func members(of value: String) -> [String] {
        var scanner = ByteScanner(value)
        var (members, member): ([String], [UInt8]) = ([], [])
        var isQuoted = false
        func end() { members.append(String(decoding: ASCII.trimmingBlanks(member[...]), as: UTF8.self)) }
        while let byte = scanner.next() {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if isQuoted, byte == UInt8(ascii: "\\"), let next = scanner.next() {
                member += [byte, next]
            } else if !isQuoted, byte == UInt8(ascii: ",") {
                end()
                member = []
            } else {
                member.append(byte)
            }
        }
        end()
        return members
    }

    /// Whether the variant of a response says whose it is: not where it varies by credentials that stand in no field, because
    /// a transport adds them.
    package static func canTell(_ request: CacheRequest, from head: ResponseHead) -> Bool {
        // Asked first: few requests need more.
        guard request.hidesCredentials else { return true }
        return fields(of: head.headers).map { canTell(request, varyingBy: $0) } ?? false
    }

    private static func canTell(_ request: CacheRequest, varyingBy fields: [String]) -> Bool {
        !request.hidesCredentials || !fields.contains { $0 == "authorization" || $0 == "proxy-authorization" }
    }

    /// The entry that answers a request: of those that match the one that came last.
    package static func select(_ entries: [StoredEntry], for request: CacheRequest, digest: Digest) -> StoredEntry? {
        var names: [[String]: String] = [:]
        var best: StoredEntry?
        for stored in entries where stored.entry.key == request.key {
            let entry = stored.entry
            let fields = entry.varyingFields
            guard canTell(request, varyingBy: fields) else { continue }
            if !fields.isEmpty, names[fields] == nil {
                names[fields] = Self.name(of: request.headers, varyingBy: fields, digest: digest)
            }
            guard entry.variant == names[fields] ?? "", entry.suits(request) else { continue }
            if let last = best?.entry.response.responseTime, last > entry.response.responseTime { continue }
            best = stored
        }
        return best
    }
}

extension CacheEntry {
    /// Whether the body is in the form that the request wants: with its content coding or without.
    func suits(_ request: CacheRequest) -> Bool {
        response.isContentDecoded == request.decodesContent || !response.head.headers.contains(name: "Content-Encoding")
    }
}

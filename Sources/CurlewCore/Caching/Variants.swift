/// Distinguishes responses with one key by the request fields that `Vary` names (RFC 9111, 4.1).
package enum Variants {
    /// Returns a short text in place of one that must not be kept, such as the value of a credential.
    package typealias Digest = (String) -> String

    /// The most entries that a store keeps for one key. Every lookup reads all entries of a key, and a server that
    /// varies by a field with a new value in each request would add entries without limit. Beyond the limit a store
    /// evicts the least recently used entry, or the oldest one if it does not track uses.
    package static let maximumPerKey = 16

    /// The field names that a response varies by, in lower case and sorted. `nil` if it varies by more than fields
    /// (`*`), or if `Vary` cannot be parsed and the response might belong to another user.
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

    /// Returns the name of the variant to which a request belongs if responses vary by `fields`. The values are
    /// digested, because they may be credentials.
    package static func name(of request: HTTPHeaders, varyingBy fields: [String], digest: Digest) -> String {
        guard !fields.isEmpty else { return "" }
        return digest(
            fields.map { name in "\(name):\(normalised(request.values(for: name), of: name) ?? "\n")\n" }.joined())
    }

    /// Fields whose values are lists of tokens with weights. By their definitions (RFC 9110, 12.5) the following makes
    /// no difference: empty members, the case of tokens, blanks around `;`, and the order of members with equal
    /// weights.
    private static let weighted: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

    /// Joins the values of a field into one text that is equal for equivalent lists; `nil` if the field is missing.
    ///
    /// Two requests that a server may answer differently must not have equal texts. The meaning of most fields is
    /// unknown. For them only blanks around commas and the division into lines are ignored.
    private static func normalised(_ values: [String], of name: String) -> String? {
        guard !values.isEmpty else { return nil }
        var members = values.flatMap(members)
        if weighted.contains(name) {
            members = members.filter { !$0.isEmpty }.map { weightedMember($0, isMediaRange: name == "accept") }
            // Sorted only if no member has a parameter. Any parameter may be a weight, and if a member is listed twice
            // with different weights, the order might matter.
            if !members.contains(where: { $0.contains(";") }) { members.sort() }
        }
        return members.joined(separator: ",")
    }

    /// Normalises one member of a weighted list. Parameters of a media range keep their case, and a member with quotes
    /// is unchanged, because both may be significant.
    private static func weightedMember(_ member: String, isMediaRange: Bool) -> String {
        guard !member.contains("\"") else { return member }
        let parts = member.split(separator: ";", omittingEmptySubsequences: false).map {
            ASCII.trimmingBlanks(String($0))
        }
        return parts.enumerated()
            .map { index, part in index == 0 || !isMediaRange ? ASCII.lowercased(part) : part }
            .joined(separator: ";")
    }

    /// Splits a value at the commas outside of quotes, and trims blanks.
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

    /// Whether the variant of a response identifies its user. It does not if the response varies by credentials that
    /// are in no field because the transport adds them.
    package static func canTell(_ request: CacheRequest, from head: ResponseHead) -> Bool {
        guard request.hidesCredentials else { return true }
        return fields(of: head.headers).map { canTell(request, varyingBy: $0) } ?? false
    }

    private static func canTell(_ request: CacheRequest, varyingBy fields: [String]) -> Bool {
        !request.hidesCredentials || !fields.contains { $0 == "authorization" || $0 == "proxy-authorization" }
    }

    /// Returns the entry that answers a request: the most recent one that matches.
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
    /// Whether the body has the form that the request wants: with its content coding or without.
    func suits(_ request: CacheRequest) -> Bool {
        response.isContentDecoded == request.decodesContent || !response.head.headers.contains(name: "Content-Encoding")
    }
}

internal import Foundation
internal import Testing

/// Reads the collections of vectors under `Corpora/`.
enum Corpus {
    static func cases<Case: Decodable>(_ name: String, as type: Case.Type = Case.self) throws -> [Case] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = folder.appending(path: "Corpora/\(name)/cases.json")
        return try JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
    }
}

protocol CorpusCase: Decodable, Sendable {
    var id: String { get }
    /// The name under which the report counts the case.
    var group: String { get }
}

/// The result of one case.
enum Verdict: Equatable {
    case passed
    case failed(String)
    /// The case is not a requirement for this client: it is informational, optional or out of scope.
    case notCounted

    static func compare<T: Equatable>(_ actual: T, _ expected: T) -> Verdict {
        actual == expected ? .passed : .failed("got \(actual), expected \(expected)")
    }
}

/// Runs every case and prints the results by group. Records an issue for each case that fails but is not listed, and
/// for each listed case that passes, is not counted or does not exist.
func conform<Case: CorpusCase>(
    _ name: String,
    expectedDifferences: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation,
    _ evaluate: (Case) throws -> Verdict
) throws {
    let cases = try Corpus.cases(name, as: Case.self)
    var groups: [String: (passed: Int, counted: Int)] = [:]
    for item in cases {
        let verdict = try evaluate(item)
        let difference = expectedDifferences[item.id]
        switch verdict {
        case .passed:
            groups[item.group, default: (0, 0)].passed += 1
            groups[item.group, default: (0, 0)].counted += 1
            if difference != nil {
                Issue.record("\(item.id) passes but is listed as a difference", sourceLocation: sourceLocation)
            }
        case .failed(let what):
            groups[item.group, default: (0, 0)].counted += 1
            if difference == nil { Issue.record("\(item.id): \(what)", sourceLocation: sourceLocation) }
        case .notCounted:
            if difference != nil {
                Issue.record("\(item.id) is listed but not counted", sourceLocation: sourceLocation)
            }
        }
    }
    for id in expectedDifferences.keys where !cases.contains(where: { $0.id == id }) {
        Issue.record("\(id) is listed but there is no such case", sourceLocation: sourceLocation)
    }
    let passed = groups.values.reduce(0) { $0 + $1.passed }
    let counted = groups.values.reduce(0) { $0 + $1.counted }
    print("conformance \(name): \(passed) of \(counted), \(expectedDifferences.count) listed differences")
    for (group, result) in groups.sorted(by: { $0.key < $1.key }) where groups.count > 1 {
        print("    \(group): \(result.passed) of \(result.counted)")
    }
}

extension Data {
    init?(hex: String) {
        var bytes: [UInt8] = []
        var digits = hex.utf8.makeIterator()
        while let high = digits.next(), let low = digits.next() {
            guard let byte = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
        }
        self.init(bytes)
    }
}

/// Decodes the bytes of a field as UTF-8, or as ISO 8859-1 if they are not valid UTF-8.
func headerText(_ bytes: Data) -> String {
    String(data: bytes, encoding: .utf8) ?? String(data: bytes, encoding: .isoLatin1) ?? ""
}

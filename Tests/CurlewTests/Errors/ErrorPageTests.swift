import Curlew
import Foundation
import Testing

/// Compares the guide's table of codes with the code. scripts/docs checks that the table names every code.
@Suite("The guide's table of error codes")
struct ErrorPageTests {
    private struct Row {
        let code: String
        let retried: String
    }

    private let rows: [Row]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let page = try String(contentsOf: root.appending(path: "Sources/Curlew/Curlew.docc/Errors.md"), encoding: .utf8)
        rows = page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard cells.count == 6, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else { return nil }
            return Row(code: cells[1].trimmingCharacters(in: ["`"]), retried: cells[3])
        }
    }

    @Test func errorPageListsEveryKnownCodeOnce() {
        #expect(rows.map(\.code).sorted() == CurlewError.Code.allKnown.map(\.rawValue).sorted())
    }

    @Test func errorPageListsTheRetriedCodes() {
        let retried = rows.filter { $0.retried == "yes" }.map(\.code)
        #expect(Set(retried) == Set(RetryPolicy.defaultRetryableErrorCodes.map(\.rawValue)))
        let byStatus = rows.filter { $0.retried.hasPrefix("by status") }
        #expect(byStatus.map(\.code) == ["unacceptableStatus"])
        let statuses = RetryPolicy.defaultRetryableHTTPStatusCodes.sorted().map(String.init).joined(separator: ", ")
        #expect(byStatus.first?.retried == "by status: \(statuses)")
    }
}

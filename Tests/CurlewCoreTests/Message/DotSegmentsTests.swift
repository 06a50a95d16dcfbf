import Foundation
import Testing

@testable import CurlewCore

@Suite("Dot segments")
struct DotSegmentsTests {
    @Test(arguments: [
        ("http://h/a/b", "http://h/a/b"), ("http://h", "http://h"), ("http://h/", "http://h/"),
        ("http://h/a/./b", "http://h/a/b"), ("http://h/a/../b", "http://h/b"), ("http://h/a/..", "http://h/"),
        ("http://h/a/b/.", "http://h/a/b/"), ("http://h/a/b/..", "http://h/a/"), ("http://h/..", "http://h/"),
        ("http://h/../../x", "http://h/x"), ("http://h/a//../b", "http://h/a/b"), ("http://h/./", "http://h/"),
        ("http://h/a/%2e%2E/b", "http://h/b"), ("http://h/a/.%2e/b?c=/../d", "http://h/b?c=/../d"),
        ("http://h/a/%2e", "http://h/a/"), ("http://h/.../..a/.b", "http://h/.../..a/.b"),
        ("http://h/a/%2f../b", "http://h/a/%2f../b"), ("http://h?a/../b", "http://h?a/../b"),
        ("http://h/a#/../b", "http://h/a#/../b"), ("http://u:p@h:8080/x/../y", "http://u:p@h:8080/y"),
        ("http://[::1]/x/../y%20z", "http://[::1]/y%20z"),
    ])
    func dotSegmentsAreResolved(_ url: String, _ expected: String) throws {
        let url = try #require(URL(string: url))
        #expect(DotSegments.removed(from: url).absoluteString == expected)
    }
}

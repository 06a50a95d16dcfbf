import CurlewCore
import Testing

@Suite("Canonical requests")
struct CanonicalRequestTests {
    private func line(_ index: Int, path: String = "/", query: String = "", asItIs: Bool = false) -> String {
        let request = CanonicalRequest(
            method: "GET", path: path, query: query, headers: ["Host": "h"], payloadHash: "x", takesPathAsItIs: asItIs)
        return String(request.text.split(separator: "\n", omittingEmptySubsequences: false)[index])
    }

    /// S3 encodes the key once, from its bytes. All other services encode the path once more, as they receive it.
    @Test(
        "a path is encoded once more, except for S3",
        arguments: [
            ("/a%20b", "/a%2520b", "/a%20b"), ("/model/v1:0/invoke", "/model/v1%3A0/invoke", "/model/v1%3A0/invoke"),
            ("/a%2fb", "/a%252fb", "/a/b"), ("/%3Fa=b%20c", "/%253Fa%3Db%2520c", "/%3Fa%3Db%20c"), ("", "/", "/"),
            ("/-._~", "/-._~", "/-._~"), ("/100%", "/100%25", "/100%25"),
            ("/%E1%88%B4", "/%25E1%2588%25B4", "/%E1%88%B4"),
        ])
    func paths(path: String, others: String, s3: String) {
        #expect(line(1, path: path) == others)
        #expect(line(1, path: path, asItIs: true) == s3)
    }

    @Test(
        "the pairs of a query are sorted in their encoded form, each with an equals sign",
        arguments: [
            ("b=2&a=1", "a=1&b=2"), ("acl", "acl="), ("a-b=1&a=2", "a=2&a-b=1"), ("a=2&a=1&", "a=1&a=2"),
            ("a=%2f&b=/", "a=%2F&b=%2F"), ("a=b=c", "a=b%3Dc"), ("a=b+c", "a=b%20c"), ("a=%2b", "a=%2B"),
            ("A=1&a=2", "A=1&a=2"), ("", ""),
        ])
    func queries(query: String, expected: String) {
        #expect(line(2, query: query) == expected)
    }
}

import Testing

@testable import CurlewTransport

@Suite("What a signature changes of a URL", .timeLimit(.minutes(4)))
struct SignedRequestTests {
    private static let execute = "aws:amz:eu-central-1:execute-api"

    @Test(
        "repeated slashes of a path are one, but for S3",
        arguments: [
            ("https://h/a//b///c", execute, "https://h/a/b/c"), ("https://h//", execute, "https://h/"),
            ("https://h/a//b?x=//y", execute, "https://h/a/b?x=//y"), ("https://h?x=//y", execute, "https://h?x=//y"),
            ("https://h/a%2F%2Fb//", execute, "https://h/a%2F%2Fb/"),
            ("https://h/a//b", "aws:amz:eu-central-1:s3", "https://h/a//b"),
            ("https://h/a//b", "AWS:amz:eu-central-1:S3", "https://h/a//b"),
            ("https://h/a//b", "aws:amz:eu-central-1:s3-outposts", "https://h/a//b"),
            // Without a service in its provider libcurl takes it from the host.
            ("https://s3.eu-central-1.amazonaws.com/a//b", "aws:amz", "https://s3.eu-central-1.amazonaws.com/a//b"),
            ("https://iam.amazonaws.com/a//b", "aws:amz", "https://iam.amazonaws.com/a/b"),
            ("https://h/a//b", "goog4", "https://h/a//b"),
        ])
    func slashes(url: String, provider: String, expected: String) {
        let host = url.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        #expect(SignedRequest.url(url, host: String(host), provider: provider) == expected)
    }
}

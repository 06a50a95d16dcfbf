import CurlewTesting

extension TestServer {
    /// A server with an endless body, of which little fits into its socket buffers.
    static func endless() throws -> TestServer {
        var configuration = Configuration()
        configuration.sendBufferSize = 64 << 10
        let server = try TestServer(configuration)
        server.routeEndlessBody()
        return server
    }

    /// Adds the route `/endless`, whose body does not end.
    func routeEndlessBody() {
        route("/endless") { _ in
            Response(
                body: .generated(length: nil) { offset, most in TestServer.patternBytes(from: offset, count: most) })
        }
    }

    /// Returns the number of sent bytes once it has not changed for a while.
    func bytesSentWhenStopped() async throws -> Int64 {
        var last = bytesSent
        var steady = 0
        while steady < 20 {
            try await Task.sleep(for: .milliseconds(10))
            let now = bytesSent
            steady = now == last ? steady + 1 : 0
            last = now
        }
        return last
    }
}

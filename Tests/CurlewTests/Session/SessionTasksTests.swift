import Curlew
import CurlewAFNetworking
import CurlewTesting
import Foundation
import Testing

@Suite("A session's tasks by kind", .timeLimit(.minutes(4)))
struct SessionTasksTests {
    @Test("a session lists requests by kind in the order of creation, even those that wait for resume()")
    func kinds() async throws {
        let gate = Gate()
        let session = Session(
            transport: MockTransport { _ in
                try await gate.wait()
                return .text("x")
            })
        let url = "https://example.com"
        let data = session.request(url)
        data.taskDescription = "the first"
        data.resume()
        let upload = session.upload(Data("x".utf8), to: url).resume()
        let stream = session.streamRequest(url).resume()
        let download = session.download(url).resume()
        let waiting = session.request(url, shouldAutomaticallyResume: false).response { _ in }
        _ = session.request(url)
        try await gate.waitForArrivals(count: 4)
        let tasks = await session.tasks
        #expect(tasks.all == [data, upload, stream, download, waiting])
        #expect(tasks.data == [data, waiting] && tasks.uploads == [upload])
        #expect(tasks.downloads == [download] && tasks.streams == [stream])
        #expect(tasks.all.map(\.taskDescription) == ["the first", nil, nil, nil, nil])
        await session.invalidate()
        #expect(await session.tasks.all.isEmpty)
    }
}

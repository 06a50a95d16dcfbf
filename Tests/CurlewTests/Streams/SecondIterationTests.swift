import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// A body can be read once. A second iteration says so instead of giving nothing.
@Suite("A body that is iterated a second time", .timeLimit(.minutes(2)))
struct SecondIterationTests {
    private let session = Session(transport: MockTransport { _ in .text("one\ntwo\n") })

    private func failure<S: AsyncSequence>(of sequence: S) async -> CurlewError? where S.Failure == CurlewError {
        do throws(CurlewError) {
            for try await _ in sequence {}
            return nil
        } catch {
            return error
        }
    }

    @Test("after its end")
    func afterTheEnd() async throws {
        let request = session.streamRequest("https://example.org/")
        var lines: [String] = []
        for try await line in request.lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        for error in [
            await failure(of: request.chunks), await failure(of: request.lines), await failure(of: request.events),
            await failure(of: request.decode(Int.self)),
        ] {
            #expect(error?.reason.contains("read once") == true)
        }
    }

    @Test("after it was left")
    func afterLeaving() async throws {
        let request = session.streamRequest("https://example.org/")
        for try await _ in request.lines { break }
        #expect(await failure(of: request.lines)?.reason.contains("read once") == true)
    }

    @Test("while it is read, which goes on")
    func meanwhile() async throws {
        let request = session.streamRequest("https://example.org/")
        var lines = request.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        #expect(await failure(of: request.chunks)?.reason.contains("read once") == true)
        #expect(try await lines.next() == "two")
        #expect(try await lines.next() == nil)
        #expect(request.isFinished || request.isResumed)
    }
}

import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Forms with large files, which are read on the loop.
@Suite(.timeLimit(.minutes(4)))
struct FormStreamTests {
    private static let large = Data((0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    private let scratch: ScratchDirectory
    private let first: URL
    private let second: URL

    init() throws {
        scratch = try ScratchDirectory()
        first = scratch.url.appendingPathComponent("first.bin")
        second = scratch.url.appendingPathComponent("second.bin")
        try Self.large.write(to: first)
        try Data(Self.large.reversed()).write(to: second)
    }

    private func form() -> MultipartFormData {
        let form = MultipartFormData(boundary: "B")
        form.append(Data("small".utf8), withName: "a")
        form.append(first, withName: "first")
        form.append(Data(), withName: "empty")
        form.append(second, withName: "second")
        form.append(Data("end".utf8), withName: "z")
        return form
    }

    @Test(arguments: [13, 7919, 1 << 16, 1 << 20, 4 << 20])
    func streamedFormEqualsTheEncodedForm(portion: Int) async throws {
        let (body, length) = try stream(form().body())
        #expect(body is FormStream)
        let expected = try form().encode()
        #expect(length == Int64(expected.count))
        let reader = BodyReader()
        body.open(waker: reader)
        #expect(try await reader.readAll(body, portion: portion) == expected)
        body.close()
    }

    @Test(arguments: [1, 300_000, 1_200_100, 2_000_000])
    func formStreamCanBeRewoundAnywhere(limit: Int) async throws {
        let body = try stream(form().body()).0
        let reader = BodyReader()
        body.open(waker: reader)
        _ = try await reader.readAll(body, atMost: limit)
        #expect(body.rewind())
        #expect(try await reader.readAll(body, portion: 100_000) == form().encode())
        body.close()
        body.open(waker: reader)
        #expect(try await reader.readAll(body, portion: 100_000) == form().encode())
        body.close()
    }

    /// A file that a lane opens for one reading must not be used by the next reading.
    @Test func formStreamMayEndWhileAFileIsOpened() async throws {
        let body = try stream(form().body()).0
        let reader = BodyReader()
        let expected = try form().encode()
        for _ in 0..<20 {
            body.open(waker: reader)
            _ = try await reader.readAll(body, atMost: 1_200_000)
            // The end of the first file is within reach, so the second one is being opened.
            var buffer = [UInt8](repeating: 0, count: 4096)
            _ = buffer.withUnsafeMutableBytes { body.read(into: $0) }
            // The lane may open the second file after this point; it must not be read in place of the first.
            body.close()
            body.open(waker: reader)
            #expect(try await reader.readAll(body, portion: 100_000) == expected)
            body.close()
        }
    }

    @Test func formStreamClosesItsFiles() async throws {
        let body = try stream(form().body()).0
        let reader = BodyReader()
        body.open(waker: reader)
        // Stops in the middle of the second file.
        _ = try await reader.readAll(body, atMost: 2_000_000)
        #expect(openDescriptors() == [second.path])
        body.close()
        try await eventually { openDescriptors().isEmpty }
    }

    private func openDescriptors() -> [String] {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            .filter { $0.hasPrefix(scratch.url.path) }
    }

    @Test func formStreamFailsIfAFileIsMissing() async throws {
        let body = try stream(form().body()).0
        try FileManager.default.removeItem(at: second)
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .fileUnreadable)
        body.close()
    }

    @Test func formStreamFailsIfAFileWasTruncated() async throws {
        let body = try stream(form().body()).0
        try FileHandle(forWritingTo: first).truncate(atOffset: 1000)
        let reader = BodyReader()
        body.open(waker: reader)
        let error = await #expect(throws: CurlewError.self) { try await reader.readAll(body) }
        #expect(error?.code == .multipartEncodingFailed)
        body.close()
    }

    /// Forms with small parts or with streams are read ahead by a pump.
    @Test func formsWithSmallOrStreamedPartsUseThePump() throws {
        let small = MultipartFormData(boundary: "B")
        small.append(Data("small".utf8), withName: "a")
        small.append(try scratch.write("small.txt", "text"), withName: "file")
        #expect(try stream(small.body()).0 is BodyPump)
        let streamed = form()
        streamed.append(InputStream(data: Self.large), withLength: UInt64(Self.large.count), headers: [])
        #expect(try stream(streamed.body()).0 is BodyPump)
    }

    @Test func streamedFormReachesTheServer() async throws {
        let server = try TestServer()
        let form = form()
        _ = try await Session().upload(multipartFormData: form, to: server.url("/anything")).data()
        #expect(server.requests.last?.body == (try form.encode()))
    }
}

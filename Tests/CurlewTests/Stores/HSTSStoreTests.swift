import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("HSTS entries in a file", .timeLimit(.minutes(4)))
struct HSTSStoreTests {
    /// Returns, for each response, whether it caused the file to be written.
    private func writes(_ fields: [String], from host: String = "a.test") async throws -> [Bool] {
        let scratch = try ScratchDirectory()
        let file = scratch.file("hsts.json")
        let store = HSTSStore(file: file)
        var writes: [Bool] = []
        for field in fields {
            store.receive(["Strict-Transport-Security": field], from: try #require(URL(string: "https://\(host)/")))
            await store.stored.file?.untilWritten()
            writes.append(scratch.names == ["hsts.json"])
            try? FileManager.default.removeItem(at: file)
        }
        return writes
    }

    @Test func repeatedHSTSPolicyDoesNotWriteTheFile() async throws {
        let (year, day) = ("max-age=31536000; includeSubDomains", "max-age=86400; includeSubDomains")
        #expect(try await writes([year, year, year, year]) == [true, false, false, false])
        #expect(try await writes([year, "max-age=31536000", "max-age=31536000"]) == [true, true, false])
        #expect(try await writes([year, day, "max-age=0", "max-age=0"]) == [true, true, true, false])
    }

    @Test func ineffectiveHSTSFieldDoesNotWriteTheFile() async throws {
        #expect(try await writes(["nonsense", "max-age=0"]) == [false, false])
        #expect(try await writes(["max-age=31536000"], from: "1.2.3.4") == [false])
    }

    /// In memory every response extends the expiry, even if it does not cause a write.
    @Test func savingWritesTheLatestExpiry() async throws {
        let scratch = try ScratchDirectory()
        let store = HSTSStore(file: scratch.file("hsts.json"))
        let url = try #require(URL(string: "https://a.test/"))
        func expiry() async throws -> Date? {
            try await store.save()
            let data = try Data(contentsOf: scratch.file("hsts.json"))
            return try JSONDecoder().decode(HSTSList.self, from: data).entries["a.test"]?.expires
        }
        store.receive(["Strict-Transport-Security": "max-age=31536000"], from: url)
        let first = try #require(await expiry())
        store.receive(["Strict-Transport-Security": "max-age=31536000"], from: url)
        #expect(try #require(await expiry()) > first)
    }
}

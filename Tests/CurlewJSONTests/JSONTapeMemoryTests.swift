import CurlewJSON
import Foundation
import Testing

/// All values of a stream are decoded in the memory that the first one allocated.
struct JSONTapeMemoryTests {
    private struct Point: Decodable, Equatable {
        var x: Int
        var name: String?
    }

    /// Keeps the container from which it was decoded.
    private struct Keeper: Decodable {
        let container: any UnkeyedDecodingContainer

        init(from decoder: any Decoder) throws { container = try decoder.unkeyedContainer() }
    }

    /// Decodes another text while it is being decoded.
    private struct Nesting: Decodable {
        let point: Point

        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            let memory = decoder.userInfo[JSONTapeMemoryTests.key] as? Shared
            point = try FastJSONDecoder().decode(Point.self, from: Data(text.utf8), reusing: memory?.memory)
        }
    }

    // SAFETY: only the test's task uses the memory.
    private final class Shared: @unchecked Sendable {
        let memory = JSONTapeMemory()
    }

    private static let key = CodingUserInfoKey(rawValue: "memory")!

    @Test func `a thousand lines allocate one tape`() throws {
        let memory = JSONTapeMemory()
        for index in 0..<1000 {
            let line = Data(#"{"x": \#(index), "name": "n\#(index)"}"#.utf8)
            let point = try FastJSONDecoder().decode(Point.self, from: line, reusing: memory)
            #expect(point == Point(x: index, name: "n\(index)"))
        }
        #expect(memory.misses == 1)
    }

    @Test func `a longer line grows the tape, and the next shorter one uses it`() throws {
        let memory = JSONTapeMemory()
        for count in [1, 5000, 2, 4999, 0] {
            let numbers = (0..<count).map { $0 * 7 }
            let line = try JSONEncoder().encode(numbers)
            #expect(try FastJSONDecoder().decode([Int].self, from: line, reusing: memory) == numbers)
        }
        #expect(memory.misses == 1)
    }

    @Test func `a very long line's tape is not kept`() throws {
        let memory = JSONTapeMemory()
        let numbers = [Int](repeating: 1, count: 200_000)
        let line = try JSONEncoder().encode(numbers)
        for _ in 0..<2 {
            #expect(try FastJSONDecoder().decode([Int].self, from: line, reusing: memory).count == numbers.count)
        }
        #expect(memory.misses == 2)
    }

    @Test func `a container that a type keeps is not overwritten by the next line`() throws {
        let memory = JSONTapeMemory()
        let kept = try FastJSONDecoder().decode(Keeper.self, from: Data("[1, 2, 3]".utf8), reusing: memory)
        for _ in 0..<10 {
            _ = try FastJSONDecoder().decode([String].self, from: Data(#"["a", "b", "c"]"#.utf8), reusing: memory)
        }
        var container = kept.container
        #expect(try [container.decode(Int.self), container.decode(Int.self), container.decode(Int.self)] == [1, 2, 3])
        #expect(memory.misses == 2)
    }

    @Test func `a text inside another's decoding gets memory of its own`() throws {
        let shared = Shared()
        var decoder = FastJSONDecoder()
        decoder.userInfo[Self.key] = shared
        let line = Data(#"["{\"x\": 1}", "{\"x\": 2}", "{\"x\": 3}"]"#.utf8)
        let values = try decoder.decode([Nesting].self, from: line, reusing: shared.memory)
        #expect(values.map(\.point.x) == [1, 2, 3])
        #expect(shared.memory.misses == 2)
    }

    @Test func `a line that is no JSON leaves memory that can be used`() throws {
        let memory = JSONTapeMemory()
        #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode(Point.self, from: Data("{".utf8), reusing: memory)
        }
        #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode(Point.self, from: Data("[]".utf8), reusing: memory)
        }
        #expect(try FastJSONDecoder().decode(Point.self, from: Data(#"{"x": 1}"#.utf8), reusing: memory).x == 1)
    }
}

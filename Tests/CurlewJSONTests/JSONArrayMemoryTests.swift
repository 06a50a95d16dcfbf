import CurlewJSON
import Foundation
import Testing

/// The decoder allocates memory for the elements that it has decoded, not for all values in the text.
struct JSONArrayMemoryTests {
    private struct Eight<Element> {
        var elements: (Element, Element, Element, Element, Element, Element, Element, Element)
    }

    /// An element of 32 KiB that cannot be decoded from a number.
    private struct Wide: Decodable {
        var content: Eight<Eight<Eight<Eight<Int>>>>?

        init(from decoder: any Decoder) throws {
            _ = try decoder.singleValueContainer().decode(String.self)
        }
    }

    @Test func `elements that take much memory are not paid for ahead`() throws {
        #expect(MemoryLayout<Wide>.stride >= 32_768)
        // The text has 4 MB. Memory for all elements at once would be 64 GB.
        let text = Data(("[0" + String(repeating: ",0", count: 2_000_000) + "]").utf8)
        let error = #expect(throws: DecodingError.self) { try FastJSONDecoder().decode([Wide].self, from: text) }
        guard case .typeMismatch(_, let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.intValue) == [0])
    }
}

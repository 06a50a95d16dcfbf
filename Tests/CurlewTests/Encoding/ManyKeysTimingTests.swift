import Curlew
import CurlewTesting
import Testing

@Suite("The time to encode a form with many keys", .timeLimit(.minutes(4)))
struct ManyKeysTimingTests {
    /// Encodes each key twice, as a subclass does that encodes the properties of its superclass again.
    private struct Record: Encodable {
        let count: Int

        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        func encode(to encoder: any Encoder) throws {
            for round in 0..<2 {
                var container = encoder.container(keyedBy: Key.self)
                for number in 0..<count {
                    try container.encode(number + round, forKey: Key(stringValue: "key\(number + 10_000)"))
                }
            }
        }
    }

    @Test("encoding a form does not take quadratic time in the number of its keys")
    func writing() throws {
        func time(_ count: Int) throws -> Duration {
            try ProcessorTime.ofFastestRound({ URLEncodedFormEncoder() }) { encoder in
                let text: String = try encoder.encode(Record(count: count))
                #expect(text.hasPrefix("key10000=1&key10001=2&") && text.hasSuffix("key\(count + 9_999)=\(count)"))
            }
        }
        let (few, many) = (try time(500), try time(5_000))
        #expect(many < few * 25, "\(few) for 500, \(many) for 5 000")
    }
}

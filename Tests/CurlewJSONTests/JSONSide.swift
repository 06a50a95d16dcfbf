import CurlewJSON
import Foundation

/// One of the two decoders that must agree.
enum JSONSide {
    case fast(FastJSONDecoder)
    case foundation(JSONDecoder)

    func decode<T: Decodable>(_ type: T.Type, _ data: Data) throws -> T {
        switch self {
        case .fast(let decoder): try decoder.decode(type, from: data)
        case .foundation(let decoder): try decoder.decode(type, from: data)
        }
    }
}

/// One set of options for both decoders.
struct JSONOptions: Sendable {
    var name: String
    var dates: JSONDecoder.DateDecodingStrategy = .deferredToDate
    var data: JSONDecoder.DataDecodingStrategy = .base64
    var floats: JSONDecoder.NonConformingFloatDecodingStrategy = .throw
    var keys: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys
    var allowsJSON5 = false
    var assumesTopLevelDictionary = false

    static let plain = JSONOptions(name: "plain")

    static let all: [JSONOptions] = [
        plain,
        JSONOptions(
            name: "iso8601, snake case, words for infinity", dates: .iso8601, data: .deferredToData,
            floats: .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nän"),
            keys: .convertFromSnakeCase),
        JSONOptions(
            name: "closures",
            dates: .custom { decoder in
                if var array = try? decoder.unkeyedContainer() {
                    return Date(timeIntervalSince1970: try array.decode(Double.self))
                }
                return Date(timeIntervalSince1970: try decoder.singleValueContainer().decode(Double.self))
            },
            data: .custom { decoder in Data(try decoder.singleValueContainer().decode(String.self).utf8) },
            keys: .custom { path in JSONTestKey((path.last?.stringValue ?? "").uppercased() + "\(path.count)") }),
        JSONOptions(name: "seconds", dates: .secondsSince1970),
        JSONOptions(name: "milliseconds", dates: .millisecondsSince1970),
    ]

    var fast: JSONSide {
        var decoder = FastJSONDecoder()
        decoder.dateDecodingStrategy = dates
        decoder.dataDecodingStrategy = data
        decoder.nonConformingFloatDecodingStrategy = floats
        decoder.keyDecodingStrategy = keys
        decoder.allowsJSON5 = allowsJSON5
        if assumesTopLevelDictionary { decoder.assumesTopLevelDictionary = true }
        decoder.userInfo[JSONTestKey.userInfo] = name
        return .fast(decoder)
    }

    var foundation: JSONSide {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = dates
        decoder.dataDecodingStrategy = data
        decoder.nonConformingFloatDecodingStrategy = floats
        decoder.keyDecodingStrategy = keys
        decoder.allowsJSON5 = allowsJSON5
        if assumesTopLevelDictionary { decoder.assumesTopLevelDictionary = true }
        decoder.userInfo[JSONTestKey.userInfo] = name
        return .foundation(decoder)
    }
}

struct JSONTestKey: CodingKey {
    static let userInfo = CodingUserInfoKey(rawValue: "test")!

    var stringValue: String
    var intValue: Int? { nil }

    init(_ string: String) { stringValue = string }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

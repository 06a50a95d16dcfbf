internal import Foundation

/// One case of `http-cache-tests`: requests, with the server's response to each.
struct ReplayCase: Decodable, Sendable {
    let id: String
    let kind: String
    let shared_only: Bool?
    let cdn_only: Bool?
    let requests: [ReplayStep]

    var isForSharedCaches: Bool { shared_only == true }
    var isForCDNs: Bool { cdn_only == true }
}

/// One request of a case, with its response and its checks.
struct ReplayStep: Decodable, Sendable {
    let request_method: String?
    let request_headers: [ReplayField]?
    let request_body: String?
    let cache: String?
    let filename: String?
    let query_arg: String?
    let magic_ims: Bool?
    let magic_locations: Bool?
    let rfc850date: [String]?
    let pause_after: Bool?
    let disconnect: Bool?
    let response_status: ReplayStatus?
    let response_headers: [ReplayField]?
    let response_body: String?
    let response_pause: Double?
    let interim_responses: [ReplayInterim]?
    let expected_interim_responses: [ReplayInterim]?
    let expected_type: String?
    let expected_status: JSONValue?
    let expected_method: String?
    let expected_response_headers: [ReplayField]?
    let expected_response_headers_missing: [ReplayField]?
    let expected_response_text: JSONValue?
    let expected_request_headers: [ReplayField]?
    let expected_request_headers_missing: [ReplayField]?
    let check_body: Bool?
    let setup: Bool?
    let setup_tests: [String]?

    /// The members that are present. A member whose value is null has another meaning than an absent one.
    let present: Set<String>

    func isSetup(_ check: String) -> Bool { setup == true || setup_tests?.contains(check) == true }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private enum CodingKeys: String, CodingKey {
        case request_method, request_headers, request_body, cache, filename, query_arg, magic_ims, magic_locations
        case rfc850date, pause_after, disconnect, response_status, response_headers, response_body, response_pause
        case interim_responses, expected_interim_responses, expected_type, expected_status, expected_method,
            expected_response_headers
        case expected_response_headers_missing, expected_response_text, expected_request_headers
        case expected_request_headers_missing, check_body, setup, setup_tests
    }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: AnyKey.self)
        present = Set(all.allKeys.map(\.stringValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func value<T: Decodable>(_ key: CodingKeys, _ type: T.Type = T.self) throws -> T? {
            try values.decodeIfPresent(T.self, forKey: key)
        }
        request_method = try value(.request_method)
        request_headers = try value(.request_headers)
        request_body = try value(.request_body)
        cache = try value(.cache)
        filename = try value(.filename)
        query_arg = try value(.query_arg)
        magic_ims = try value(.magic_ims)
        magic_locations = try value(.magic_locations)
        rfc850date = try value(.rfc850date)
        pause_after = try value(.pause_after)
        disconnect = try value(.disconnect)
        response_status = try value(.response_status)
        response_headers = try value(.response_headers)
        response_body = try value(.response_body)
        response_pause = try value(.response_pause)
        interim_responses = try value(.interim_responses)
        expected_interim_responses = try value(.expected_interim_responses)
        expected_type = try value(.expected_type)
        expected_status = try value(.expected_status)
        expected_method = try value(.expected_method)
        expected_response_headers = try value(.expected_response_headers)
        expected_response_headers_missing = try value(.expected_response_headers_missing)
        expected_response_text = try value(.expected_response_text)
        expected_request_headers = try value(.expected_request_headers)
        expected_request_headers_missing = try value(.expected_request_headers_missing)
        check_body = try value(.check_body)
        setup = try value(.setup)
        setup_tests = try value(.setup_tests)
    }
}

/// A field: a name alone, a name with a value, or a name with a comparison.
struct ReplayField: Decodable, Sendable {
    let name: String
    /// The elements after the name: the value or comparison, and whether the client checks the field.
    let rest: [JSONValue]

    init(from decoder: any Decoder) throws {
        if let name = try? decoder.singleValueContainer().decode(String.self) {
            self.name = name
            rest = []
            return
        }
        var values = try decoder.unkeyedContainer()
        name = try values.decode(String.self)
        var rest: [JSONValue] = []
        while !values.isAtEnd { rest.append(try values.decode(JSONValue.self)) }
        self.rest = rest
    }

    /// Whether the client must receive the field as the server sent it.
    var isChecked: Bool {
        if rest.count > 1, case .bool(let isChecked) = rest[1] { return isChecked }
        return true
    }
}

/// A status and its phrase: `[404, "Not Found"]`.
struct ReplayStatus: Decodable, Sendable {
    let code: Int
    let phrase: String

    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        code = try values.decode(Int.self)
        phrase = values.isAtEnd ? "" : try values.decode(String.self)
    }
}

/// An interim response: `[103, [["link", "…"]]]`.
struct ReplayInterim: Decodable, Sendable {
    let status: Int
    let fields: [ReplayField]

    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        status = try values.decode(Int.self)
        fields = values.isAtEnd ? [] : try values.decode([ReplayField].self)
    }
}

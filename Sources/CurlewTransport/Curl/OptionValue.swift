internal import CCurl
internal import Foundation

/// An option of an easy handle with its value. Plans consist of these. Equatable, so that a handle that has the same
/// values is not set up again.
enum OptionValue: Equatable, Sendable {
    case long(CURLoption, Int)
    case offset(CURLoption, Int64)
    case string(CURLoption, String)
    /// A string option that is set to NULL, which differs from an option that is not set.
    case null(CURLoption)
    case blob(CURLoption, Data)
    /// A body that libcurl copies, with its length.
    case bytes(CURLoption, Data)
    case list(CURLoption, [String])

    var option: CURLoption {
        switch self {
        case .long(let option, _), .offset(let option, _), .string(let option, _), .null(let option),
            .blob(let option, _), .bytes(let option, _), .list(let option, _):
            option
        }
    }
}

extension OptionValue: CustomStringConvertible {
    static func name(of option: CURLoption) -> String {
        curlew_option_name(option).map { String(cString: $0) } ?? "\(option.rawValue)"
    }

    var description: String {
        let name = Self.name(of: option)
        return switch self {
        case .long(_, let value): "\(name)=\(value)"
        case .offset(_, let value): "\(name)=\(value)"
        case .string(_, let value): "\(name)=\"\(value)\""
        case .null: "\(name)=NULL"
        case .blob(_, let data), .bytes(_, let data): "\(name)=<\(data.count) bytes>"
        case .list(_, let lines): "\(name)=[\(lines.joined(separator: ", "))]"
        }
    }
}

extension CURLoption {
    /// Options that the header at compile time may lack.
    static let quickExit = CURLoption(rawValue: UInt32(CURLEW_OPT_QUICK_EXIT))
    static let protocolsString = CURLoption(rawValue: UInt32(CURLEW_OPT_PROTOCOLS_STR))
    static let prereqData = CURLoption(rawValue: UInt32(CURLEW_OPT_PREREQDATA))
}

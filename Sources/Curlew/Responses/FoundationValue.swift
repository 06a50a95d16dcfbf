internal import Foundation

/// Converts values that Foundation has read from JSON or a property list to a Sendable type.
package enum FoundationValue {
    package static func sendable(_ value: Any) -> any Any & Sendable {
        switch value {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let string as String: string
        case let date as Date: date
        case let data as Data: data
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}

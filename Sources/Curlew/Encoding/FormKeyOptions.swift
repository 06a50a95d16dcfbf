extension URLEncodedFormEncoder {
    /// The notation for the key of an array's element.
    public enum ArrayEncoding: Sendable {
        /// `key[]`
        case brackets
        /// `key`
        case noBrackets
        /// `key[0]`
        case indexInBrackets
        /// Makes the key with a closure.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func encode(_ key: String, atIndex index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// The notation that appends the key of a nested member to its parent's.
    public struct KeyPathEncoding: Sendable {
        /// `parent[child]`
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `parent.child`
        public static let dots = KeyPathEncoding { ".\($0)" }

        private let encoding: @Sendable (_ subkey: String) -> String

        /// Creates an encoding from a closure that turns a nested key into the text after the parent's key.
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) { self.encoding = encoding }

        func encodeKeyPath(_ keyPath: String) -> String { encoding(keyPath) }
    }

    /// The conversion of member names to keys.
    public enum KeyEncoding: Sendable {
        /// Leaves keys as they are.
        case useDefaultKeys
        /// `oneTwoThree` → `one_two_three`
        case convertToSnakeCase
        /// `oneTwoThree` → `one-two-three`
        case convertToKebabCase
        /// `oneTwoThree` → `OneTwoThree`
        case capitalized
        /// `oneTwoThree` becomes `ONETWOTHREE`.
        case uppercased
        /// `oneTwoThree` becomes `onetwothree`.
        case lowercased
        /// Makes the key with a closure.
        case custom(@Sendable (_ key: String) -> String)

        func encode(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key, joinedBy: "_")
            case .convertToKebabCase: Self.words(of: key, joinedBy: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let encode): encode(key)
            }
        }

        /// Splits before an upper-case letter that follows a lower-case one, and before the last upper-case letter
        /// of a run that a lower-case one follows: `myURLProperty` is `my`, `url`, `property`.
        private static func words(of key: String, joinedBy separator: String) -> String {
            let characters = Array(key)
            var result = ""
            for (index, character) in characters.enumerated() {
                if character.isUppercase, index > 0 {
                    let follows = characters[index - 1]
                    let startsWord = index + 1 < characters.count && characters[index + 1].isLowercase
                    if follows.isLowercase || follows.isNumber || (follows.isUppercase && startsWord) {
                        result += separator
                    }
                }
                result += character.lowercased()
            }
            return result
        }
    }
}

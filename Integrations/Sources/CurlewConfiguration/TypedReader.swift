internal import Configuration
internal import Curlew
internal import Foundation

/// Reads values, and throws for those that have another type or are out of range. `ConfigReader` itself treats these as
/// absent, and a mistake in a configuration would go unnoticed.
struct TypedReader {
    let reader: ConfigReader

    func string(_ key: String, isSecret: Bool = false) throws(ConfigurationValueError) -> String? {
        if let value = reader.string(forKey: ConfigKey(key), isSecret: isSecret) { return value }
        try expectAbsent(key, isSecret: isSecret, "a string")
        return nil
    }

    /// Reads an array of strings, or a string that is split at commas.
    func list(_ key: String) throws(ConfigurationValueError) -> [String]? {
        var values = reader.stringArray(forKey: ConfigKey(key))
        if values == nil { values = try string(key)?.components(separatedBy: ",") }
        return values?.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Reads a number that is at least `minimum`.
    func count(_ key: String, atLeast minimum: Int = 1) throws(ConfigurationValueError) -> Int? {
        let expected = "a whole number of at least \(minimum)"
        if let value = reader.int(forKey: ConfigKey(key)) {
            guard value >= minimum else { throw ConfigurationValueError(key: key, expected: expected) }
            return value
        }
        try expectAbsent(key, expected)
        return nil
    }

    /// Reads a time in seconds.
    func seconds(_ key: String) throws(ConfigurationValueError) -> Duration? {
        let expected = "a number of seconds above 0"
        let name = ConfigKey(key)
        if let value = reader.double(forKey: name) ?? reader.int(forKey: name).map({ Double($0) }) {
            guard value > 0, value <= 1e9 else { throw ConfigurationValueError(key: key, expected: expected) }
            return .seconds(value)
        }
        try expectAbsent(key, expected)
        return nil
    }

    /// Reads a time in seconds, or the string `none`, which is returned as `.some(nil)`.
    func limit(_ key: String) throws(ConfigurationValueError) -> Duration?? {
        if reader.string(forKey: ConfigKey(key)) == "none" { return .some(nil) }
        return try seconds(key).map { .some($0) }
    }

    /// Reads an absolute URL.
    func url(
        _ key: String, schemes: Set<String>, isSecret: Bool = false
    ) throws(ConfigurationValueError) -> URL? {
        guard let text = try string(key, isSecret: isSecret) else { return nil }
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), schemes.contains(scheme),
            url.host?.isEmpty == false
        else {
            throw ConfigurationValueError(
                key: key, expected: "a URL with a host and the scheme \(schemes.sorted().joined(separator: " or "))")
        }
        return url
    }

    /// Reads the path of a file.
    func file(_ key: String) throws(ConfigurationValueError) -> URL? {
        guard let path = try string(key) else { return nil }
        guard path.hasPrefix("/") else { throw ConfigurationValueError(key: key, expected: "an absolute path") }
        return URL(filePath: path)
    }

    /// Reads the name of a choice.
    func choice<Value>(_ key: String, _ choices: KeyValuePairs<String, Value>) throws(ConfigurationValueError) -> Value?
    {
        guard let name = try string(key) else { return nil }
        guard let choice = choices.first(where: { $0.key == name }) else {
            throw ConfigurationValueError(key: key, expected: "one of " + choices.map(\.key).joined(separator: ", "))
        }
        return choice.value
    }

    /// Throws if the key has a value of any type.
    private func expectAbsent(_ key: String, isSecret: Bool = false, _ expected: String) throws(ConfigurationValueError)
    {
        let name = ConfigKey(key)
        let isAbsent =
            reader.string(forKey: name, isSecret: isSecret) == nil
            && reader.int(forKey: name, isSecret: isSecret) == nil
            && reader.double(forKey: name, isSecret: isSecret) == nil
            && reader.bool(forKey: name, isSecret: isSecret) == nil
            && reader.stringArray(forKey: name, isSecret: isSecret) == nil
        if !isAbsent { throw ConfigurationValueError(key: key, expected: expected) }
    }
}

// A stand-in for apple/swift-configuration: the part of its API that CurlewConfiguration and its tests use.

public struct AbsoluteConfigKey: Hashable, Sendable, ExpressibleByStringLiteral {
    public var components: [String]
    public init(_ components: [String]) { self.components = components }
    public init(stringLiteral value: String) { components = value.split(separator: ".").map(String.init) }
}

public struct ConfigKey: Hashable, Sendable, ExpressibleByStringLiteral {
    public var components: [String]
    public init(_ string: String) { components = string.split(separator: ".").map(String.init) }
    public init(stringLiteral value: String) { self.init(value) }
}

public struct ConfigValue: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    fileprivate enum Content: Hashable, Sendable {
        case string(String), int(Int), double(Double), bool(Bool), stringArray([String])
    }
    fileprivate let content: Content

    public init(stringLiteral value: String) { content = .string(value) }
    public init(integerLiteral value: Int) { content = .int(value) }
    public init(floatLiteral value: Double) { content = .double(value) }
    public init(booleanLiteral value: Bool) { content = .bool(value) }
}

public protocol ConfigProvider: Sendable {
    func content(of key: AbsoluteConfigKey) -> ConfigValue?
}

public struct InMemoryProvider: ConfigProvider {
    private let values: [AbsoluteConfigKey: ConfigValue]
    public init(name: String? = nil, values: [AbsoluteConfigKey: ConfigValue]) { self.values = values }
    public func content(of key: AbsoluteConfigKey) -> ConfigValue? { values[key] }
}

public struct EnvironmentVariablesProvider: ConfigProvider {
    public init() {}
    public func content(of key: AbsoluteConfigKey) -> ConfigValue? { nil }
}

/// Reads typed values. A value of another type counts as absent, as in the real package.
public struct ConfigReader: Sendable {
    private let provider: any ConfigProvider
    private var prefix: [String] = []

    public init(provider: some ConfigProvider) { self.provider = provider }

    public func scoped(to configKey: ConfigKey) -> ConfigReader {
        var scoped = self
        scoped.prefix += configKey.components
        return scoped
    }

    private func content(_ key: ConfigKey) -> ConfigValue.Content? {
        provider.content(of: AbsoluteConfigKey(prefix + key.components))?.content
    }

    public func string(forKey key: ConfigKey, isSecret: Bool = false) -> String? {
        if case .string(let value)? = content(key) { value } else { nil }
    }
    public func int(forKey key: ConfigKey, isSecret: Bool = false) -> Int? {
        if case .int(let value)? = content(key) { value } else { nil }
    }
    public func double(forKey key: ConfigKey, isSecret: Bool = false) -> Double? {
        if case .double(let value)? = content(key) { value } else { nil }
    }
    public func bool(forKey key: ConfigKey, isSecret: Bool = false) -> Bool? {
        if case .bool(let value)? = content(key) { value } else { nil }
    }
    public func stringArray(forKey key: ConfigKey, isSecret: Bool = false) -> [String]? {
        if case .stringArray(let value)? = content(key) { value } else { nil }
    }
}

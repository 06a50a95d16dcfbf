// A stand-in for apple/swift-service-context: the part of its API that CurlewTracing and its tests use.

public protocol ServiceContextKey: Sendable {
    associatedtype Value: Sendable
}

public struct ServiceContext: Sendable {
    @TaskLocal public static var current: ServiceContext?
    public static var topLevel: ServiceContext { ServiceContext() }

    private var values: [ObjectIdentifier: any Sendable] = [:]

    public subscript<Key: ServiceContextKey>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)] as? Key.Value }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

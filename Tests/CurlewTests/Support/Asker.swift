/// A user's object that calls its closure when its last reference is released.
final class Asker: Sendable {
    private let ask: @Sendable () -> Void

    init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }

    deinit { ask() }
}

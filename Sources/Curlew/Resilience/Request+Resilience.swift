public import CurlewCore
internal import CurlewLocks
public import Foundation

extension Request {
    /// Sets the priority: the order in which requests wait for the session's ``Resilience``, and the field `Priority`
    /// (RFC 9218) for the server, unless the request has one.
    @discardableResult
    public func priority(_ priority: RequestPriority) -> Self {
        record.withLock { $0.ownExtras.options.priority = priority }
        return self
    }

    /// Sends the field `Idempotency-Key`, the same in all attempts, so that a server that knows it carries the request
    /// out once. ``RetryPolicy`` retries the request whatever its method is.
    ///
    ///     session.request(orders, method: .post, parameters: order).idempotencyKey().retry(using: RetryPolicy())
    ///
    /// The default is a new UUID. A field that the request has takes precedence.
    @discardableResult
    public func idempotencyKey(_ key: String = UUID().uuidString) -> Self {
        record.withLock { $0.ownExtras.options.idempotencyKey = key }
        return self
    }

    var priority: RequestPriority { record.withLock { $0.extras?.options.priority } ?? .normal }

    var hasIdempotencyKey: Bool { record.withLock { $0.extras?.options.idempotencyKey } != nil }
}

extension RequestOptions {
    /// Adds the fields that the options ask for.
    func addFields(to headers: inout HTTPHeaders) throws(CurlewError) {
        if let value = priority?.fieldValue, !headers.contains(name: "Priority") {
            headers.append(name: "Priority", value: value)
        }
        guard let key = idempotencyKey, !headers.contains(name: "Idempotency-Key") else { return }
        let field = HTTPHeader(name: "Idempotency-Key", value: key)
        guard field.isValid, !key.isEmpty else { throw .invalidHeader(field) }
        headers.append(name: field.name, value: field.value)
    }
}

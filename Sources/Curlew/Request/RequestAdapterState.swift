public import Foundation

/// The context in which an adapter is called.
public struct RequestAdapterState: Sendable {
    /// The session that runs the request.
    public let session: Session
    private let source: Source

    private enum Source: Sendable {
        case request(Request)
        case identifier(UUID)
    }

    /// The identifier of the request that is being adapted.
    public var requestID: UUID {
        switch source {
        case .request(let request): request.id
        case .identifier(let id): id
        }
    }

    /// The request that is being adapted. `nil` if the state was made for calling an adapter directly.
    package var request: Request? {
        switch source {
        case .request(let request): request
        case .identifier: nil
        }
    }

    /// Creates a state for calling an adapter yourself.
    public init(requestID: UUID, session: Session) {
        self.session = session
        source = .identifier(requestID)
    }

    init(request: Request, session: Session) {
        self.session = session
        source = .request(request)
    }
}

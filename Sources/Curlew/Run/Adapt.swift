internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// What the adapters make of the request, one after the other.
    func adapt(_ initial: VisibleRequest) async throws(CurlewError) -> VisibleRequest {
        let given = initial.urlRequest
        do {
            let adapted = try await adapted(given).withoutDotSegments(in: request.context)
            // An adapter may have asked the request for something.
            attempt.options = request.record.withLock { $0.loweringWishes }
            // Most adapters leave most requests alone: what they did not touch is not read piece by piece again.
            let visible = adapted.isCopy(of: given) ? initial : .made(adapted)
            if case .made = visible { try adapted.validate() }
            request.note(visible)
            events?.emit { [request] in $0.request(request, didAdaptInitialRequest: given, to: adapted) }
            return visible
        } catch {
            let timeout = (error as? CurlewError).flatMap { $0.code == .totalTimedOut ? $0 : nil }
            let failure = timeout ?? ErrorWrapping.adaptation(error)
            events?.emit { [request] in
                $0.request(request, didFailToAdaptURLRequest: given, withError: failure)
            }
            throw failure
        }
    }

    private func adapted(_ initial: URLRequest) async throws -> URLRequest {
        let (adapters, state) = (attempt.adapters, RequestAdapterState(request: request, session: session))
        return try await foreign(in: .adaptation) {
            var adapted = initial
            // By index: an iterator would copy each of them twice.
            for index in adapters.indices { adapted = try await adapters[index].adapt(adapted, using: state) }
            return adapted
        }
    }
}

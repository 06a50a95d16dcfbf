internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Returns the request as the adapters change it, one after the other.
    func adapt(_ initial: VisibleRequest) async throws(CurlewError) -> VisibleRequest {
        let given = initial.urlRequest
        do {
            let adapted = try await adapted(given).withoutDotSegments(in: request.context)
            // An adapter may have set options of the request.
            attempt.options = request.record.withLock { $0.loweringWishes }
            // A request that the adapters returned unchanged keeps its cheaper form.
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
            for index in adapters.indices { adapted = try await adapters[index].adapt(adapted, using: state) }
            return adapted
        }
    }
}

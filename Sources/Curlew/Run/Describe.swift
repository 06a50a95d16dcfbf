internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The request that an attempt is about to send, as users see it.
struct DescribedRequest {
    var visible: VisibleRequest
    /// The body, unless it is the one inside `visible`.
    var body: BodySource?
    /// Whether the request is in the history already.
    var isNoted: Bool
}

extension Run {
    /// Returns the description of this attempt's request, adapted and with its body.
    func described() async throws(CurlewError) -> DescribedRequest {
        if attempt.isCancelled { throw request.cancellation }
        var described = try initialRequest()
        if !attempt.adapters.isEmpty { described.visible = try await adapt(described.visible) }  // Adapt.swift
        if let preparation = request.bodyPreparation { await preparation() }
        if let body = try request.makeUpload(events: events)?.source {
            described.body = isSentAgain ? try await request.bodyToSendAgain(body) : body
        }
        return described
    }

    /// Whether this attempt needs a new body, because an earlier one may have read a body that can be read only once.
    private var isSentAgain: Bool { attempt.number > 0 && request.replacesBodies }

    /// Returns the request as the user described it.
    private func initialRequest() throws(CurlewError) -> DescribedRequest {
        do {
            if events == nil, let plain = try request.makePlainRequest() {
                // A plain request is recorded here only if adapters look at it, and otherwise when its exchange begins.
                // A request with a separate body is never plain.
                let isSeen = !attempt.adapters.isEmpty
                if isSeen { request.note(plain) }
                return DescribedRequest(visible: plain, isNoted: isSeen)
            }
            let made = try request.makeURLRequest().absolute(in: request.context)
                .withoutDotSegments(in: request.context)
            try made.validate()
            request.note(.made(made))
            events?.emit { [request] in $0.request(request, didCreateInitialURLRequest: made) }
            return DescribedRequest(visible: .made(made), isNoted: true)
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emit { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }
}

internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// What an attempt is going to send, as users see it.
struct DescribedRequest {
    var visible: VisibleRequest
    /// The body, where it is not the one inside `visible`.
    var body: BodySource?
    /// Monitors know of the exchange already: it was set up ahead of the request's start.
    var isAnnounced = false
}

extension Run {
    /// The description, made anew for every attempt, adapted, and with its body.
    func described() async throws(CurlewError) -> DescribedRequest {
        if attempt.number == 0, request.isSetUpAhead, let prepared = request.takePreparation() {
            return try prepared.get()
        }
        return try await describe()
    }

    func describe() async throws(CurlewError) -> DescribedRequest {
        if request.isCancelled { throw request.cancellation }
        let adapted = try await adapt(try initialRequest())  // Adapt.swift
        let body = try await body()
        try request.created(adapted, events)
        return DescribedRequest(visible: adapted, body: body)
    }

    /// What the user wrote.
    private func initialRequest() throws(CurlewError) -> VisibleRequest {
        do {
            let isSeen = events?.hears(.requests) == true
            if !isSeen, let plain = try request.makePlainRequest() {
                request.note(plain)
                return plain
            }
            let made = try request.makeURLRequest().withoutDotSegments
            try made.validate()
            request.note(.made(made))
            events?.emitLeading(.madeInitialRequest) { [request] in
                { $0.request(request, didCreateInitialURLRequest: made) }
            }
            return .made(made)
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emitLeading { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }

    private func body() async throws(CurlewError) -> BodySource? {
        guard let body = try request.makeUpload(events: events)?.source else { return nil }
        // An earlier attempt has read what can be read only once.
        return attempt.number > 0 && request.replacesBodies ? try await request.bodyToSendAgain(body) : body
    }
}

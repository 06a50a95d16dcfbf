internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// What an attempt is going to send, as users see it.
struct DescribedRequest {
    var visible: VisibleRequest
    /// The body, where it is not the one inside `visible`.
    var body: BodySource?
    /// What monitors know of it.
    var announcement: Hop.Announcement
}

extension Run {
    /// The description, made anew for every attempt, adapted, and with its body.
    mutating func described() async throws(CurlewError) -> DescribedRequest {
        if attempt.number == 0, request.isSetUpAhead, let prepared = request.takePreparation() {
            return try prepared.get()
        }
        return try await describe()
    }

    mutating func describe() async throws(CurlewError) -> DescribedRequest {
        if attempt.isCancelled { throw request.cancellation }
        var described = try initialRequest()
        described.visible = try await adapt(described.visible)  // Adapt.swift
        described.body = try await body()
        return described
    }

    /// What the user wrote.
    private func initialRequest() throws(CurlewError) -> DescribedRequest {
        do {
            if events?.hears(.requests) != true, let plain = try request.makePlainRequest() {
                // What nothing looks at until its exchange begins is noted then: a request with a body of its own is
                // never plain.
                let isSeen = !attempt.adapters.isEmpty
                if isSeen { request.note(plain) }
                return DescribedRequest(visible: plain, announcement: .described(isNoted: isSeen))
            }
            let made = try request.makeURLRequest().withoutDotSegments
            try made.validate()
            request.note(.made(made))
            events?.emitLeading(.madeInitialRequest) { [request] in
                { $0.request(request, didCreateInitialURLRequest: made) }
            }
            return DescribedRequest(visible: .made(made), announcement: .described(isNoted: true))
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

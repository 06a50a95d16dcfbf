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
    func described() async throws(CurlewError) -> DescribedRequest {
        // While it is being made ahead there is none to take.
        if attempt.number == 0, request.isSetUpAhead, let prepared = request.takePreparation() {
            return try prepared.get()
        }
        if attempt.isCancelled { throw request.cancellation }
        var described = try initialRequest()
        if !attempt.adapters.isEmpty { described.visible = try await adapt(described.visible) }  // Adapt.swift
        if let preparation = request.bodyPreparation { await preparation() }
        if let body = try request.makeUpload(events: events)?.source {
            described.body = isSentAgain ? try await request.bodyToSendAgain(body) : body
        }
        return described
    }

    /// An earlier attempt has read what can be read only once.
    private var isSentAgain: Bool { attempt.number > 0 && request.replacesBodies }

    /// What the user wrote.
    private func initialRequest() throws(CurlewError) -> DescribedRequest {
        do {
            if events == nil, let plain = try request.makePlainRequest() {
                // What nothing looks at until its exchange begins is noted then: a request with a body of its own is
                // never plain.
                let isSeen = !attempt.adapters.isEmpty
                if isSeen { request.note(plain) }
                return DescribedRequest(visible: plain, announcement: .described(isNoted: isSeen))
            }
            let made = try request.makeURLRequest().absolute(in: request.context)
                .withoutDotSegments(in: request.context)
            try made.validate()
            request.note(.made(made))
            events?.emit { [request] in $0.request(request, didCreateInitialURLRequest: made) }
            return DescribedRequest(visible: .made(made), announcement: .described(isNoted: true))
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emit { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }
}

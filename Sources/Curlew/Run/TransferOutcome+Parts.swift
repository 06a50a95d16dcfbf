internal import CurlewCore

extension TransferOutcome {
    /// Whether something may follow it: a redirect, a challenge, or credentials that a server has accepted.
    var mayLeadOn: Bool { head.status == 401 || (300..<400).contains(head.status) || !answeredChallenges.isEmpty }
}

// What an exchange gave is asked for piece by piece: taking it out of its result copies all of it.
extension Result where Success == TransferOutcome {
    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }

    /// The header fields of the response.
    var fields: HTTPHeaders? {
        switch self {
        case .success(let response): response.head.headers
        case .failure: nil
        }
    }
}

internal import CurlewCore

extension TransferOutcome {
    /// Whether another exchange may follow: after a redirect, a challenge, or credentials that the server has accepted.
    var mayLeadOn: Bool { head.status == 401 || (300..<400).contains(head.status) || !answeredChallenges.isEmpty }
}

// Parts of an outcome, read without a copy of the whole.
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

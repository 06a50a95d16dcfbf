internal import CurlewCore

// What an exchange gave is asked for piece by piece: taking it out of its result copies all of it.
extension Result where Success == TransferOutcome {
    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }

    /// nil where there was no response.
    var status: Int? {
        switch self {
        case .success(let response): response.head.status
        case .failure: nil
        }
    }

    /// Those of the response.
    var fields: HTTPHeaders? {
        switch self {
        case .success(let response): response.head.headers
        case .failure: nil
        }
    }

    /// Those that the transport has answered itself.
    var answeredChallenges: [ResponseHead] {
        switch self {
        case .success(let response): response.answeredChallenges
        case .failure: []
        }
    }
}

internal import CurlewCore

/// What an exchange was made of, for those who go on from there.
enum Performed {
    case nothing
    case exchange(any ControlledExchange)
    case request(TransferRequest)

    var request: TransferRequest? {
        switch self {
        case .nothing: nil
        case .exchange(let exchange): exchange.request
        case .request(let request): request
        }
    }
}

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

    /// Whether the response asks for nothing and leads nowhere: nobody has answered a challenge, either.
    var isMereAnswer: Bool {
        guard let status else { return false }
        return status != 401 && !(300..<400).contains(status) && answeredChallenges.isEmpty
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

package import Foundation

extension CurlewError {
    /// A fact beyond the code and the other public properties. CurlewAlamofire derives Alamofire's reasons from it.
    /// Errors of the transport have none.
    package enum Detail: Sendable {
        // MARK: Requests

        /// The value is not a URL.
        case value(any Sendable)
        /// The method does not allow this body.
        case body(Data)
        /// The request to encode has no URL.
        case noURL
        /// The request lacks a component that its `ParameterEncoder` requires: the URL if `method` is `nil`, otherwise
        /// the method, and `method` is the text in its place.
        case noComponent(method: String?)

        // MARK: Coding, of parameters and of responses

        /// JSON failed.
        case json
        /// A property list failed.
        case propertyList
        /// The body is not text in this encoding.
        case text(String.Encoding)
        /// The encoder or decoder threw.
        case coder
        /// Your encoding, validator, serializer or trust evaluator threw.
        case custom
        /// There is no body.
        case emptyBody
        /// The type has no value for an empty body.
        case noValue(type: String)

        // MARK: Files and forms

        /// The file is not usable.
        case file(URL, FileFlaw)
        /// There is no file.
        case noFile
        /// The file could not be moved.
        case move(from: URL, to: URL)
        /// The header of a part contains a line break.
        case header(name: String)
        /// A part is not as long as declared.
        case length(declared: UInt64, actual: UInt64)
        /// A part could not be read.
        case reading
        /// The form could not be written.
        case writing

        // MARK: Responses and trust

        /// The content type is missing or not accepted.
        case contentTypes(accepted: [String], received: String?)
        /// The host has no trust evaluator.
        case noEvaluator(host: String)
        /// The evaluator has no certificates or keys to compare with.
        case noPins(areKeys: Bool)
        /// The chain is not trusted, or its revocation check failed.
        case chain(host: String, verifyResult: Int, explanation: String, isRevocation: Bool)
        /// The certificate has other names.
        case names(host: String, [String])
        /// None of the server's certificates or keys is pinned.
        case pins(host: String, pinned: [Data], server: [Data], areKeys: Bool)
        /// The server speaks none of the application protocols that TLS offered (ALPN; RFC 7301, 3.2).
        case noSharedProtocol

        // MARK: Lifecycle

        /// The session was released.
        case released
        /// The session was invalidated.
        case invalidated
        /// The retrier failed; the error that it had to decide about.
        case retry(of: any Error)
        /// User code reports a failure of the transport, which has any code.
        case exchange
    }

    /// The fault of a file to read from or write to.
    package enum FileFlaw: Sendable {
        /// The URL is not a file URL.
        case notFileURL
        /// The name is empty, or has no extension that determines a media type.
        case unnamed
        /// The file does not exist, or a directory of its path may not be searched.
        case unreachable
        /// It is a directory.
        case directory
        /// The system does not report the file's size.
        case sizeUnknown
        /// The file cannot be opened or read.
        case unreadable
        /// The output's URL is not a file URL.
        case outputNotFileURL
        /// The output exists already.
        case outputExists
        /// The output cannot be created.
        case outputNotCreated
    }

    package init(
        _ code: Code,
        phase: Phase,
        reason: String,
        url: URL? = nil,
        underlying: (any Error)? = nil,
        detail: Detail
    ) {
        self.init(code, phase: phase, reason: reason, url: url, underlying: underlying)
        self.detail = detail
    }
}

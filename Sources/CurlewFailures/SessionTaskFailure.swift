package import CurlewCore

extension CurlewError {
    /// The reason of an error that user code creates with `AFError.sessionTaskFailed(error:)`.
    package struct SessionTaskFailure: Error {
        /// The error given by user code, usually a `URLError`.
        package let error: any Error

        /// Creates the reason.
        package init(error: any Error) { self.error = error }
    }
}

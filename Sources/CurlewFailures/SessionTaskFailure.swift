package import CurlewCore

extension CurlewError {
    /// The error that an exchange is said to have failed with, where user code says it: `AFError.sessionTaskFailed(error:)`.
    package struct SessionTaskFailure: Error {
        /// What it failed with, usually a `URLError`.
        package let error: any Error

        /// Makes the reason.
        package init(error: any Error) { self.error = error }
    }
}

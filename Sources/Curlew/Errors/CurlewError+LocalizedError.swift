internal import CurlewCore
internal import CurlewFailures
public import Foundation

extension CurlewError: LocalizedError {
    /// A sentence for people, without credentials and query values.
    public var errorDescription: String? {
        if isSessionTaskError {
            return "The exchange failed with error: " + (reason.isEmpty ? code.rawValue : reason)
        }
        return reason.isEmpty ? "\(code.rawValue) (phase \(phase.rawValue))" : reason
    }
}

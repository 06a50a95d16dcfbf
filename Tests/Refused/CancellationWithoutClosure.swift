// error: 'async' call in a function that does not support concurrency
import Curlew

/// Without a closure there is one form, which waits. Top-level code prefers a form that does not.
func cancelAll(of session: Session) { session.cancelAllRequests() }

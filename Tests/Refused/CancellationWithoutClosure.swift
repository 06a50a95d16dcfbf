// error: 'async' call in a function that does not support concurrency
import Curlew

/// Without a closure, the call has only an `async` form. Top-level code would prefer a synchronous form, and not wait.
func cancelAll(of session: Session) { session.cancelAllRequests() }

public import Curlew

/// The default session, under Alamofire's name.
public let AF = Session.default

/// Alamofire 4's name for `Session`.
public typealias SessionManager = Session

/// Alamofire's name for `CurlewInfo`.
public typealias AFInfo = CurlewInfo

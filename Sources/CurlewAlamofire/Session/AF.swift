public import Curlew

/// The default session, under Alamofire's name.
public let AF = Session.default

/// Alamofire's name for `CurlewInfo`.
public typealias AFInfo = CurlewInfo

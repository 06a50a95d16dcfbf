public import Curlew

/// The default session, under Alamofire's name.
public let AF = Session.default

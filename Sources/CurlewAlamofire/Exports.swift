/// Curlew, and Alamofire's names for it: one import that replaces `import Alamofire`.
@_exported public import Curlew

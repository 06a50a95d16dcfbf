/// Names that people bring with them from Alamofire, beside everything that `Curlew` has: one import instead of `import Alamofire`.
@_exported public import Curlew
@_exported public import CurlewFailures

/// Curlew, and AFNetworking's way of working: one import that replaces `import AFNetworking`.
@_exported public import Curlew

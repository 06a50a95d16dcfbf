/// AFNetworking's way of working, beside everything that `Curlew` has: one import instead of `import AFNetworking`.
@_exported public import Curlew

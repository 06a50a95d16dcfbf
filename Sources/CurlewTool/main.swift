import Curlew

print("curlew")

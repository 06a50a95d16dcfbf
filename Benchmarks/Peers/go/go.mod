module curlew.invalid/peer

go 1.19

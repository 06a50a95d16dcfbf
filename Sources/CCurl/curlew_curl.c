#include "curlew_curl.h"
